//! `create`: from what was sent to what is stored, in Kubernetes' order: check, default, admit, prepare, validate,
//! commit. Everything that needs the newest state is decided again when the commit meets a newer one.

use std::sync::Arc;

use kedge_kinds::field::Errors;
use kedge_kinds::{Kind, Reason, Status};
use kedge_store::{Draft, Expect, Snapshot, StoreError, Txn};
use serde_json::Value;

use crate::admission::{self, Operation};
use crate::encode::encode;
use crate::gate::{Memory, Review};
use crate::merge::managed;
use crate::quota;
use crate::registry::{Registry, Written};
use crate::request::{At, WriteOptions};
use crate::strategies::strategy;
use crate::{body, convert, custom, encode, failure, key, metadata, namespaces, object, subresource};

/// How often a commit that met a newer state is tried again before the client is told.
pub(crate) const ATTEMPTS: usize = 64;

impl Registry {
    pub async fn create(&self, at: &At, object: Value, options: &WriteOptions) -> Result<Written, Status> {
        match at.subresource.as_deref() {
            None if &*at.kind.kind == "Binding" => {
                return subresource::binding::create(self, at, object, options).await;
            }
            None => {}
            Some("binding") => return subresource::binding::create(self, at, object, options).await,
            Some("eviction") => return subresource::eviction::create(self, at, object, options).await,
            Some(_) => {
                let message = "the server does not allow this method on the requested resource";
                return Err(Status::new(405, Reason::MethodNotAllowed, message));
            }
        }
        let mut warnings = Vec::new();
        let object = body::accept(at, object, options, &mut warnings)?;
        self.create_checked(at, object, options, warnings).await
    }

    /// Creation of an object that has the shape of its kind, in the served version.
    pub(crate) async fn create_checked(
        &self,
        at: &At,
        object: Value,
        options: &WriteOptions,
        warnings: Vec<String>,
    ) -> Result<Written, Status> {
        if !object::meta_text(&object, "resourceVersion").is_empty() {
            return Err(failure::bare("resourceVersion should not be set on objects to be created"));
        }
        let mut object = self.defaulted(at, object);
        self.own(at, &mut object, None, options, None);
        self.create_owned(at, object, options, warnings).await
    }

    /// Creation through apply, which has settled who owns what.
    pub(crate) async fn create_applied(
        &self,
        at: &At,
        object: Value,
        options: &WriteOptions,
        warnings: Vec<String>,
    ) -> Result<Written, Status> {
        let object = self.defaulted(at, object);
        self.create_owned(at, object, options, warnings).await
    }

    async fn create_owned(
        &self,
        at: &At,
        mut object: Value,
        options: &WriteOptions,
        mut warnings: Vec<String>,
    ) -> Result<Written, Status> {
        let snapshot = self.inner().store.snapshot();
        let snapshot = self.seeing_namespace(at, snapshot).await?;
        let generated = self.prepare_create(&snapshot, at, &mut object, options, &mut warnings).await?;
        self.commit_new(at, object, generated, snapshot, options, warnings).await
    }

    /// A new object's stored form with its defaults.
    fn defaulted(&self, at: &At, served: Value) -> Value {
        let mut object = convert::to_stored(&at.kind, served);
        strategy(&at.kind).default(&mut object);
        // A node reports itself with its first breath.
        if has_status(at) && (&*at.kind.kind != "Node" || at.kind.rules.is_some()) {
            object::carry(
                object::as_map(&mut object),
                empty_status(&self.stored_kind(at)).as_ref(),
                "status",
            );
        }
        object
    }

    fn stored_kind(&self, at: &At) -> Arc<Kind> {
        if !convert::is_needed(&at.kind) {
            return at.kind.clone();
        }
        self.catalog().stored_kind(&at.kind).clone()
    }

    /// Writes down who owns what. Fields are named as the writer's version of the kind names them.
    pub(crate) fn own(
        &self,
        at: &At,
        object: &mut Value,
        old: Option<&Value>,
        options: &WriteOptions,
        subresource: Option<&str>,
    ) {
        let Some(node) = at.kind.node() else { return };
        let version = at.kind.gv.to_string();
        let who = managed::Who {
            manager: &options.manager,
            operation: managed::Operation::Update,
            api_version: &version,
            subresource: subresource.unwrap_or_default(),
            now: self.inner().clock.now(),
        };
        if convert::is_needed(&at.kind) {
            let mut served = convert::to_served(&at.kind, object.clone());
            let old = old.map(|old| convert::to_served(&at.kind, old.clone()));
            managed::update(node, old.as_ref(), &mut served, &who);
            let managers = object::meta(&served, "managedFields").cloned();
            object::carry(object::meta_mut(object), managers.as_ref(), "managedFields");
        } else {
            managed::update(node, old, object, &who);
        }
        if let Some(old) = old {
            disown_in_other_version(&at.kind, old, object);
        }
    }

