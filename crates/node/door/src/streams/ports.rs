//! Ports over WebSocket channels, as clients without SPDY speak it: two channels for each port, one for its bytes and one for
//! what went wrong, and each begins with the port's number.

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use kedge_spdy::{Flow, Headers, Session, SessionError, Writer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::backend::reach;
use super::channels::{Dialect, Driven};
use super::tunnel::INNER;
use crate::answer::{Answer, Refusal};
use crate::call::{Call, Query};
use crate::websocket::{self, Handshake, Kind};

const NORMAL: u16 = 1000;
const MOST: usize = 127;

pub(super) async fn translate(
    call: Call,
    handshake: &Handshake,
    address: &str,
    query: &Query,
) -> Result<Answer, Refusal> {
    let ports = ports(query)?;
    let (name, dialect) = Dialect::of(&handshake.protocols)?;
    let reached = reach(address, vec![INNER]).await?;
    let (session, driver) = Session::client(reached.io, Flow::Unwindowed);
    let driven = Driven(tokio::spawn(driver.run(None)));
    let client = hyper::upgrade::on(call);
    tokio::spawn(async move {
        let _driven = driven;
        match client.await {
            Ok(client) => carry(TokioIo::new(client), &session, &ports, dialect).await,
            Err(error) => tracing::debug!(%error, "a client went before its ports were reached"),
        }
    });
    Ok(handshake.accept(name))
}

/// `ports=80,443` or repeated.
pub(super) fn ports(query: &Query) -> Result<Vec<u16>, Refusal> {
    let listed = ["port", "ports"].iter().flat_map(|name| query.all(name)).flat_map(|text| text.split(','));
    let ports: Result<Vec<u16>, _> = listed
        .map(|text| text.trim().parse().ok().filter(|port| *port > 0))
        .map(|port| port.ok_or_else(|| Refusal::bad("query parameter \"port\" must be a port's number")))
        .collect();
    let ports = ports?;
    if ports.is_empty() || ports.len() > MOST {
        return Err(Refusal::bad("query parameter \"port\" is required"));
    }
    Ok(ports)
}

/// What is said on a channel.
type Said = (u8, Bytes);

async fn carry(client: impl AsyncRead + AsyncWrite, session: &Session, ports: &[u16], dialect: Dialect) {
    let (read, write) = tokio::io::split(client);
    let mut from = websocket::Reader::new(read);
    let mut to = websocket::Writer::new(write);
    let (say, mut said) = mpsc::channel::<Said>(4);
    let (pongs, mut pings) = mpsc::channel(4);
    let mut readers = JoinSet::new();
    let mut inputs: Vec<Option<Writer>> = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        match reach_port(session, number, *port, &say, &mut readers).await {
            Ok(input) => inputs.push(Some(input)),
            Err(error) => {
                tracing::debug!(%error, port, "a port is not reached");
                return;
            }
        }
    }
    drop(say);
    let inward = async {
        while let Ok(Some(message)) = from.next().await {
            match message.kind {
                Kind::Close => return,
                Kind::Ping => drop(pongs.try_send(message.content)),
                Kind::Pong => {}
                Kind::Text | Kind::Binary => {
                    let Some((channel, content)) = dialect.read(message) else { continue };
                    let input = inputs.get_mut(usize::from(channel / 2)).filter(|_| channel % 2 == 0);
                    if let Some(Some(input)) = input {
                        let _ended = input.write(content).await;
                    }
                }
            }
        }
    };
    let outward = async {
        loop {
            tokio::select! {
                next = said.recv() => match next {
                    Some((channel, content)) => dialect.write(&mut to, channel, &content).await?,
                    None => return to.close(NORMAL).await,
                },
                Some(ping) = pings.recv() => to.pong(&ping).await?,
            }
        }
    };
    tokio::select! {
        () = inward => {}
        ended = outward => {
            let ended: std::io::Result<()> = ended;
            if let Err(error) = ended {
                tracing::debug!(%error, "forwarding ports ended badly");
            }
        }
    }
}

/// Opens the two streams of a port; what they say goes to the client.
async fn reach_port(
    session: &Session,
    number: usize,
    port: u16,
    say: &mpsc::Sender<Said>,
    readers: &mut JoinSet<()>,
) -> Result<Writer, SessionError> {
    let headers = |kind: &str| -> Headers {
        let pairs =
            [("streamType", kind.to_owned()), ("port", port.to_string()), ("requestID", number.to_string())];
        pairs.into_iter().collect()
    };
    let mut error = session.open(headers("error")).await?;
    error.accepted().await?;
    let mut data = session.open(headers("data")).await?;
    data.accepted().await?;
    let (wrong, quiet) = error.split();
    // We have nothing to say there.
    quiet.finish().await?;
    let (bytes, input) = data.split();
    for (channel, mut reader) in [(number * 2, bytes), (number * 2 + 1, wrong)] {
        let (channel, say) = (channel as u8, say.clone());
        readers.spawn(async move {
            let mut next = Some(Bytes::copy_from_slice(&port.to_le_bytes()));
            while let Some(content) = next {
                if say.send((channel, content)).await.is_err() {
                    return;
                }
                next = reader.read().await.ok().flatten();
            }
        });
    }
    Ok(input)
}
