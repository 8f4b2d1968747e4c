//! `delete` and `deletecollection`: at once, after its finalizers, or after the grace that its owner needs.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use kedge_kinds::{Details, Kind, Meta, Status};
use kedge_store::{Draft, Expect, Key, StoreError, Txn};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::admission::{self, Operation, View};
use crate::create::ATTEMPTS;
use crate::encode::{encode, plain};
use crate::list::{Items, List};
use crate::quota;
use crate::registry::Registry;
use crate::request::{At, DeleteOptions, ListQuery, Propagation, WriteOptions};
use crate::strategies::strategy;
use crate::update::Live;
use crate::{custom, failure, key, metadata, object};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// How many objects of a collection are deleted at the same time.
const AT_ONCE: usize = 64;
/// The longest that a pod is waited for: clients can't read a time that lies beyond the year 9999.
const LONGEST_GRACE: i64 = i32::MAX as i64;
/// Namespaces without which there is no cluster.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What a deletion answers.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// The object as it is or last was, or a `Status` that says `Success`: Kubernetes chooses by kind.
    pub bytes: Bytes,
    pub revision: kedge_store::Revision,
    /// It is only marked: finalizers or its grace keep it.
    pub still_there: bool,
}

/// What is to be done with an object that shall go.
#[derive(Debug, PartialEq)]
enum Step {
    /// It is on its way already and nothing about that changes.
    Nothing,
    Mark(Value),
    /// Removed now; the value is what it last was.
    Remove(Value),
}

impl Registry {
    pub async fn delete(
        &self,
        at: &At,
        delete: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Deleted, Status> {
        self.remove(at, delete, options, true).await
    }

    /// `ask`: whether the gates have a word. They had it already where the deletion follows from something else.
    pub(crate) async fn remove(
        &self,
        at: &At,
        delete: &DeleteOptions,
        options: &WriteOptions,
        ask: bool,
    ) -> Result<Deleted, Status> {
        let name = at.name.as_deref().unwrap_or_default();
        let mut snapshot = self.inner().store.latest().await.map_err(failure::status)?;
        let mut alone = None;
        for attempt in 0..ATTEMPTS {
            if let Some(pass) = self.in_peace(at, attempt).await {
                alone = Some(pass);
                snapshot = self.inner().store.latest().await.map_err(failure::status)?;
            }
            let live = self.live_in(&snapshot, at).await?.ok_or_else(|| Status::not_found(&at.kind, name))?;
            self.expected(at, &live, delete)?;
            if is_namespace(&at.kind) && IMMORTAL.contains(&name) {
                return Err(Status::forbidden(&at.kind, name, "this namespace may not be deleted"));
            }
            let view = View { snapshot: &snapshot, at, operation: Operation::Delete, options };
            admission::delete(&view, &live.object)?;
            if ask {
                self.admit_deletion(&snapshot, at, &live.object, delete, options).await?;
            }
            let step = step(&at.kind, &live.object, delete, self.inner().clock.now());
            match self.take(at, &live, step, options).await? {
                Ok(deleted) => return Ok(deleted),
                Err(_) if delete.resource_version.is_some() => break,
                Err((met, found)) => self.settle(met.as_str(), snapshot.revision(), found).await,
            }
            snapshot = self.inner().store.snapshot();
        }
        drop(alone);
        Err(Status::conflict(&at.kind, name, failure::MODIFIED))
    }

    /// The preconditions of a deletion. Kubernetes names the kind here, not the resource.
    pub(crate) fn expected(&self, at: &At, live: &Live, delete: &DeleteOptions) -> Result<(), Status> {
        let name = at.name.as_deref().unwrap_or_default();
        let refuse = |why: String| {
            let kind = &at.kind;
            let qualified = if kind.gv.group.is_empty() {
                kind.kind.to_string()
            } else {
                format!("{}.{}", kind.kind, kind.gv.group)
            };
            let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
            Status::new(409, kedge_kinds::Reason::Conflict, message).with(Details {
                name: name.to_owned(),
                group: kind.gv.group.to_string(),
                kind: kind.kind.to_string(),
                ..Details::default()
            })
        };
        let found = object::meta_text(&live.object, "uid");
        if let Some(uid) = delete.uid.as_deref().filter(|uid| *uid != found) {
            return Err(refuse(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({found}). \
                 The object might have been deleted and then recreated"
            )));
        }
        let found = live.entry.modified().to_string();
        if let Some(revision) = delete.resource_version.as_deref().filter(|revision| *revision != found) {
            return Err(refuse(format!(
                "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record \
                 ({found}). The object might have been modified"
            )));
        }
        Ok(())
    }

