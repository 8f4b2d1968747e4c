//! Keeps one kind's cache equal to the server's objects: reads them all, follows the watch, resumes it where it broke,
//! and reads them all again when the server no longer remembers that far back. Knows no kind: built once for all of them.

use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use kube::Client;
use kube::api::{ListParams, WatchParams};

use super::Revision;
use super::cache::Filled;
use crate::wire::{Frame, FrameError, Frames, WatchError, pages, watch};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What to ask the server for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// All objects and then what changes, in one stream.
    Everything,
    /// All objects in pages: for servers that don't stream them.
    Pages,
    /// What changed after this revision.
    After(Revision),
}

/// Never ends; the world stops it when nobody looks any more.
pub(super) async fn follow(client: Client, clock: Clock, cache: Arc<dyn Filled>) {
    let mut ask = Ask::Everything;
    let mut wait = FIRST_WAIT;
    loop {
        let outcome = match ask {
            Ask::Everything => everything(&client, &cache).await,
            Ask::Pages => list(&client, &cache).await,
            Ask::After(revision) => after(&client, &*cache, revision).await,
        };
        let seen = cache.seen();
        match outcome {
            Ok(()) => {
                // A watch ends now and then; that is no failure.
                wait = FIRST_WAIT;
                ask = seen.map_or(ask, Ask::After);
            }
            Err(failure) => {
                // An API that stays away is no news each time.
                let kind = cache.kind();
                match wait == FIRST_WAIT && !failure.is_the_end() {
                    true => tracing::warn!(%kind, %failure, ?ask, "watching broke off"),
                    false => tracing::debug!(%kind, %failure, ?ask, "watching broke off"),
                }
                ask = next(ask, seen, &failure);
                clock.sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
    }
}

/// What to ask for after a failure. What the server has forgotten must be read again; everything else is resumed.
fn next(asked: Ask, seen: Option<Revision>, failure: &WatchError) -> Ask {
    match (failure, asked, seen) {
        (WatchError::Gone, ..) => Ask::Everything,
        (WatchError::Refused(_), Ask::Everything, _) => Ask::Pages,
        (_, Ask::After(_), Some(seen)) => Ask::After(seen),
        (_, asked, _) => asked,
    }
}

/// Reads all objects from the beginning of a watch and stays on it.
async fn everything(client: &Client, cache: &Arc<dyn Filled>) -> Result<(), WatchError> {
    let params = WatchParams::default().initial_events();
    let mut events = watch(client, &cache.path(), &params, "").await?;
    let mut reading = cache.clone().reading();
    while let Some(event) = events.next().await? {
        match event {
            Frame::Put(object) => reading.add(object).map_err(FrameError::NoEvent)?,
            Frame::Gone(object) => reading.leave_out(object).map_err(FrameError::NoEvent)?,
            Frame::Bookmark { revision, ends_the_beginning: true } => {
                reading.finish(revision.ok_or(WatchError::NoRevision)?);
                return stay(events, &**cache).await;
            }
            Frame::Bookmark { .. } => {}
            Frame::Error(status) => return Err((*status).into()),
        }
    }
    // The stream ended before it had shown everything: what we have is not the world.
    Err(WatchError::Reported("the end of the stream before its objects".to_owned()))
}

async fn list(client: &Client, cache: &Arc<dyn Filled>) -> Result<(), WatchError> {
    let mut reading = cache.clone().reading();
    let mut add = |object: &[u8]| reading.add(object);
    let revision = pages(client, &cache.path(), ListParams::default(), &mut add).await?;
    reading.finish(revision.ok_or(WatchError::NoRevision)?);
    Ok(())
}

async fn after(client: &Client, cache: &dyn Filled, revision: Revision) -> Result<(), WatchError> {
    let events = watch(client, &cache.path(), &WatchParams::default(), &revision.0.to_string()).await?;
    stay(events, cache).await
}

/// Follows a watch until it ends.
async fn stay(mut events: Frames, cache: &dyn Filled) -> Result<(), WatchError> {
    while let Some(event) = events.next().await? {
        match event {
            Frame::Put(object) => cache.read_put(object).map_err(FrameError::NoEvent)?,
            Frame::Gone(object) => cache.read_remove(object).map_err(FrameError::NoEvent)?,
            Frame::Bookmark { revision: Some(revision), .. } => cache.come_to(revision),
            Frame::Bookmark { revision: None, .. } => {}
            Frame::Error(status) => return Err((*status).into()),
        }
    }
    Ok(())
}
