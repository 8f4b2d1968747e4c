//! `update` of an object or of one of its subresources: what the writer may change, on top of what is there.

use kedge_kinds::Status;
use kedge_kinds::field::{Errors, Path};
use kedge_store::{Draft, Entry, Expect, Snapshot, StoreError, Txn};
use serde_json::Value;

use crate::admission::{self, Operation};
use crate::create::{ATTEMPTS, has_status};
use crate::encode::{Encoded, encode};
use crate::quota;
use crate::registry::{Registry, Written, unreadable};
use crate::request::{At, WriteOptions};
use crate::strategies::strategy;
use crate::{body, convert, failure, key, metadata, object, subresource, unread};

/// The object as it lies in the store.
pub(crate) struct Live {
    pub(crate) key: String,
    pub(crate) entry: Entry,
    /// In the stored version; of a custom kind in that of the request. Who owns which field may be unread.
    pub(crate) object: Value,
}

/// What becomes of the object.
pub(crate) struct Outcome {
    /// In the same version as the live one.
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

impl Registry {
    pub async fn update(&self, at: &At, object: Value, options: &WriteOptions) -> Result<Written, Status> {
        if at.subresource.as_deref() == Some("scale") {
            return subresource::scale::update(self, at, object, options).await;
        }
        let mut warnings = Vec::new();
        let object = body::accept(at, object, options, &mut warnings)?;
        body::name(at, &object)?;
        let given = failure::parse_revision(object::meta_text(&object, "resourceVersion"))?;
        let strategy = strategy(&at.kind);
        if at.subresource.is_none() && strategy.create_on_update() && self.live(at).await?.is_none() {
            let uid = object::meta_text(&object, "uid").to_owned();
            if !uid.is_empty() {
                let name = at.name.as_deref().unwrap_or_default();
                let key = key::object(&at.kind, at.namespace.as_deref(), name);
                return Err(failure::precondition(&at.kind, name, &key, &uid, ""));
            }
            if given.is_some() {
                return Err(Status::not_found(&at.kind, at.name.as_deref().unwrap_or_default()));
            }
            return self.create_checked(at, object, options, warnings).await;
        }
        let written = self
            .change(at, options, given.is_some(), |live, _| {
                self.agree(at, live, &object)?;
                let object = self.replaced(at, live, object.clone(), options)?;
                Ok(Outcome { object, warnings: Vec::new() })
            })
            .await?;
        warnings.extend(written.warnings);
        Ok(Written { warnings, ..written })
    }

    pub(crate) async fn live_in(&self, snapshot: &Snapshot, at: &At) -> Result<Option<Live>, Status> {
        let key = key::object(&at.kind, at.namespace.as_deref(), at.name.as_deref().unwrap_or_default());
        let Some(entry) = snapshot.get(&key).cloned() else { return Ok(None) };
        let object = self.object(at, &entry).await?;
        Ok(Some(Live { key, entry, object }))
    }

    /// The same as far as a change has to read it: see `unread`.
    async fn to_change(&self, snapshot: &Snapshot, at: &At) -> Result<Option<Live>, Status> {
        if at.kind.rules.is_some() || convert::is_needed(&at.kind) {
            return self.live_in(snapshot, at).await;
        }
        let key = key::object(&at.kind, at.namespace.as_deref(), at.name.as_deref().unwrap_or_default());
        let Some(entry) = snapshot.get(&key).cloned() else { return Ok(None) };
        let object = unread::parse(entry.bytes()).map_err(unreadable)?;
        Ok(Some(Live { key, entry, object }))
    }

    pub(crate) async fn live(&self, at: &At) -> Result<Option<Live>, Status> {
        let snapshot = self.inner().store.latest().await.map_err(failure::status)?;
        self.live_in(&snapshot, at).await
    }

    /// The writer's revision and uid, where it names them, must be the object's.
    pub(crate) fn agree(&self, at: &At, live: &Live, sent: &Value) -> Result<(), Status> {
        let name = at.name.as_deref().unwrap_or_default();
        let uid = object::meta_text(sent, "uid");
        let found = object::meta_text(&live.object, "uid");
        if !uid.is_empty() && uid != found {
            return Err(failure::precondition(&at.kind, name, &live.key, uid, found));
        }
        self.same_revision(at, live, sent)
    }