    /// Metadata, admission, the kind's own preparation, validation. Returns the generated name's base, if it has one.
    async fn prepare_create(
        &self,
        snapshot: &Snapshot,
        at: &At,
        object: &mut Value,
        options: &WriteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, Status> {
        let strategy = strategy(&at.kind);
        let view = admission::View { snapshot, at, operation: Operation::Create, options };
        if self.inner().options.mount_tokens {
            admission::token_volume::mount(&view, object)?;
        }
        self.mutate(&view, object, None, warnings).await?;
        // What was sent has been seen to; a webhook may have moved it since.
        body::namespace(at, object)?;
        let generated = metadata::fill(object, &self.inner().clock);
        if strategy.counts_generations() {
            object::set_meta(object, "generation", 1);
        }
        if self.inner().allocator.concerns(&at.kind) {
            self.inner().allocator.normalise(None, object);
        }
        strategy.prepare_create(object);
        subresource::signing::author(&at.kind, object, &options.user);
        metadata::date_conditions(object);
        let mut errors = Errors::default();
        metadata::validate(&at.kind, strategy.name_rule(), object, &mut errors);
        strategy.validate(object, &mut errors);
        let name = object::meta_text(object, "name").to_owned();
        if !errors.is_empty() {
            return Err(Status::invalid(&at.kind, &name, errors.into_causes()));
        }
        warnings.extend(strategy.warnings(object));
        // Who is refused hears the warnings, too.
        self.validate(&view, object, None)
            .await
            .inspect_err(|_| warnings.drain(..).for_each(|warning| options.remarks.warn(warning)))?;
        Ok(generated)
    }

    /// Our own plugins, then the gates; once more if a gate changed what the plugins had seen.
    pub(crate) async fn mutate(
        &self,
        view: &admission::View<'_>,
        object: &mut Value,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let memory = Memory::default();
        let admission::View { snapshot, at, operation, options } = *view;
        for again in [false, true] {
            admission::mutate(view, object, old, warnings)?;
            let review = Review { old, again, ..self.asking(snapshot, at, operation, options, &memory) };
            if review.is_free() || !Box::pin(review.mutate(object)).await? {
                break;
            }
        }
        Ok(())
    }

    /// The last look at what is about to be stored.
    pub(crate) async fn validate(
        &self,
        view: &admission::View<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        admission::validate(view, object, old)?;
        let memory = Memory::default();
        let admission::View { snapshot, at, operation, options } = *view;
        let review = self.asking(snapshot, at, operation, options, &memory);
        let review = Review { object: Some(object), old, ..review };
        if review.is_free() { Ok(()) } else { Box::pin(review.validate()).await }
    }

    async fn commit_new(
        &self,
        at: &At,
        mut object: Value,
        generated: Option<String>,
        mut snapshot: Snapshot,
        options: &WriteOptions,
        warnings: Vec<String>,
    ) -> Result<Written, Status> {
        let namespace = at.namespace.as_deref().filter(|_| at.kind.namespaced);
        for _ in 0..ATTEMPTS {
            let name = object::meta_text(&object, "name").to_owned();
            let key = key::object(&at.kind, namespace, &name);
            let mut txn = Txn::new();
            if let Some(namespace) = namespace {
                let revision = namespaces::open(&snapshot, &at.kind, &name, namespace)?;
                txn = txn.check(key::namespace(namespace), Expect::At(revision));
            }
            if at.kind.rules.is_some() {
                let revision = custom::open(&snapshot, &at.kind, &name)?;
                txn = txn.check(custom::key_of(&at.kind)?, Expect::At(revision));
            }
            let mut attempt = std::borrow::Cow::Borrowed(&object);
            if self.inner().allocator.concerns(&at.kind) {
                txn = self.inner().allocator.allocate(&snapshot, None, attempt.to_mut(), txn)?;
            }
            failure::too_deep(&attempt)?;
            options.judge(None, &attempt)?;
            let encoded = self.encoded(at, &attempt).await?;
            if options.dry_run {
                if snapshot.get(&key).is_some() {
                    return Err(taken(at, &name, generated.is_some()));
                }
                self.afford(quota::Change { at, old: None, new: Some(&attempt) })?;
                let bytes = self.dry(at, &attempt, &encoded)?;
                return Ok(Written { bytes, revision: snapshot.revision(), created: true, warnings });
            }
            let txn =
                txn.put(key.as_str(), Expect::Absent, Draft::with_revision_at(encoded.bytes, encoded.hole));
            let change = quota::Change { at, old: None, new: Some(&attempt) };
            match self.commit_charged(change, txn).await? {
                Ok(done) => {
                    let entry = done.entries.into_iter().last().flatten();
                    let entry =
                        entry.ok_or_else(|| Status::internal("the store kept nothing of a new object"))?;
                    let revision = entry.modified();
                    let bytes = self.served(at, entry).await?.bytes().clone();
                    if at.kind.rules.is_some() {
                        self.inner().definitions.wrote(&at.kind, revision);
                    }
                    return Ok(Written { bytes, revision, created: true, warnings });
                }
                Err(StoreError::Conflict { key: met, .. }) if met.as_str() == key => match &generated {
                    Some(base) => object::set_meta(&mut object, "name", metadata::generate(base)),
                    None => return Err(taken(at, &name, false)),
                },
                Err(StoreError::Conflict { key: met, found, .. }) => {
                    self.settle(met.as_str(), snapshot.revision(), found).await;
                }
                Err(error) => return Err(failure::status(error)),
            }
            snapshot = self.inner().store.snapshot();
        }
        let message = format!("unable to create {} for now: others change what it needs", at.kind.kind);
        Err(Status::new(500, Reason::ServerTimeout, message))
    }

    /// The answer to a write that is only tried.
    pub(crate) fn dry(
        &self,
        at: &At,
        object: &Value,
        encoded: &encode::Encoded,
    ) -> Result<bytes::Bytes, Status> {
        if at.kind.rules.is_some() {
            return Ok(encode(object).without_revision());
        }
        if !convert::is_needed(&at.kind) {
            return Ok(encoded.without_revision());
        }
        let object = crate::registry::parse_bytes(&encoded.without_revision())?;
        Ok(encode(&convert::to_served(&at.kind, object)).without_revision())
    }

    /// A namespace that another server made a moment ago may not have reached our snapshot yet.
    async fn seeing_namespace(&self, at: &At, snapshot: Snapshot) -> Result<Snapshot, Status> {
        match at.namespace.as_deref() {
            Some(namespace) if snapshot.get(&key::namespace(namespace)).is_none() => {
                self.inner().store.latest().await.map_err(failure::status)
            }
            _ => Ok(snapshot),
        }
    }

    /// Waits until what a commit ran into can be read: a write is checked against writes that are not yet published.
    pub(crate) async fn settle(
        &self,
        key: &str,
        after: kedge_store::Revision,
        found: Option<kedge_store::Revision>,
    ) {
        if found.is_some_and(|found| found <= self.inner().store.revision()) {
            return;
        }
        let Ok(mut watch) = self.inner().store.watch(key, after) else { return };
        while let Ok(event) = watch.next().await {
            if event.key.as_str() == key {
                return;
            }
        }
    }
}

/// The kind keeps a status that only its own subresource changes.
pub(crate) fn has_status(at: &At) -> bool {
    at.kind.subresource("status").is_some()
}

/// The status that a new object has until someone reports one: nothing but what its schema always writes.
fn empty_status(kind: &Kind) -> Option<Value> {
    if kind.rules.is_some() {
        return None;
    }
    let mut empty = Value::Object(serde_json::Map::new());
    kedge_kinds::check::check(kind.node()?, &mut empty, kedge_kinds::check::Mode::Whole);
    empty.get_mut("status").map(Value::take)
}

fn taken(at: &At, name: &str, generated: bool) -> Status {
    let mut status = Status::already_exists(&at.kind, name);
    if generated {
        status.message.push_str(", the server was not able to generate a unique name for the object");
    }
    status
}

/// One value may stand in another field in the kind's other version; who wrote that one loses it there.
fn disown_in_other_version(kind: &Kind, old: &Value, object: &mut Value) {
    let Some(other) = convert::counterpart(kind) else { return };
    let version = other.gv.to_string();
    let Some(node) = other.node().filter(|_| managed::has_owner_in(object, &version)) else { return };
    let before = convert::to_served(other, old.clone());
    let after = convert::to_served(other, object.clone());
    managed::lose_in(node, &version, &before, &after, object);
}

#[cfg(test)]
mod tests;
