//! Gives each namespace its `default` ServiceAccount, and a new one when somebody deletes it: no pod is let in without.
//! Whatever wakes it only says which namespace to look at; what to do is read from the store.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kedge_kinds::Status;
use kedge_store::{Change, Watch, WatchEnd};
use serde_json::json;

use super::is_leaving;
use crate::key;
use crate::registry::Registry;
use crate::request::{At, WriteOptions};

const NAMESPACES: &str = "/registry/namespaces/";
const ACCOUNTS: &str = "/registry/serviceaccounts/";
const ACCOUNT: &str = "default";
/// How long after a failure a namespace is looked at again.
const AGAIN: Duration = Duration::from_secs(2);
/// How many accounts are made at the same time, because each waits for the disk.
const AT_ONCE: usize = 64;

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    let worker = Worker { registry: registry.clone(), due: BTreeSet::new(), failed: BTreeSet::new() };
    tokio::spawn(worker.work());
}

struct Worker {
    registry: Registry,
    /// To be looked at.
    due: BTreeSet<Arc<str>>,
    /// To be looked at again after a while.
    failed: BTreeSet<Arc<str>>,
}

impl Worker {
    async fn work(mut self) {
        loop {
            let snapshot = self.registry.store().snapshot();
            let watch = |prefix| self.registry.store().watch(prefix, snapshot.revision());
            let (Ok(mut namespaces), Ok(mut accounts)) = (watch(NAMESPACES), watch(ACCOUNTS)) else { return };
            let known = snapshot.range(NAMESPACES, None);
            self.due.extend(known.filter_map(|(key, _)| name_of(key.as_str())));
            drop(snapshot);
            match self.follow(&mut namespaces, &mut accounts).await {
                // It was busy for too long: everything is looked at anew.
                WatchEnd::Lagged => {}
                WatchEnd::Stopped => return,
            }
        }
    }

    async fn follow(&mut self, namespaces: &mut Watch, accounts: &mut Watch) -> WatchEnd {
        let registry = self.registry.clone();
        let mut again = pin!(registry.clock().sleep(AGAIN));
        loop {
            self.look().await;
            tokio::select! {
                event = namespaces.next() => match event {
                    Ok(event) => self.due.extend(name_of(event.key.as_str())),
                    Err(end) => return end,
                },
                event = accounts.next() => match event {
                    Ok(event) => if let Change::Delete { .. } = event.change {
                        self.due.extend(account_of(event.key.as_str()));
                    },
                    Err(end) => return end,
                },
                () = &mut again, if !self.failed.is_empty() => {
                    self.due.append(&mut self.failed);
                    again.set(registry.clock().sleep(AGAIN));
                }
            }
        }
    }

    async fn look(&mut self) {
        let registry = &self.registry;
        let looks = std::mem::take(&mut self.due).into_iter().map(|namespace| async move {
            let done = furnish(registry, &namespace).await;
            (namespace, done)
        });
        let mut looks = pin!(futures::stream::iter(looks).buffer_unordered(AT_ONCE));
        while let Some((namespace, done)) = looks.next().await {
            match done {
                // It is gone, or going, or somebody was faster.
                Err(status) if !matches!(status.code, 403 | 404 | 409) => {
                    let namespace_name = &*namespace;
                    tracing::warn!(
                        namespace = namespace_name,
                        "cannot make its default account yet: {status}"
                    );
                    self.failed.insert(namespace);
                }
                _ => {}
            }
        }
    }
}

fn name_of(key: &str) -> Option<Arc<str>> {
    key.strip_prefix(NAMESPACES).map(Arc::from)
}

/// The namespace whose default account has this key.
fn account_of(key: &str) -> Option<Arc<str>> {
    let (namespace, name) = key.strip_prefix(ACCOUNTS)?.split_once('/')?;
    (name == ACCOUNT).then(|| namespace.into())
}

async fn furnish(registry: &Registry, namespace: &Arc<str>) -> Result<(), Status> {
    let Some(kind) = registry.catalog().kind("", "v1", "serviceaccounts").cloned() else { return Ok(()) };
    let snapshot = registry.store().snapshot();
    let has = snapshot.get(&key::object(&kind, Some(namespace), ACCOUNT)).is_some();
    let stays = snapshot.get(&key::namespace(namespace)).is_some_and(|entry| !is_leaving(entry));
    if has || !stays {
        return Ok(());
    }
    let at = At { kind, namespace: Some(namespace.clone()), name: None, subresource: None };
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
    let options = WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() };
    registry.create(&at, account, &options).await.map(drop)
}
