//! Gives each namespace its default ServiceAccount, and empties and removes those that are being deleted. Whatever
//! wakes it only says which namespace to look at; what to do is read from the store. A controller takes its place later.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_kinds::{Meta, Status};
use kedge_store::{Change, Entry, Snapshot, Watch, WatchEnd};
use serde_json::{Value, json};
use tokio::task::{Id, JoinSet};

use super::is_leaving;
use crate::registry::{Registry, parse};
use crate::request::{At, DeleteOptions, Propagation, WriteOptions};
use crate::update::Outcome;
use crate::{key, object, selection};

/// The one finalizer that the worker is asked to clear.
const FINALIZER: &str = "kubernetes";
const NAMESPACES: &str = "/registry/namespaces/";
const ACCOUNTS: &str = "/registry/serviceaccounts/";
const ACCOUNT: &str = "default";
/// How long after it a namespace that is not settled is looked at again, whatever is heard of it.
const AGAIN: Duration = Duration::from_secs(2);
/// How many namespaces are looked at at the same time, so that a large one keeps nobody waiting.
const AT_ONCE: usize = 8;

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    let worker = Worker {
        registry: registry.clone(),
        due: BTreeSet::new(),
        unsettled: BTreeSet::new(),
        busy: HashMap::new(),
        looks: JoinSet::new(),
    };
    tokio::spawn(worker.work());
}

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Nothing is to be done until something happens.
    Settled,
    /// It is to be looked at again, even if nothing is heard of it.
    Unsettled,
}

