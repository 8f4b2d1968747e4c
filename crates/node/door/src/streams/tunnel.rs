//! SPDY inside a WebSocket, as `kubectl port-forward` speaks it: unwrapped and passed on.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderValue;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::backend::reach;
use crate::answer::{Answer, Refusal};
use crate::call::Call;
use crate::websocket::{Handshake, Kind, Reader, Writer};

pub(super) const PROTOCOL: &str = "SPDY/3.1+portforward.k8s.io";
pub(super) const INNER: HeaderValue = HeaderValue::from_static("portforward.k8s.io");
const READ: usize = 32 * 1024;
const NORMAL: u16 = 1000;
/// A client that went without a word is noticed by what is said to it, so something is said now and then.
const PING: Duration = Duration::from_secs(30);
/// How long a client may take to close after the runtime did.
const FAREWELL: Duration = Duration::from_secs(10);

pub(super) async fn tunnel(call: Call, handshake: &Handshake, address: &str) -> Result<Answer, Refusal> {
    let reached = reach(address, vec![INNER]).await?;
    let client = hyper::upgrade::on(call);
    tokio::spawn(async move {
        match client.await {
            Ok(client) => unwrap_all(TokioIo::new(client), reached.io).await,
            Err(error) => tracing::debug!(%error, "a client went before its stream began"),
        }
    });
    Ok(handshake.accept(Some(PROTOCOL)))
}

/// Until either side has ended.
pub(super) async fn unwrap_all(client: impl AsyncRead + AsyncWrite, runtime: impl AsyncRead + AsyncWrite) {
    let (read, write) = tokio::io::split(client);
    let (from_runtime, to_runtime) = tokio::io::split(runtime);
    let (pongs, pings) = mpsc::channel(4);
    let mut inward = std::pin::pin!(inward(Reader::new(read), to_runtime, pongs));
    tokio::select! {
        () = &mut inward => {}
        ended = outward(Writer::new(write), from_runtime, pings) => match ended {
            // A connection that is closed with something unread in it takes with it what was sent last.
            Ok(()) => drop(tokio::time::timeout(FAREWELL, inward).await),
            Err(error) => tracing::debug!(%error, "a tunnel ended badly"),
        }
    }
}

async fn inward<T: AsyncRead, U: AsyncWrite>(
    mut from: Reader<ReadHalf<T>>,
    mut to: WriteHalf<U>,
    pongs: mpsc::Sender<Bytes>,
) {
    while let Ok(Some(message)) = from.next().await {
        match message.kind {
            Kind::Ping => drop(pongs.try_send(message.content)),
            Kind::Pong => {}
            Kind::Binary | Kind::Text => {
                let written = to.write_all(&message.content).await;
                if written.is_err() || to.flush().await.is_err() {
                    // The runtime's last words are still to come.
                    return std::future::pending().await;
                }
            }
            Kind::Close => break,
        }
    }
    let _closed = to.shutdown().await;
}

async fn outward<T: AsyncRead, U: AsyncWrite>(
    mut to: Writer<WriteHalf<U>>,
    mut from: ReadHalf<T>,
    mut pings: mpsc::Receiver<Bytes>,
) -> std::io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.clear();
        buffer.reserve(READ);
        tokio::select! {
            count = from.read_buf(&mut buffer) => {
                if count? == 0 {
                    return to.close(NORMAL).await;
                }
                to.send(Kind::Binary, &[&buffer]).await?;
            }
            Some(ping) = pings.recv() => to.pong(&ping).await?,
            () = tokio::time::sleep(PING) => to.send(Kind::Ping, &[]).await?,
        }
    }
}
