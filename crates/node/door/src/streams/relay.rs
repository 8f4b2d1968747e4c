//! Passes a connection on byte for byte: both sides speak the same.

use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::backend::{VERSION, reach};
use crate::answer::{Answer, Refusal};
use crate::call::Call;

/// How long a client may take to close after the runtime did.
const FAREWELL: Duration = Duration::from_secs(10);

pub(super) async fn relay(call: Call, address: &str) -> Result<Answer, Refusal> {
    let versions = call.headers().get_all(VERSION).into_iter().cloned().collect();
    let reached = reach(address, versions).await?;
    let client = hyper::upgrade::on(call);
    tokio::spawn(async move {
        match client.await {
            Ok(client) => join(TokioIo::new(client), reached.io).await,
            Err(error) => tracing::debug!(%error, "a client went before its stream began"),
        }
    });
    let mut answer = Response::new(Empty::new().boxed_unsync());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *answer.headers_mut() = reached.headers;
    Ok(answer)
}

/// Until the runtime has said everything, or the client is gone.
pub(super) async fn join(client: impl AsyncRead + AsyncWrite, runtime: impl AsyncRead + AsyncWrite) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_runtime, mut to_runtime) = tokio::io::split(runtime);
    let outward = async {
        let copied = tokio::io::copy(&mut from_runtime, &mut to_client).await;
        copied.and(to_client.shutdown().await)
    };
    let inward = async {
        let copied = tokio::io::copy(&mut from_client, &mut to_runtime).await;
        copied.and(to_runtime.shutdown().await)
    };
    let (mut outward, mut inward) = (std::pin::pin!(outward), std::pin::pin!(inward));
    tokio::select! {
        said = &mut outward => {
            if said.is_ok() {
                // A connection that is closed with something unread in it takes with it what was sent last.
                let _late = tokio::time::timeout(FAREWELL, inward).await;
            }
        }
        heard = &mut inward => {
            if heard.is_ok() {
                let _ended = outward.await;
            }
        }
    }
}