struct Worker {
    registry: Registry,
    /// To be looked at.
    due: BTreeSet<Arc<str>>,
    /// To be looked at again after a while.
    unsettled: BTreeSet<Arc<str>>,
    /// Being looked at, each by one task.
    busy: HashMap<Id, Arc<str>>,
    looks: JoinSet<Found>,
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
        let nudge = &registry.inner().namespaces;
        let mut again = pin!(registry.clock().sleep(AGAIN));
        loop {
            self.begin();
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
                () = nudge.wake.notified() => self.due.append(&mut nudge.left.lock()),
                () = &mut again, if !self.unsettled.is_empty() => {
                    self.due.append(&mut self.unsettled);
                    again.set(registry.clock().sleep(AGAIN));
                }
                Some(done) = self.looks.join_next_with_id() => {
                    let (id, found) = match done {
                        Ok((id, found)) => (id, found),
                        Err(error) => (error.id(), Found::Unsettled),
                    };
                    if let (Some(name), Found::Unsettled) = (self.busy.remove(&id), found) {
                        self.unsettled.insert(name);
                    }
                }
            }
        }
    }

    /// Begins as many looks as may be under way.
    fn begin(&mut self) {
        while self.busy.len() < AT_ONCE {
            let is_busy = |name: &Arc<str>| self.busy.values().any(|busy| busy == name);
            let Some(name) = self.due.iter().find(|name| !is_busy(name)).cloned() else { return };
            self.due.remove(&name);
            self.unsettled.remove(&name);
            let (registry, namespace) = (self.registry.clone(), name.clone());
            let task = self.looks.spawn(async move { look(&registry, &namespace).await });
            self.busy.insert(task.id(), name);
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

async fn look(registry: &Registry, namespace: &Arc<str>) -> Found {
    // Who leaves after the snapshot must be heard of.
    registry.inner().namespaces.mind(namespace);
    let snapshot = registry.store().snapshot();
    let entry = snapshot.get(&key::namespace(namespace));
    let done = match entry {
        Some(entry) if is_leaving(entry) => empty(registry, namespace, &snapshot, entry).await,
        _ => {
            registry.inner().namespaces.forget(namespace);
            match entry {
                Some(_) => furnish(registry, namespace, &snapshot).await,
                None => Ok(Found::Settled),
            }
        }
    };
    match done {
        Ok(found) => found,
        // It is gone, or going, or somebody was faster: that is heard of, or seen when it is looked at again.
        Err(status) if matches!(status.code, 403 | 404) => Found::Settled,
        Err(status) if status.code == 409 => Found::Unsettled,
        Err(status) => {
            tracing::warn!(namespace = &**namespace, "cannot look after the namespace yet: {status}");
            Found::Unsettled
        }
    }
}

/// Every namespace has a `default` account.
async fn furnish(registry: &Registry, namespace: &Arc<str>, snapshot: &Snapshot) -> Result<Found, Status> {
    let Some(at) = place(registry, "serviceaccounts", Some(namespace), None) else {
        return Ok(Found::Settled);
    };
    if snapshot.get(&key::object(&at.kind, Some(namespace), ACCOUNT)).is_none() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
        registry.create(&at, account, &options()).await?;
    }
    Ok(Found::Settled)
}

/// Deletes what is left in it; once nothing is, the namespace goes too.
async fn empty(
    registry: &Registry,
    namespace: &Arc<str>,
    snapshot: &Snapshot,
    entry: &Entry,
) -> Result<Found, Status> {
    let targets = targets(registry, namespace, snapshot)?;
    registry.delete_each(targets, &options()).await?;
    let now = registry.store().snapshot();
    let catalog = registry.catalog();
    let mut kinds = catalog.stored().filter(|kind| kind.namespaced);
    if kinds.any(|kind| now.range(&key::prefix(kind, Some(namespace)), None).next().is_some()) {
        return Ok(Found::Unsettled);
    }
    finalize(registry, namespace, &uid(entry)?).await?;
    Ok(Found::Unsettled)
}

/// What stands in a namespace and is not on its way yet. Each is named by its uid as well: until it is deleted, the
/// namespace may have gone and another one come, with other objects of the same names.
fn targets(
    registry: &Registry,
    namespace: &Arc<str>,
    snapshot: &Snapshot,
) -> Result<Vec<(At, DeleteOptions)>, Status> {
    let mut targets = Vec::new();
    for kind in registry.catalog().stored().filter(|kind| kind.namespaced) {
        for (key, entry) in snapshot.range(&key::prefix(kind, Some(namespace)), None) {
            if selection::is_deleting(kind, entry) {
                continue;
            }
            let (_, name) = key::parts(kind, key.as_str());
            let (namespace, name) = (Some(namespace.clone()), Some(name.into()));
            let at = At { kind: kind.clone(), namespace, name, subresource: None };
            let uid = Some(uid(entry)?);
            let propagation = Some(Propagation::Background);
            targets.push((at, DeleteOptions { uid, propagation, ..DeleteOptions::default() }));
        }
    }
    Ok(targets)
}

fn uid(entry: &Entry) -> Result<String, Status> {
    Ok(Meta::of(&parse(entry)?).uid().to_owned())
}

/// Lets the namespace with this uid go.
async fn finalize(registry: &Registry, namespace: &Arc<str>, uid: &str) -> Result<(), Status> {
    let Some(at) = place(registry, "namespaces", None, Some(namespace)) else { return Ok(()) };
    let at = At { subresource: Some("finalize".into()), ..at };
    let decide = |live: &crate::update::Live| {
        let mut object = live.object.clone();
        if object::meta_text(&object, "uid") != uid || !Meta::of(&object).is_leaving() {
            return Err(Status::not_found(&at.kind, namespace));
        }
        let spec = object::map_mut(&mut object, "spec");
        if let Some(list) = spec.get_mut("finalizers").and_then(Value::as_array_mut) {
            list.retain(|name| name != FINALIZER);
            if list.is_empty() {
                spec.remove("finalizers");
            }
        }
        Ok(Outcome { object, warnings: Vec::new() })
    };
    registry.change(&at, &options(), false, |live, _| decide(live)).await.map(|_| ())
}

fn place(
    registry: &Registry,
    plural: &str,
    namespace: Option<&Arc<str>>,
    name: Option<&Arc<str>>,
) -> Option<At> {
    let kind = registry.catalog().kind("", "v1", plural)?.clone();
    Some(At { kind, namespace: namespace.cloned(), name: name.cloned(), subresource: None })
}

fn options() -> WriteOptions {
    WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() }
}

#[cfg(test)]
mod tests;
