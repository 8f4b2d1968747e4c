//! Work that follows writes: certificates are signed, tokens put into their Secrets, the authority's certificate into
//! every namespace. An event only says which object to look at again; what to do is read from the store. Each duty is
//! small and decides by itself, so that a controller can take its place.

mod accounts;
mod cluster_info;
mod flows;
mod grants;
mod roles;
mod roots;
mod secrets;
mod serving;
mod signing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_pki::Authority;
use kedge_registry::{At, DeleteOptions, WriteOptions};
use kedge_store::{Watch, WatchEnd};
use serde_json::Value;

use crate::api::Api;
use crate::router::Router;

/// How long after a failure an object is looked at again.
const AGAIN: Duration = Duration::from_secs(2);

/// What the duties work with.
pub(crate) struct Tools {
    pub(crate) api: Arc<Api>,
    pub(crate) authority: Arc<Authority>,
}

/// One kind of work. `look` is asked about one object at a time and answers when to ask again though nothing happens.
trait Duty: Sync {
    /// Where in the store its objects lie.
    fn prefix(&self) -> &'static str;

    /// What to look at when this key, without the prefix, has changed.
    fn concerns<'k>(&self, key: &'k str) -> Option<&'k str> {
        Some(key)
    }

    async fn look(&self, tools: &Tools, key: &str) -> Result<Option<Timestamp>, Status>;
}

impl Router {
    /// Looks after what follows writes until the store ends.
    pub async fn upkeep(self, authority: Arc<Authority>) {
        let tools = Tools { api: self.api().clone(), authority };
        while let Err(status) = grants::make(&tools).await {
            if tools.api.registry().store().is_stopped() {
                return;
            }
            tracing::warn!("cannot grant yet what joining needs: {status}");
            tools.api.clock().sleep(AGAIN).await;
        }
        tokio::join!(
            tend(&tools, signing::Requests),
            tend(&tools, secrets::Secrets),
            tend(&tools, accounts::Accounts),
            tend(&tools, roots::Namespaces),
            tend(&tools, roots::Certificates),
            tend(&tools, roles::Roles),
            tend(&tools, cluster_info::ClusterInfo),
            tend(&tools, cluster_info::Signatures),
            crate::aggregate::tend(tools.api.clone(), tools.authority.pem().to_owned()),
            tend(&tools, flows::Flows),
            tend(&tools, flows::Levels),
        );
    }
}

/// What one duty has yet to look at.
#[derive(Default)]
struct Queue {
    due: BTreeSet<String>,
    later: BTreeMap<String, Timestamp>,
}

async fn tend<D: Duty>(tools: &Tools, duty: D) {
    let store = tools.api.registry().store();
    let mut queue = Queue::default();
    loop {
        let snapshot = store.snapshot();
        let Ok(mut watch) = store.watch(duty.prefix(), snapshot.revision()) else { return };
        let keys = snapshot.range(duty.prefix(), None).filter_map(|(key, _)| concerned(&duty, key.as_str()));
        queue.due.extend(keys);
        drop(snapshot);
        match follow(tools, &duty, &mut queue, &mut watch).await {
            // It was busy for too long: everything is looked at anew.
            WatchEnd::Lagged => {}
            WatchEnd::Stopped => return,
        }
    }
}

fn concerned(duty: &impl Duty, key: &str) -> Option<String> {
    duty.concerns(key.strip_prefix(duty.prefix())?).map(str::to_owned)
}

async fn follow(tools: &Tools, duty: &impl Duty, queue: &mut Queue, watch: &mut Watch) -> WatchEnd {
    let clock = tools.api.clock();
    loop {
        while let Some(key) = queue.due.pop_first() {
            queue.later.remove(&key);
            let again = match duty.look(tools, &key).await {
                Ok(again) => again,
                Err(status) => {
                    // It is gone, or somebody was faster: that is heard of too.
                    if !matches!(status.code, 404 | 409) {
                        tracing::warn!("cannot look after {}{key} yet: {status}", duty.prefix());
                    }
                    clock.now().checked_add(AGAIN).ok()
                }
            };
            if let Some(again) = again {
                queue.later.insert(key, again);
            }
        }
        let next = queue.later.values().min().copied();
        tokio::select! {
            event = watch.next() => match event {
                Ok(event) => queue.due.extend(concerned(duty, event.key.as_str())),
                Err(end) => return end,
            },
            () = clock.until(next.unwrap_or(Timestamp::MAX)), if next.is_some() => {
                let now = clock.now();
                let ready = queue.later.extract_if(.., |_, at| *at <= now).map(|(key, _)| key);
                queue.due.extend(ready);
            }
        }
    }
}

impl Tools {
    /// The object as it is stored; `None` if it is not.
    fn stored(&self, key: &str) -> Result<Option<Value>, Status> {
        let snapshot = self.api.registry().store().snapshot();
        let parsed = snapshot.get(key).map(|entry| serde_json::from_slice(entry.bytes())).transpose();
        parsed.map_err(|error| Status::internal(format!("a stored object can't be read: {error}")))
    }

    fn at(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<At, Status> {
        let catalog = self.api.registry().catalog();
        let kind = catalog.kind(group, "v1", plural).cloned();
        let kind = kind.ok_or_else(|| Status::internal(format!("{plural} are not served")))?;
        Ok(At { kind, namespace: namespace.map(Into::into), name: name.map(Into::into), subresource: None })
    }

    /// Deletes the object if it is still the one that was looked at.
    async fn delete(&self, at: &At, object: &Value) -> Result<(), Status> {
        let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        let delete = DeleteOptions { uid, ..DeleteOptions::default() };
        self.api.registry().delete(at, &delete, &options()).await.map(|_| ())
    }
}

fn options() -> WriteOptions {
    WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() }
}

#[cfg(test)]
mod tests;