    /// Carries a step out. The inner error is what the commit ran into.
    async fn take(
        &self,
        at: &At,
        live: &Live,
        step: Step,
        options: &WriteOptions,
    ) -> Result<Result<Deleted, Met>, Status> {
        let expect = Expect::At(live.entry.modified());
        let now = live.entry.modified();
        let (txn, removed, last) = match step {
            Step::Nothing => {
                let bytes = self.served(at, live.entry.clone()).await?.bytes().clone();
                return Ok(Ok(Deleted { bytes, revision: now, still_there: true }));
            }
            Step::Mark(object) => {
                let encoded = self.encoded(at, &object).await?;
                let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
                (Txn::new().put(live.key.as_str(), expect, draft), false, object)
            }
            Step::Remove(last) => {
                let mut txn = Txn::new();
                if self.inner().allocator.concerns(&at.kind) {
                    txn = self.inner().allocator.release(&live.object, txn);
                }
                (txn.delete(live.key.as_str(), expect), true, last)
            }
        };
        let revision = if options.dry_run {
            now
        } else {
            let change = quota::Change { at, old: Some(&live.object), new: Some(&last).filter(|_| !removed) };
            match self.commit_charged(change, txn).await? {
                Ok(done) => done.revision,
                Err(StoreError::Conflict { key, found, .. }) => return Ok(Err((key, found))),
                Err(error) => return Err(failure::status(error)),
            }
        };
        let bytes = match removed && !answers_with_itself(&at.kind) {
            true => plain(&success(at, &last)),
            false => {
                // A removed object is last shown at the revision that it had.
                let shown = if removed { now } else { revision };
                encode(&crate::convert::to_served(&at.kind, last)).with_revision(shown.get())
            }
        };
        Ok(Ok(Deleted { bytes, revision, still_there: !removed }))
    }

    /// Deletes everything that a list would show, and answers with that list.
    pub async fn delete_collection(
        &self,
        at: &At,
        query: &ListQuery,
        delete: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<List, Status> {
        let (revision, found) = self.selected(at, query).await?;
        let target = |key: &Key| {
            let (namespace, name) = key::parts(&at.kind, key.as_str());
            At { namespace: namespace.map(Into::into), name: Some(name.into()), ..at.clone() }
        };
        let delete = DeleteOptions { collection: true, ..delete.clone() };
        let targets = found.iter().map(|(key, _)| (target(key), delete.clone())).collect();
        let gone = self.delete_each(targets, options).await?;
        let shown = found.iter().zip(gone).filter(|(_, gone)| *gone);
        let shown: Vec<_> = shown.map(|((_, entry), _)| (entry.clone(), entry.modified())).collect();
        let items = if at.kind.rules.is_some() {
            Items::made(self.served_all(at, &shown).await?)
        } else {
            let mut items = Vec::with_capacity(shown.len());
            for (entry, _) in shown {
                items.push(self.served(at, entry).await?);
            }
            Items::ready(items)
        };
        Ok(List { revision, continue_token: String::new(), remaining: None, items })
    }

    /// Deletes many at once, because each waits for the disk. Says of each whether it was this call that did it.
    pub(crate) async fn delete_each(
        &self,
        targets: Vec<(At, DeleteOptions)>,
        options: &WriteOptions,
    ) -> Result<Vec<bool>, Status> {
        let mut gone = vec![false; targets.len()];
        let mut under_way = JoinSet::new();
        let mut targets = targets.into_iter().enumerate();
        loop {
            for (index, (at, delete)) in targets.by_ref().take(AT_ONCE.saturating_sub(under_way.len())) {
                let (registry, options) = (self.clone(), options.clone());
                under_way.spawn(async move { (index, registry.delete(&at, &delete, &options).await) });
            }
            let Some(done) = under_way.join_next().await else { return Ok(gone) };
            match done {
                Ok((index, Ok(_))) => gone.get_mut(index).map_or((), |gone| *gone = true),
                // Somebody else was faster.
                Ok((_, Err(status))) if status.code == 404 => {}
                Ok((_, Err(status))) => return Err(status),
                Err(error) => return Err(Status::internal(format!("a deletion was not finished: {error}"))),
            }
        }
    }
}

type Met = (Key, Option<kedge_store::Revision>);

/// Decides how an object goes. Knows no store.
fn step(kind: &Kind, old: &Value, delete: &DeleteOptions, now: Timestamp) -> Step {
    let mut new = old.clone();
    let marked = set_dependents(kind, &mut new, delete.propagation);
    if is_namespace(kind) {
        return namespace_step(new, old, now);
    }
    if is_definition(kind) && !Meta::of(old).is_leaving() {
        custom::mark(&mut new, now);
        return Step::Mark(new);
    }
    if is_graceful(kind) {
        match grace(kind, &mut new, old, delete, now) {
            Grace::Pending if !marked => return Step::Nothing,
            Grace::Pending => return Step::Mark(new),
            Grace::Seconds(0) | Grace::Over if Meta::of(&new).finalizers().next().is_none() => {
                return Step::Remove(new);
            }
            Grace::Seconds(_) => return Step::Mark(new),
            Grace::Over => {}
        }
    }
    if Meta::of(&new).finalizers().next().is_none() {
        return Step::Remove(new);
    }
    if !Meta::of(&new).is_leaving() {
        mark(&mut new, old, now, 0);
    }
    if new == *old { Step::Nothing } else { Step::Mark(new) }
}

fn mark(new: &mut Value, old: &Value, now: Timestamp, grace: i64) {
    let then = now.saturating_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
    object::set_meta(new, "deletionTimestamp", metadata::time(then));
    object::set_meta(new, "deletionGracePeriodSeconds", grace);
    if object::meta(old, "generation").and_then(Value::as_i64).unwrap_or(0) > 0 {
        metadata::raise_generation(new, old);
    }
}

enum Grace {
    /// Another deletion has given it at most as long.
    Pending,
    Seconds(i64),
    /// A deletion without any grace was under way.
    Over,
}

/// A pod's node winds it down; a repeated deletion may only shorten the time for it.
fn grace(kind: &Kind, new: &mut Value, old: &Value, delete: &DeleteOptions, now: Timestamp) -> Grace {
    if !Meta::of(old).is_leaving() {
        let seconds = strategy(kind).grace_seconds(old, delete.grace_seconds).min(LONGEST_GRACE);
        mark(new, old, now, seconds);
        return Grace::Seconds(seconds);
    }
    let Some(given) = object::meta(old, "deletionGracePeriodSeconds").and_then(Value::as_i64) else {
        return Grace::Over;
    };
    match delete.grace_seconds {
        Some(asked) if asked < given => {
            let then: Option<Timestamp> = object::meta_text(old, "deletionTimestamp").parse().ok();
            let then = then.unwrap_or(now).saturating_sub(SignedDuration::from_secs(given - asked.max(0)));
            object::set_meta(new, "deletionTimestamp", metadata::time(then.unwrap_or(now)));
            object::set_meta(new, "deletionGracePeriodSeconds", asked.max(0));
            Grace::Seconds(asked.max(0))
        }
        _ => Grace::Pending,
    }
}

/// A namespace goes when it is empty, which is seen to elsewhere.
fn namespace_step(mut new: Value, old: &Value, now: Timestamp) -> Step {
    if !Meta::of(&new).is_leaving() {
        mark(&mut new, old, now, 0);
        // Kubernetes sets no grace on namespaces.
        object::meta_mut(&mut new).remove("deletionGracePeriodSeconds");
        object::map_mut(&mut new, "status").insert("phase".to_owned(), "Terminating".into());
    }
    let waits = Meta::of(&new).finalizers().next().is_some() || has_spec_finalizers(&new);
    match waits {
        false => Step::Remove(new),
        true if new == *old => Step::Nothing,
        true => Step::Mark(new),
    }
}

/// Sets or takes off the finalizers by which dependents are orphaned or waited for. True if that changed anything.
fn set_dependents(kind: &Kind, object: &mut Value, asked: Option<Propagation>) -> bool {
    if &*kind.kind == "Event" {
        return false;
    }
    let has = |name: &str| Meta::of(object).finalizers().any(|known| known == name);
    let (orphan, foreground) = match asked {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND)),
        // These two kept their first behaviour when dependents came to be deleted by default.
        None => (
            matches!((&*kind.kind, &*kind.gv.group), ("ReplicationController", "") | ("Job", "batch")),
            false,
        ),
    };
    let mut names: Vec<String> = Meta::of(object)
        .finalizers()
        .filter(|name| ![ORPHAN, FOREGROUND].contains(name))
        .map(str::to_owned)
        .collect();
    names.extend(orphan.then(|| ORPHAN.to_owned()));
    names.extend(foreground.then(|| FOREGROUND.to_owned()));
    let same = Meta::of(object).finalizers().eq(names.iter().map(String::as_str));
    if !same {
        if names.is_empty() {
            object::meta_mut(object).remove("finalizers");
        } else {
            object::set_meta(object, "finalizers", names);
        }
    }
    !same
}

