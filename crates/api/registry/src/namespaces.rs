//! Namespaces: whether one takes new objects, and the small worker that gives each its default ServiceAccount and
//! empties and removes those that are being deleted. A controller of its own takes the worker's place later.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kedge_kinds::{Cause, Kind, Status};
use kedge_store::{Change, Entry, Revision, Snapshot, Watch, WatchEnd};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::registry::Registry;
use crate::request::{At, DeleteOptions, Propagation, WriteOptions};
use crate::update::Outcome;
use crate::{key, object, selection};

/// The one finalizer that the worker is asked to clear.
const FINALIZER: &str = "kubernetes";
const PREFIX: &str = "/registry/namespaces/";
/// How long after a failure a namespace is looked at again.
const AGAIN: Duration = Duration::from_secs(1);

/// Tells the worker that something left a namespace, which may be the last thing that was in it.
#[derive(Default)]
pub(crate) struct Nudge {
    left: Mutex<Vec<Arc<str>>>,
    /// Namespaces that are being emptied; nobody else's departures matter.
    emptying: Mutex<Vec<Arc<str>>>,
    wake: Notify,
}

impl Nudge {
    pub(crate) fn left(&self, namespace: &str) {
        let emptying = self.emptying.lock();
        if let Some(known) = emptying.iter().find(|known| &***known == namespace) {
            self.left.lock().push(known.clone());
            self.wake.notify_one();
        }
    }
}

/// The kind of namespaces themselves.
fn kind() -> Option<&'static Arc<Kind>> {
    static KIND: OnceLock<Option<&'static Arc<Kind>>> = OnceLock::new();
    *KIND.get_or_init(|| kedge_kinds::builtin().by_kind("", "v1", "Namespace"))
}

