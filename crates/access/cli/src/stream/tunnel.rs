//! Ports of a pod: SPDY inside a WebSocket, two streams for each connection, one for its bytes and one for what went wrong. Listens
//! nowhere.

use bytes::{Bytes, BytesMut};
use kedge_clock::Clock;
use kedge_spdy::{Flow, Headers, Reader as Stream, Session as Spdy, SessionError, Writer as Sink};
use kedge_websocket::Kind;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::websocket::{self, Reader, Socket, Writer};
use crate::client::Api;
use crate::error::CliError;

const PROTOCOL: &str = "SPDY/3.1+portforward.k8s.io";
const READ: usize = 32 * 1024;

/// A way to one pod's ports. Dropped, all connections through it end.
pub(crate) struct Tunnel {
    spdy: Spdy,
    driver: AbortHandle,
    wrapper: AbortHandle,
    gone: watch::Receiver<bool>,
    /// Numbers the connections, as the other end tells them apart.
    next: std::sync::atomic::AtomicU64,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.driver.abort();
        self.wrapper.abort();
    }
}

impl Tunnel {
    pub(crate) async fn open(api: &Api, clock: &Clock, path: &str) -> Result<Self, CliError> {
        let Socket { reader, writer, .. } = websocket::connect(api, clock, path, &[PROTOCOL]).await?;
        let (ours, wrapped) = tokio::io::duplex(4 * READ);
        let (went, gone) = watch::channel(false);
        let left = went.clone();
        let wrapper = tokio::spawn(async move {
            wrap(wrapped, reader, writer).await;
            went.send_replace(true);
        });
        // Container runtimes speak of no windows.
        let (spdy, driver) = Spdy::client(ours, Flow::Unwindowed);
        let driver = tokio::spawn(async move {
            let _ended = driver.run(None).await;
            left.send_replace(true);
        });
        let (driver, wrapper) = (driver.abort_handle(), wrapper.abort_handle());
        Ok(Self { spdy, driver, wrapper, gone, next: 0.into() })
    }

    /// Comes back once the way is gone.
    pub(crate) async fn lost(&self) {
        // Whoever could tell is gone as well.
        let mut gone = self.gone.clone();
        let _gone = gone.wait_for(|gone| *gone).await;
    }

    /// Carries one connection until both sides are done with it. What the other end says went wrong is the error.
    pub(crate) async fn carry<C: AsyncRead + AsyncWrite>(&self, local: C, port: u16) -> Result<(), String> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let headers = |kind: &str| -> Headers {
            let pairs = [
                ("streamType", kind.to_owned()),
                ("port", port.to_string()),
                ("requestID", number.to_string()),
            ];
            pairs.into_iter().collect()
        };
        let told = |error: SessionError| error.to_string();
        let mut error = self.spdy.open(headers("error")).await.map_err(told)?;
        error.accepted().await.map_err(told)?;
        let mut data = self.spdy.open(headers("data")).await.map_err(told)?;
        data.accepted().await.map_err(told)?;
        let (mut wrong, quiet) = error.split();
        // We have nothing to say there.
        quiet.finish().await.map_err(told)?;
        let (from, to) = data.split();
        let (read, write) = tokio::io::split(local);
        let complaint = async {
            let mut complaint = Vec::new();
            while let Ok(Some(said)) = wrong.read().await {
                complaint.extend_from_slice(&said);
            }
            String::from_utf8_lossy(&complaint).into_owned()
        };
        let inward = inward(from, write);
        tokio::pin!(inward);
        let told_all = tokio::select! {
            told_all = &mut inward => told_all,
            never = async { outward(read, to).await; std::future::pending().await } => never,
        };
        if !told_all {
            return Ok(());
        }
        let complaint = complaint.await;
        if complaint.is_empty() { Ok(()) } else { Err(complaint) }
    }
}

/// From the pod to the local connection. False if that was gone before the pod had said everything.
async fn inward<W: AsyncWrite + Unpin>(mut from: Stream, mut to: W) -> bool {
    while let Ok(Some(mut bytes)) = from.read().await {
        if to.write_all_buf(&mut bytes).await.is_err() || to.flush().await.is_err() {
            return false;
        }
    }
    let _gone = to.shutdown().await;
    true
}

/// From the local connection to the pod; says so when it ends.
async fn outward<R: AsyncRead + Unpin>(mut from: R, to: Sink) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ);
        match from.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                if to.write(buffer.split().freeze()).await.is_err() {
                    return;
                }
            }
        }
    }
    let _gone = to.finish().await;
}

/// Puts bytes into messages and takes them out again, until either side has ended.
async fn wrap(io: DuplexStream, mut reader: Reader, mut writer: Writer) {
    let (mut read, mut write) = tokio::io::split(io);
    let (pongs, mut pings) = mpsc::channel::<Bytes>(4);
    let inward = async {
        while let Ok(Some(message)) = reader.next().await {
            match message.kind {
                Kind::Close => return,
                Kind::Ping => drop(pongs.try_send(message.content)),
                Kind::Pong => {}
                Kind::Text | Kind::Binary => {
                    if write.write_all(&message.content).await.is_err() || write.flush().await.is_err() {
                        return;
                    }
                }
            }
        }
    };
    let outward = async {
        let mut buffer = BytesMut::new();
        loop {
            buffer.clear();
            buffer.reserve(READ);
            let sent = tokio::select! {
                count = read.read_buf(&mut buffer) => match count {
                    Ok(0) | Err(_) => return drop(writer.close().await),
                    Ok(_) => writer.send(Kind::Binary, &[&buffer]).await,
                },
                Some(ping) = pings.recv() => writer.send(Kind::Pong, &[&ping]).await,
            };
            if sent.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = inward => {}
        () = outward => {}
    }
}
