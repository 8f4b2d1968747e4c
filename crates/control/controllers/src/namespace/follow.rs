//! Watches what a namespace still holds, and wakes when it is gone or fewer. Lasts as long as its holder wants to know.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Key, Wake};
use kube::api::{Api, ApiResource, DynamicObject, WatchEvent, WatchParams};
use tokio::task::AbortHandle;

use super::contents::Rest;

/// How often a namespace that loses one object after the other is looked at again.
const OFTEN: Duration = Duration::from_secs(5);
/// How long after it a kind that can't be watched is looked at again.
const SELDOM: Duration = Duration::from_secs(30);

pub(super) struct Followers(Vec<AbortHandle>);

impl Drop for Followers {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Followers {
    pub(super) fn new(
        client: &Client,
        clock: &Clock,
        wake: &Wake,
        namespace: &str,
        rests: Vec<Rest>,
    ) -> Self {
        let follow = |rest: Rest| {
            let (client, clock, wake) = (client.clone(), clock.clone(), wake.clone());
            let key = Key::new("", namespace);
            let task = tokio::spawn(async move {
                until_less(client, &clock, &key.name, rest).await;
                wake(key);
            });
            task.abort_handle()
        };
        Self(rests.into_iter().map(follow).collect())
    }
}

/// Returns when nothing is left, when something went some time ago, or when that can't be told any more.
async fn until_less(client: Client, clock: &Clock, namespace: &str, rest: Rest) {
    if !rest.kind.watched {
        return clock.sleep(SELDOM).await;
    }
    let resource = &rest.kind.resource;
    let api = ApiResource {
        group: resource.group.clone(),
        version: resource.version.clone(),
        api_version: resource.api_version(),
        kind: resource.kind.clone(),
        plural: resource.plural.clone(),
    };
    let objects: Api<DynamicObject> = Api::namespaced_with(client, namespace, &api);
    let mut left: BTreeSet<String> = rest.uids.into_iter().collect();
    let Ok(events) = objects.watch_metadata(&WatchParams::default(), &rest.revision).await else {
        return clock.sleep(OFTEN).await;
    };
    let mut events = std::pin::pin!(events);
    let mut since = None;
    loop {
        let due = async {
            match since {
                Some(moment) => clock.until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(WatchEvent::Deleted(object))) => {
                    left.remove(object.metadata.uid.as_deref().unwrap_or_default());
                    if left.is_empty() {
                        return;
                    }
                    since = since.or_else(|| clock.now().checked_add(OFTEN).ok());
                }
                Some(Ok(WatchEvent::Error(_))) | Some(Err(_)) | None => return clock.sleep(OFTEN).await,
                Some(Ok(_)) => {}
            },
            () = due => return,
        }
    }
}