/// The revision at which the namespace takes new objects, or why it doesn't.
pub(crate) fn open(
    snapshot: &Snapshot,
    kind: &Kind,
    name: &str,
    namespace: &str,
) -> Result<Revision, Status> {
    let namespaces = self::kind().ok_or_else(|| Status::internal("namespaces are not served"))?;
    let Some(entry) = snapshot.get(&key::namespace(namespace)) else {
        return Err(Status::not_found(namespaces, namespace));
    };
    if !selection::is_deleting(namespaces, entry) {
        return Ok(entry.modified());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(kind, name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

fn is_leaving(entry: &Entry) -> bool {
    kind().is_some_and(|namespaces| selection::is_deleting(namespaces, entry))
}

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    tokio::spawn(work(Worker { registry: registry.clone() }));
}

fn name_of(key: &str) -> Option<Arc<str>> {
    key.strip_prefix(PREFIX).map(Arc::from)
}

async fn work(worker: Worker) {
    loop {
        let snapshot = worker.registry.store().snapshot();
        let Ok(mut watch) = worker.registry.store().watch(PREFIX, snapshot.revision()) else { return };
        let known = snapshot.range(PREFIX, None);
        let known: Vec<(Arc<str>, bool)> =
            known.filter_map(|(key, entry)| Some((name_of(key.as_str())?, is_leaving(entry)))).collect();
        drop(snapshot);
        for (name, leaving) in known {
            worker.look(&name, leaving).await;
        }
        match worker.follow(&mut watch).await {
            // It was busy for too long: everything is looked at anew.
            WatchEnd::Lagged => {}
            WatchEnd::Stopped => return,
        }
    }
}

struct Worker {
    registry: Registry,
}

impl Worker {
    async fn follow(&self, watch: &mut Watch) -> WatchEnd {
        let nudge = &self.registry.inner().namespaces;
        loop {
            tokio::select! {
                event = watch.next() => {
                    let event = match event {
                        Ok(event) => event,
                        Err(end) => return end,
                    };
                    let Some(name) = name_of(event.key.as_str()) else { continue };
                    match &event.change {
                        Change::Put { now, .. } => self.look(&name, is_leaving(now)).await,
                        Change::Delete { .. } => nudge.emptying.lock().retain(|known| *known != name),
                    }
                }
                () = nudge.wake.notified() => {
                    let mut left = std::mem::take(&mut *nudge.left.lock());
                    left.sort();
                    left.dedup();
                    for name in left {
                        self.look(&name, true).await;
                    }
                }
            }
        }
    }

    async fn look(&self, name: &Arc<str>, leaving: bool) {
        let done = match leaving {
            true => self.empty(name).await,
            false => self.furnish(name).await,
        };
        // What is gone or going already needs no second look.
        let Err(status) = done else { return };
        if matches!(status.code, 403 | 404) || (!leaving && status.code == 409) {
            return;
        }
        tracing::warn!(namespace = &**name, "cannot look after the namespace yet: {status}");
        let (registry, name) = (self.registry.clone(), name.clone());
        tokio::spawn(async move {
            registry.clock().sleep(AGAIN).await;
            registry.inner().namespaces.left(&name);
        });
    }

    /// Every namespace has a `default` account.
    async fn furnish(&self, namespace: &Arc<str>) -> Result<(), Status> {
        let Some(at) = self.at("serviceaccounts", Some(namespace), None) else { return Ok(()) };
        if self.registry.store().snapshot().get(&key::object(&at.kind, Some(namespace), "default")).is_some()
        {
            return Ok(());
        }
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        self.registry.create(&at, account, &options()).await.map(|_| ())
    }

    /// Deletes what is left in it; once nothing is, the namespace goes too.
    async fn empty(&self, namespace: &Arc<str>) -> Result<(), Status> {
        let waiting = &self.registry.inner().namespaces.emptying;
        if !waiting.lock().contains(namespace) {
            waiting.lock().push(namespace.clone());
        }
        let snapshot = self.registry.store().snapshot();
        let catalog = self.registry.catalog();
        let mut targets = Vec::new();
        for kind in catalog.stored().filter(|kind| kind.namespaced) {
            for (key, entry) in snapshot.range(&key::prefix(kind, Some(namespace)), None) {
                if !selection::is_deleting(kind, entry) {
                    let (_, name) = key::parts(kind, key.as_str());
                    let (namespace, name) = (Some(namespace.clone()), Some(name.into()));
                    targets.push(At { kind: kind.clone(), namespace, name, subresource: None });
                }
            }
        }
        let delete = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        self.registry.delete_each(targets, &delete, &options()).await?;
        let snapshot = self.registry.store().snapshot();
        let mut kinds = catalog.stored().filter(|kind| kind.namespaced);
        let occupied =
            kinds.any(|kind| snapshot.range(&key::prefix(kind, Some(namespace)), None).next().is_some());
        if occupied { Ok(()) } else { self.finalize(namespace).await }
    }

    async fn finalize(&self, namespace: &Arc<str>) -> Result<(), Status> {
        let Some(at) = self.at("namespaces", None, Some(namespace)) else { return Ok(()) };
        let at = At { subresource: Some("finalize".into()), ..at };
        self.registry
            .change(&at, &options(), false, |live, _| {
                let mut object = live.object.clone();
                let spec = object::map_mut(&mut object, "spec");
                if let Some(list) = spec.get_mut("finalizers").and_then(Value::as_array_mut) {
                    list.retain(|name| name != FINALIZER);
                    if list.is_empty() {
                        spec.remove("finalizers");
                    }
                }
                Ok(Outcome { object, warnings: Vec::new() })
            })
            .await
            .map(|_| ())
    }

    fn at(&self, plural: &str, namespace: Option<&Arc<str>>, name: Option<&Arc<str>>) -> Option<At> {
        let kind = self.registry.catalog().kind("", "v1", plural)?.clone();
        Some(At { kind, namespace: namespace.cloned(), name: name.cloned(), subresource: None })
    }
}

fn options() -> WriteOptions {
    WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() }
}

#[cfg(test)]
mod tests;
