//! Follows the stored definitions: compiles what is new, swaps the catalog, then says so in their status. An event only
//! says which definition to look at. Any number of servers on one store may do so at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use kedge_kinds::{Meta, Status};
use kedge_store::{Entry, Snapshot, Watch, WatchEnd};
use serde_json::Value;
use tokio::task::{Id, JoinSet};

use super::names::Taken;
use super::{establish, finalize};
use crate::registry::{Registry, parse};
use crate::request::{At, WriteOptions};
use crate::update::Outcome;
use crate::{key, metadata, object};

/// How long after a failure a definition is looked at again.
const AGAIN: Duration = Duration::from_secs(2);

/// Serves the definitions that were served before, so that a server knows its kinds from its first request on.
pub(crate) fn load(registry: &Registry) -> Result<(), Status> {
    let snapshot = registry.store().snapshot();
    let kind = super::kind()?;
    for (key, entry) in snapshot.range(&key::prefix(kind, None), None) {
        let definition = parse(entry)?;
        let status = definition.get("status").unwrap_or(&Value::Null);
        if establish::is_true(status, "Established") {
            let (_, name) = key::parts(kind, key.as_str());
            let names = object::at(status, &["acceptedNames"]).unwrap_or(&Value::Null);
            registry.inner().definitions.put(&name.into(), &definition, names, since(registry, entry));
        }
    }
    registry.replace_catalog(registry.inner().definitions.catalog());
    Ok(())
}

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    let worker = Worker {
        registry: registry.clone(),
        due: BTreeSet::new(),
        failed: BTreeSet::new(),
        groups: BTreeMap::new(),
        leaving: BTreeSet::new(),
        busy: HashMap::new(),
        tasks: JoinSet::new(),
    };
    tokio::spawn(worker.work());
}

/// What was under way for a definition.
enum Done {
    /// Its status was written, or couldn't be.
    Told(Result<(), Status>),
    /// Its objects and then itself were removed, or couldn't be.
    Removed(Result<(), Status>),
}

struct Worker {
    registry: Registry,
    /// To be looked at.
    due: BTreeSet<Arc<str>>,
    /// To be looked at again after a while.
    failed: BTreeSet<Arc<str>>,
    /// The names of each group as this worker last decided them: the next decision must not wait for the disk.
    groups: BTreeMap<String, Taken>,
    /// Being removed, each by one task.
    leaving: BTreeSet<Arc<str>>,
    busy: HashMap<Id, Arc<str>>,
    tasks: JoinSet<Done>,
}

impl Worker {
    async fn work(mut self) {
        let Ok(kind) = super::kind() else { return };
        let prefix = key::prefix(kind, None);
        loop {
            let snapshot = self.registry.store().snapshot();
            let Ok(mut definitions) = self.registry.store().watch(&prefix, snapshot.revision()) else {
                return;
            };
            let known = snapshot.range(&prefix, None).map(|(key, _)| key::parts(kind, key.as_str()).1.into());
            self.due.extend(known);
            // What went while nobody listened is known only from what is served.
            self.due.extend(self.registry.inner().definitions.names());
            drop(snapshot);
            match self.follow(&mut definitions).await {
                WatchEnd::Lagged => {}
                WatchEnd::Stopped => return,
            }
        }
    }

    async fn follow(&mut self, definitions: &mut Watch) -> WatchEnd {
        let Ok(kind) = super::kind() else { return WatchEnd::Stopped };
        let name = |key: &kedge_store::Key| -> Arc<str> { key::parts(kind, key.as_str()).1.into() };
        loop {
            self.look();
            let again = self.registry.clock().clone();
            tokio::select! {
                event = definitions.next() => match event {
                    Ok(event) => {
                        self.due.insert(name(&event.key));
                        // Those that came together are looked at together.
                        while let Some(next) = definitions.try_next() {
                            match next {
                                Ok(event) => self.due.insert(name(&event.key)),
                                Err(end) => return end,
                            };
                        }
                    }
                    Err(end) => return end,
                },
                () = again.sleep(AGAIN), if !self.failed.is_empty() => self.due.append(&mut self.failed),
                Some(done) = self.tasks.join_next_with_id() => self.finish(done),
            }
        }
    }

    fn finish(&mut self, done: Result<(Id, Done), tokio::task::JoinError>) {
        let (id, done) = match done {
            Ok(done) => done,
            Err(error) => {
                let status = Status::internal(format!("a task of a definition was not finished: {error}"));
                (error.id(), Done::Removed(Err(status)))
            }
        };
        let Some(name) = self.busy.remove(&id) else { return };
        let result = match done {
            Done::Told(result) => result,
            Done::Removed(result) => {
                self.leaving.remove(&name);
                result
            }
        };
        match result {
            Ok(()) => {}
            // It is gone, or somebody was faster: that is heard of.
            Err(status) if matches!(status.code, 404 | 409) => {}
            Err(status) => {
                tracing::warn!(definition = &*name, "cannot look after the definition yet: {status}");
                self.failed.insert(name);
            }
        }
    }

