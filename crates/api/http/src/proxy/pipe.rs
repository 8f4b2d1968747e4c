//! Two connections made one: what comes in on one side goes out on the other, byte for byte, until a side ends. Knows no protocol.

use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::sync::watch;

use super::Caller;

/// How long a server may still speak to a client that has said all it had to.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Until either side has ended or we have to. `caller` is held as long.
pub(super) async fn join(
    client: OnUpgrade,
    server: OnUpgrade,
    caller: Option<Caller>,
    mut stopping: watch::Receiver<bool>,
) {
    let _held = caller;
    let (Ok(client), Ok(server)) = (client.await, server.await) else { return };
    let carried = carry(TokioIo::new(client), TokioIo::new(server), LAST_WORDS);
    tokio::select! {
        () = carried => {}
        _ = stopping.wait_for(|stop| *stop) => {}
    }
}

/// What the server has said is delivered before either connection is closed. A client that ends first is heard out, too.
async fn carry<C, S>(client: C, server: S, last_words: Duration)
where
    C: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite,
{
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (split(client), split(server));
    let out = async {
        // A server that listens no more may have said why.
        let _copied = copy(&mut from_client, &mut to_server).await;
        let _told = to_server.shutdown().await;
        tokio::time::sleep(last_words).await;
    };
    let back = async {
        let _copied = copy(&mut from_server, &mut to_client).await;
        let _told = to_client.shutdown().await;
    };
    tokio::select! {
        () = out => {}
        () = back => {}
    }
}

#[cfg(test)]
mod tests;