    /// The writer's revision, where it names one, must be the object's.
    pub(crate) fn same_revision(&self, at: &At, live: &Live, sent: &Value) -> Result<(), Status> {
        let name = at.name.as_deref().unwrap_or_default();
        match failure::parse_revision(object::meta_text(sent, "resourceVersion"))? {
            Some(given) if given != live.entry.modified() => {
                Err(Status::conflict(&at.kind, name, failure::MODIFIED))
            }
            None if at.subresource.is_none() && !strategy(&at.kind).unconditional_update() => {
                let mut errors = Errors::default();
                let path = Path::root("metadata");
                errors.invalid(
                    &path.child("resourceVersion"),
                    &Value::from(0),
                    "must be specified for an update",
                );
                Err(unconditional(at, name, errors))
            }
            _ => Ok(()),
        }
    }

    /// What stands in the store after an object in the served version was put over the live one.
    pub(crate) fn replaced(
        &self,
        at: &At,
        live: &Live,
        sent: Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let strategy = strategy(&at.kind);
        let mut new = convert::to_stored(&at.kind, sent);
        strategy.default(&mut new);
        self.confine(at, &mut new, &live.object);
        self.own(at, &mut new, Some(&live.object), options, at.subresource.as_deref());
        Ok(new)
    }

    /// Takes back what this resource may not change: status through the main one, all else through a subresource.
    pub(crate) fn confine(&self, at: &At, new: &mut Value, old: &Value) {
        metadata::carry_over(new, old);
        match at.subresource.as_deref() {
            None if has_status(at) => object::carry(object::as_map(new), old.get("status"), "status"),
            None => {}
            Some(part) => subresource::confine(&at.kind, part, new, old),
        }
    }

    /// Tries a change until it meets no newer state. `fixed`: the writer named a revision, so a newer one ends it.
    pub(crate) async fn change(
        &self,
        at: &At,
        options: &WriteOptions,
        fixed: bool,
        mut decide: impl FnMut(&Live, &Snapshot) -> Result<Outcome, Status>,
    ) -> Result<Written, Status> {
        let name = at.name.as_deref().unwrap_or_default();
        let mut snapshot = self.inner().store.latest().await.map_err(failure::status)?;
        let mut alone = None;
        for attempt in 0..ATTEMPTS {
            if let Some(pass) = self.in_peace(at, attempt).await {
                alone = Some(pass);
                snapshot = self.inner().store.latest().await.map_err(failure::status)?;
            }
            let live =
                self.to_change(&snapshot, at).await?.ok_or_else(|| Status::not_found(&at.kind, name))?;
            let Outcome { mut object, mut warnings } = decide(&live, &snapshot)?;
            self.admit(&snapshot, at, &live, &mut object, options, &mut warnings).await?;
            match self.commit_change(&snapshot, at, &live, object, options).await? {
                Ok((bytes, revision)) => return Ok(Written { bytes, revision, created: false, warnings }),
                Err(_) if fixed => break,
                Err((met, found)) => self.settle(met.as_str(), snapshot.revision(), found).await,
            }
            snapshot = self.inner().store.snapshot();
        }
        drop(alone);
        Err(Status::conflict(&at.kind, name, failure::MODIFIED))
    }

    /// Admission, preparation, generation and validation of a changed object.
    async fn admit(
        &self,
        snapshot: &Snapshot,
        at: &At,
        live: &Live,
        new: &mut Value,
        options: &WriteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let (strategy, old) = (strategy(&at.kind), &live.object);
        let view = admission::View { snapshot, at, operation: Operation::Update, options };
        self.mutate(&view, new, Some(old), warnings).await?;
        body::namespace(at, new)?;
        let mut errors = Errors::default();
        metadata::validate(&at.kind, strategy.name_rule(), new, &mut errors);
        metadata::validate_update(new, old, &mut errors);
        let part = at.subresource.as_deref();
        subresource::signing::prepare(&at.kind, part, new, old, self.inner().clock.now());
        match part {
            None => {
                if self.inner().allocator.concerns(&at.kind) {
                    self.inner().allocator.normalise(Some(old), new);
                }
                strategy.prepare_update(new, old);
                if strategy.counts_generations() {
                    metadata::count_generation(&at.kind, new, old);
                }
                // A custom kind judges a change as a whole: what was wrong before it may stay.
                if at.kind.rules.is_none() && !strategy.judges_changes_whole() {
                    strategy.validate(new, &mut errors);
                }
                strategy.validate_update(new, old, &mut errors);
            }
            Some("status") => {
                strategy.prepare_status(new, old);
                strategy.validate_status(new, old, &mut errors);
            }
            Some(part) => {
                // Being given a node is not a change of what the pod's author asked for.
                if strategy.counts_generations() && part != "binding" {
                    metadata::count_generation(&at.kind, new, old);
                }
                if at.kind.rules.is_some() {
                    strategy.validate_update(new, old, &mut errors);
                }
                if matches!(part, "ephemeralcontainers" | "resize") {
                    strategy.validate(new, &mut errors);
                }
                if part == "approval" {
                    strategy.validate_status(new, old, &mut errors);
                }
                subresource::validate(part, new, old, &mut errors);
            }
        }
        subresource::signing::validate(&at.kind, part, new, old, &mut errors);
        if !errors.is_empty() {
            let name = at.name.as_deref().unwrap_or_default();
            return Err(Status::invalid(&at.kind, name, errors.into_causes()));
        }
        if at.subresource.is_none() && strategy.warns_again(new, old) {
            warnings.extend(strategy.warnings(new));
        }
        self.validate(&view, new, Some(old)).await
    }

