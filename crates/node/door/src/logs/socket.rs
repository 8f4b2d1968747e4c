//! A log over a WebSocket: each piece a message, in bytes or in base64. What the client says is not listened to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::answer::{Answer, Refusal};
use crate::call::Call;
use crate::websocket::{Handshake, Kind, Reader, Writer};

const NORMAL: u16 = 1000;
const PROTOCOLS: [(&str, Kind); 2] = [("binary.k8s.io", Kind::Binary), ("base64.binary.k8s.io", Kind::Text)];

/// The protocol that the client is answered with, and how pieces are sent.
pub(super) fn protocol(handshake: &Handshake) -> Result<(Option<&'static str>, Kind), Refusal> {
    if handshake.protocols.is_empty() {
        return Ok((None, Kind::Binary));
    }
    let known = |wanted: &String| PROTOCOLS.iter().find(|(name, _)| name == wanted);
    let found = handshake.protocols.iter().find_map(known);
    let found = found.map(|(name, kind)| (Some(*name), *kind));
    let wrong = || format!("none of the protocols {:?} is spoken here", handshake.protocols);
    found.ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, wrong()))
}

pub(super) fn answer(
    call: Call,
    handshake: &Handshake,
    pieces: mpsc::Receiver<Bytes>,
) -> Result<Answer, Refusal> {
    let (name, kind) = protocol(handshake)?;
    let client = hyper::upgrade::on(call);
    tokio::spawn(async move {
        match client.await {
            Ok(client) => say(TokioIo::new(client), pieces, kind).await,
            Err(error) => tracing::debug!(%error, "a client went before its log began"),
        }
    });
    Ok(handshake.accept(name))
}

/// Until the log ends or the client is gone.
pub(super) async fn say(client: impl AsyncRead + AsyncWrite, mut pieces: mpsc::Receiver<Bytes>, kind: Kind) {
    let (read, write) = tokio::io::split(client);
    let (mut from, mut to) = (Reader::new(read), Writer::new(write));
    let (pongs, mut pings) = mpsc::channel(4);
    let listen = async {
        while let Ok(Some(message)) = from.next().await {
            match message.kind {
                Kind::Close => return,
                Kind::Ping => drop(pongs.try_send(message.content)),
                Kind::Text | Kind::Binary | Kind::Pong => {}
            }
        }
    };
    let speak = async {
        // Tells the client that the connection stands.
        to.send(kind, &[]).await?;
        loop {
            tokio::select! {
                piece = pieces.recv() => match piece {
                    Some(piece) if kind == Kind::Text => {
                        to.send(kind, &[STANDARD.encode(&piece).as_bytes()]).await?;
                    }
                    Some(piece) => to.send(kind, &[&piece]).await?,
                    None => return to.close(NORMAL).await,
                },
                Some(ping) = pings.recv() => to.pong(&ping).await?,
            }
        }
    };
    tokio::select! {
        () = listen => {}
        ended = speak => {
            let ended: std::io::Result<()> = ended;
            if let Err(error) = ended {
                tracing::debug!(%error, "a log was not heard to its end");
            }
        }
    }
}
