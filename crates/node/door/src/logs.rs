//! A container's log: which one is meant, from where on, and as long as it grows.

mod choose;
mod follow;
mod line;
mod notice;
mod rotate;
mod segments;
mod socket;
mod tail;
#[cfg(test)]
mod tests;
mod wanted;

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::core::v1::Pod;
use kedge_clock::Clock;
use kedge_runtime::Runtime;
use kedge_runtime::wire::ContainerState;
use tokio::sync::mpsc;

pub use self::rotate::{Rotation, keep_short};
pub(crate) use self::wanted::Wanted;
use crate::answer::{Answer, Refusal, stream};
use crate::call::Call;
use crate::pods::{containers, name, uid};
use crate::websocket::Handshake;

/// Pieces that wait for a slow reader.
const QUEUE: usize = 4;

/// Answers with the log of a container of this pod, over HTTP or a WebSocket.
pub(crate) async fn serve(
    runtime: &Runtime,
    clock: &Clock,
    call: Call,
    pod: &Pod,
    container: &str,
    wanted: Wanted,
) -> Result<Answer, Refusal> {
    let handshake = Handshake::of(call.headers())?;
    if let Some(handshake) = &handshake {
        socket::protocol(handshake)?;
    }
    let pieces = pieces(runtime, clock, pod, container, wanted).await?;
    match handshake {
        Some(handshake) => socket::answer(call, &handshake, pieces),
        None => Ok(stream(body(pieces))),
    }
}

/// What the container said, as it comes.
async fn pieces(
    runtime: &Runtime,
    clock: &Clock,
    pod: &Pod,
    container: &str,
    wanted: Wanted,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let made = containers(runtime, uid(pod), container).await.map_err(Refusal::failed)?;
    let status = pod.status.clone().unwrap_or_default();
    let id = choose::choose(name(pod), &status, container, &made, wanted.previous).map_err(Refusal::bad)?;
    let missing = || Refusal::bad(format!("unable to retrieve container logs for {id}"));
    let bare = id.rsplit("://").next().unwrap_or_default().to_owned();
    let status = match runtime.container_status(&bare, false).await {
        Ok(told) => told.status,
        Err(error) if error.is_absent() => return Err(missing()),
        Err(error) => return Err(Refusal::failed(error)),
    };
    if status.log_path.is_empty() {
        return Err(missing());
    }
    let path = PathBuf::from(&status.log_path);
    let begun = follow::Reading::begin(path, &wanted).await.map_err(|error| {
        tracing::debug!(%error, id, "cannot read a container's log");
        missing()
    })?;
    let (sender, pieces) = mpsc::channel(QUEUE);
    let container = Watched { runtime: runtime.clone(), id: bare };
    let clock = clock.clone();
    tokio::spawn(async move {
        if let Err(error) = begun.copy(wanted, &container, &clock, sender).await {
            tracing::debug!(%error, "cannot read on in a container's log");
        }
    });
    Ok(pieces)
}

pub(crate) fn body(pieces: mpsc::Receiver<Bytes>) -> crate::answer::Body {
    let frames = unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(piece)), pieces))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The container whose log is followed.
struct Watched {
    runtime: Runtime,
    id: String,
}

impl follow::Writing for Watched {
    async fn goes_on(&self) -> bool {
        match self.runtime.container_status(&self.id, false).await {
            Ok(told) => told.status.state() == ContainerState::Running,
            Err(error) if error.is_absent() => false,
            // A runtime that is away for a moment has ended nothing.
            Err(_) => true,
        }
    }
}

/// How often a container whose log stands still is asked whether it runs.
const ASK: Duration = Duration::from_secs(1);