    /// Writes the changed object, or removes it if it only waited for this change. The inner error is what it ran into.
    async fn commit_change(
        &self,
        snapshot: &Snapshot,
        at: &At,
        live: &Live,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Result<(bytes::Bytes, kedge_store::Revision), Met>, Status> {
        let expect = Expect::At(live.entry.modified());
        let mut txn = Txn::new();
        let done = metadata::is_finished(&object) && !crate::delete::waits_for_finalize(&at.kind, &object);
        if self.inner().allocator.concerns(&at.kind) {
            txn = if done {
                self.inner().allocator.release(&live.object, txn)
            } else {
                self.inner().allocator.allocate(snapshot, Some(&live.object), &mut object, txn)?
            };
        }
        failure::too_deep(&object)?;
        options.judge(Some(&live.object), &object)?;
        let encoded = self.encoded(at, &object).await?;
        if options.dry_run {
            self.afford(quota::Change { at, old: Some(&live.object), new: Some(&object) })?;
        }
        if options.dry_run || (!done && encoded.equals(live.entry.bytes(), live.entry.modified().get())) {
            return Ok(Ok((self.unwritten(at, live, &object, &encoded)?, live.entry.modified())));
        }
        let draft = Draft::with_revision_at(encoded.bytes.clone(), encoded.hole);
        let txn = match done {
            true => txn.delete(live.key.as_str(), expect),
            false => txn.put(live.key.as_str(), expect, draft),
        };
        let change = quota::Change { at, old: Some(&live.object), new: Some(&object).filter(|_| !done) };
        match self.commit_charged(change, txn).await? {
            Ok(committed) => {
                let revision = committed.revision;
                let entry = committed.entries.into_iter().last().flatten().filter(|_| !done);
                let bytes = match entry {
                    Some(entry) => self.served(at, entry).await?.bytes().clone(),
                    None => self.unwritten(at, live, &object, &encoded)?,
                };
                if at.kind.rules.is_some() {
                    self.inner().definitions.wrote(&at.kind, revision);
                }
                Ok(Ok((bytes, revision)))
            }
            Err(StoreError::Conflict { key, found, .. }) => Ok(Err((key, found))),
            Err(error) => Err(failure::status(error)),
        }
    }

    /// The answer where nothing new was stored: the object as it would be, at the revision that it has.
    fn unwritten(
        &self,
        at: &At,
        live: &Live,
        object: &Value,
        encoded: &Encoded,
    ) -> Result<bytes::Bytes, Status> {
        let revision = live.entry.modified().get();
        if at.kind.rules.is_some() {
            return Ok(encode(object).with_revision(revision));
        }
        if !convert::is_needed(&at.kind) {
            return Ok(encoded.with_revision(revision));
        }
        let object = crate::registry::parse_bytes(&encoded.bytes)?;
        Ok(encode(&convert::to_served(&at.kind, object)).with_revision(revision))
    }
}

/// Kubernetes names the resource here and not the kind.
fn unconditional(at: &At, name: &str, errors: Errors) -> Status {
    let mut status = Status::invalid(&at.kind, name, errors.into_causes());
    let rest = status.message.split_once(' ').map(|(_, rest)| rest).unwrap_or_default();
    status.message = format!("{} {rest}", at.kind.qualified_plural());
    if let Some(details) = &mut status.details {
        details.kind = at.kind.plural.to_string();
    }
    status
}

type Met = (kedge_store::Key, Option<kedge_store::Revision>);

#[cfg(test)]
mod tests;