    /// Looks at everything that is due: first the catalog, then, of all at once, what their statuses shall say.
    fn look(&mut self) {
        if self.due.is_empty() {
            return;
        }
        let snapshot = self.registry.store().snapshot();
        let (mut changed, mut told) = (false, Vec::new());
        while let Some(name) = self.due.pop_first() {
            match self.look_at(&snapshot, &name, &mut told) {
                Ok(swap) => changed |= swap,
                Err(status) => {
                    tracing::warn!(definition = &*name, "a definition can't be read: {status}");
                }
            }
        }
        if changed {
            self.registry.replace_catalog(self.registry.inner().definitions.catalog());
        }
        for (name, plan) in told {
            let (registry, of) = (self.registry.clone(), name.clone());
            let task = self.tasks.spawn(async move { Done::Told(tell(&registry, &of, plan).await) });
            self.busy.insert(task.id(), name);
        }
    }

    /// True if other kinds are to be served.
    fn look_at(
        &mut self,
        snapshot: &Snapshot,
        name: &Arc<str>,
        told: &mut Vec<(Arc<str>, establish::Plan)>,
    ) -> Result<bool, Status> {
        let kind = super::kind()?;
        let definitions = &self.registry.inner().definitions;
        let Some(entry) = snapshot.get(&key::object(kind, None, name)) else {
            // Names that it had may be what others wait for.
            let group = name.split_once('.').map(|(_, group)| group).unwrap_or_default();
            if let Some(taken) = self.groups.get_mut(group)
                && taken.release(name)
            {
                self.due.extend(taken.owners().cloned());
            }
            return Ok(definitions.remove(name));
        };
        let definition = parse(entry)?;
        let group = object::text(&definition, &["spec", "group"]).to_owned();
        let taken = self.groups.entry(group).or_default();
        let now = metadata::time(self.registry.clock().now());
        let plan = establish::plan(&definition, taken, &now);
        let names = plan.status.get("acceptedNames").cloned().unwrap_or_default();
        let known = taken.knows(name);
        // A definition that has other names now may have left some that others wait for.
        if taken.give(name, &names) && known {
            self.due.extend(taken.owners().filter(|other| *other != name).cloned());
        }
        let swap = match plan.established {
            true => definitions.put(name, &definition, &names, since(&self.registry, entry)),
            false => definitions.remove(name),
        };
        if Meta::of(&definition).is_leaving() {
            self.remove(name, &definition);
        } else if definition.get("status") != Some(&plan.status) {
            told.push((name.clone(), plan));
        }
        Ok(swap)
    }

    fn remove(&mut self, name: &Arc<str>, definition: &Value) {
        if !finalize::is_asked(definition) || !self.leaving.insert(name.clone()) {
            return;
        }
        let (registry, of, uid) =
            (self.registry.clone(), name.clone(), Meta::of(definition).uid().to_owned());
        let task = self.tasks.spawn(async move { Done::Removed(finalize::run(&registry, &of, &uid).await) });
        self.busy.insert(task.id(), name.clone());
    }
}

/// From when on objects are in the form of the definition. Other servers on the same store may not have heard of it yet,
/// so that nothing that they write can be taken for granted.
fn since(registry: &Registry, entry: &Entry) -> kedge_store::Revision {
    let shared = registry.store().is_shared();
    if shared { kedge_store::Revision::new(u64::MAX) } else { entry.modified() }
}

/// Writes the status that was decided, unless the definition is another one by now.
async fn tell(registry: &Registry, name: &Arc<str>, plan: establish::Plan) -> Result<(), Status> {
    write(registry, name, |definition| {
        let decided = |field: &str| plan.status.get(field);
        let asked = object::at(definition, &["spec", "names"]);
        let Some(status) = definition.get("status").and_then(Value::as_object) else { return Ok(()) };
        if Meta::of(definition).is_leaving() || asked.is_none() {
            return Ok(());
        }
        let mut status = status.clone();
        for field in ["acceptedNames", "conditions"] {
            object::carry(&mut status, decided(field), field);
        }
        object::as_map(definition).insert("status".to_owned(), Value::Object(status));
        Ok(())
    })
    .await
}

/// Changes a definition's status as the server itself.
pub(super) async fn write(
    registry: &Registry,
    name: &Arc<str>,
    change: impl Fn(&mut Value) -> Result<(), Status>,
) -> Result<(), Status> {
    let kind = super::kind()?.clone();
    let at = At { kind, namespace: None, name: Some(name.clone()), subresource: Some("status".into()) };
    let options = WriteOptions { manager: "kube-apiserver".to_owned(), ..WriteOptions::default() };
    let decide = |live: &crate::update::Live| {
        let mut object = live.object.clone();
        change(&mut object)?;
        registry.own(&at, &mut object, Some(&live.object), &options, Some("status"));
        Ok(Outcome { object, warnings: Vec::new() })
    };
    registry.change(&at, &options, false, |live, _| decide(live)).await.map(|_| ())
}
