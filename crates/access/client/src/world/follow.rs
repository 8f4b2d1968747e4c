//! Keeps one kind's cache equal to the server's objects: reads them all, follows the watch, resumes it where it broke,
//! and reads them all again when the server no longer remembers that far back. Knows no other kind.

use std::sync::Arc;
use std::time::Duration;

use futures::AsyncBufRead;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kedge_clock::Clock;
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cache::{Cache, lighten};
use super::frames::{FrameError, Frames};
use super::{Revision, Watched};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const PAGE: u32 = 500;
const END_OF_INITIAL_EVENTS: &str = "k8s.io/initial-events-end";

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
pub(super) async fn follow<K: Watched>(client: Client, clock: Clock, cache: Arc<Cache<K>>) {
    let mut ask = Ask::Everything;
    let mut wait = FIRST_WAIT;
    loop {
        let outcome = match ask {
            Ask::Everything => everything(&client, &cache).await,
            Ask::Pages => pages(&client, &cache).await,
            Ask::After(revision) => after(&client, &cache, revision).await,
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
                let kind = K::kind(&());
                match wait == FIRST_WAIT {
                    true => tracing::warn!(%kind, %failure, ?ask, "watching broke off"),
                    false => tracing::debug!(%kind, %failure, ?ask, "watching broke off again"),
                }
                ask = next(ask, seen, &failure);
                clock.sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
    }
}

/// What to ask for after a failure. What the server has forgotten must be read again; everything else is resumed.
fn next(asked: Ask, seen: Option<Revision>, failure: &Failure) -> Ask {
    match (failure, asked, seen) {
        (Failure::Gone, ..) => Ask::Everything,
        (Failure::Refused(_), Ask::Everything, _) => Ask::Pages,
        (_, Ask::After(_), Some(seen)) => Ask::After(seen),
        (_, asked, _) => asked,
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the server no longer has that revision")]
    Gone,
    #[error("the server does not do that: {0}")]
    Refused(String),
    #[error("{0}")]
    Api(Box<kube::Error>),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the server reported {0}")]
    Reported(String),
    #[error("the server gave no usable revision")]
    NoRevision,
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 410 => Self::Gone,
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
                Self::Refused(status.message.clone())
            }
            _ => Self::Api(Box::new(error)),
        }
    }
}

/// Begins a watch.
async fn watch<K: Watched>(
    client: &Client,
    params: &WatchParams,
    version: &str,
) -> Result<Frames<impl AsyncBufRead + use<K>>, Failure> {
    let request = kube::core::Request::new(K::url_path(&(), None)).watch(params, version);
    let request = request.map_err(kube::Error::BuildRequest)?;
    Ok(Frames::new(Box::pin(client.request_stream(request).await?)))
}

/// Reads all objects from the beginning of a watch and stays on it.
async fn everything<K: Watched>(client: &Client, cache: &Cache<K>) -> Result<(), Failure> {
    let params = WatchParams::default().initial_events();
    let mut events = watch::<K>(client, &params, "").await?;
    let mut objects = Vec::new();
    while let Some(event) = events.next::<K>().await? {
        match event {
            // At once: thousands of them are held until the last has come.
            WatchEvent::Added(mut object) | WatchEvent::Modified(mut object) => {
                lighten(&mut object);
                objects.push(object);
            }
            WatchEvent::Deleted(object) => objects.retain(|other: &K| other.meta().uid != object.meta().uid),
            WatchEvent::Bookmark(bookmark) => {
                if bookmark.metadata.annotations.contains_key(END_OF_INITIAL_EVENTS) {
                    let revision =
                        Revision::parse(&bookmark.metadata.resource_version).ok_or(Failure::NoRevision)?;
                    cache.replace(objects, revision);
                    return stay(events, cache).await;
                }
            }
            WatchEvent::Error(status) => return Err(reported(&status)),
        }
    }
    // The stream ended before it had shown everything: what we have is not the world.
    Err(Failure::Reported("the end of the stream before its objects".to_owned()))
}

/// A part of a list, its objects not read yet.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: ListMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

async fn pages<K: Watched>(client: &Client, cache: &Cache<K>) -> Result<(), Failure> {
    let mut params = ListParams::default().limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let request = kube::core::Request::new(K::url_path(&(), None)).list(&params);
        let text = client.request_text(request.map_err(kube::Error::BuildRequest)?).await?;
        let page: Page<'_> = serde_json::from_str(&text).map_err(FrameError::NoEvent)?;
        for item in page.items {
            let mut object = K::read(item.get().as_bytes()).map_err(FrameError::NoEvent)?;
            lighten(&mut object);
            objects.push(object);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => {
                let revision = page.metadata.resource_version.as_deref().and_then(Revision::parse);
                cache.replace(objects, revision.ok_or(Failure::NoRevision)?);
                return Ok(());
            }
        }
    }
}

async fn after<K: Watched>(client: &Client, cache: &Cache<K>, revision: Revision) -> Result<(), Failure> {
    let events = watch::<K>(client, &WatchParams::default(), &revision.0.to_string()).await?;
    stay(events, cache).await
}

/// Follows a watch until it ends.
async fn stay<K: Watched>(
    mut events: Frames<impl AsyncBufRead + Unpin>,
    cache: &Cache<K>,
) -> Result<(), Failure> {
    while let Some(event) = events.next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => cache.put(object),
            WatchEvent::Deleted(object) => cache.remove(object),
            WatchEvent::Bookmark(bookmark) => {
                if let Some(revision) = Revision::parse(&bookmark.metadata.resource_version) {
                    cache.progress(revision);
                }
            }
            WatchEvent::Error(status) => return Err(reported(&status)),
        }
    }
    Ok(())
}

fn reported(status: &kube::core::Status) -> Failure {
    if status.code == 410 {
        Failure::Gone
    } else {
        Failure::Reported(format!("{} {}", status.code, status.message))
    }
}