fn is_graceful(kind: &Kind) -> bool {
    &*kind.kind == "Pod" && kind.gv.group.is_empty()
}

fn is_definition(kind: &Kind) -> bool {
    &*kind.kind == "CustomResourceDefinition" && &*kind.gv.group == "apiextensions.k8s.io"
}

pub(crate) fn is_namespace(kind: &Kind) -> bool {
    &*kind.kind == "Namespace" && kind.gv.group.is_empty()
}

fn has_spec_finalizers(object: &Value) -> bool {
    object::at(object, &["spec", "finalizers"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// A namespace has finalizers in its spec too.
pub(crate) fn waits_for_finalize(kind: &Kind, object: &Value) -> bool {
    is_namespace(kind) && has_spec_finalizers(object)
}

/// The kinds that answer a deletion with themselves; the others with a `Status`.
fn answers_with_itself(kind: &Kind) -> bool {
    match &*kind.gv.group {
        "" => matches!(
            &*kind.kind,
            "Namespace"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        ),
        "resource.k8s.io" => true,
        "storage.k8s.io" => matches!(
            &*kind.kind,
            "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment" | "VolumeAttributesClass"
        ),
        _ => false,
    }
}

fn success(at: &At, last: &Value) -> Value {
    let mut details = json!({"name": object::meta_text(last, "name"), "kind": &*at.kind.plural, "uid": object::meta_text(last, "uid")});
    if !at.kind.gv.group.is_empty() {
        details["group"] = (*at.kind.gv.group).into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

#[cfg(test)]
mod tests;
