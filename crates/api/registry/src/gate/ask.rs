//! How the registry asks its gates: in which order, about which form of an object, and what becomes of their changes.

use kedge_kinds::Status;
use kedge_kinds::check::{Mode, check};
use kedge_store::Snapshot;
use serde_json::Value;

use super::{Gate, Memory, Operation, Review};
use crate::registry::Registry;
use crate::request::{At, DeleteOptions, WriteOptions};
use crate::strategies::strategy;
use crate::{convert, custom, subresource, unread};

impl Registry {
    /// Asks the gates about an object that is sent and answered and never stored: a Binding, an Eviction, a review.
    pub async fn admit_sent(
        &self,
        at: &At,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let memory = Memory::default();
        let snapshot = self.store().snapshot();
        let review = self.asking(&snapshot, at, Operation::Create, options, &memory);
        if review.is_free() {
            return Ok(());
        }
        for again in [false, true] {
            let review = Review { again, ..review };
            let mut changed = false;
            for gate in review.gates() {
                changed |= gate.mutate(&review, object).await?;
            }
            if !changed {
                break;
            }
        }
        Review { object: Some(object), ..review }.ask_validation().await
    }

    /// Asks the gates about a connection to what `at` names; `object` is what the client wants of it.
    pub async fn admit_connection(
        &self,
        at: &At,
        object: &Value,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let memory = Memory::default();
        let snapshot = self.store().snapshot();
        let review = self.asking(&snapshot, at, Operation::Connect, options, &memory);
        let review = Review { object: Some(object), ..review };
        if review.is_free() { Ok(()) } else { review.ask_consent().await }
    }

    /// Asks the gates whether an object may go.
    pub(crate) async fn admit_deletion(
        &self,
        snapshot: &Snapshot,
        at: &At,
        old: &Value,
        delete: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let memory = Memory::default();
        let review = self.asking(snapshot, at, Operation::Delete, options, &memory);
        let review = Review { delete: Some(delete), ..review };
        if review.is_free() {
            return Ok(());
        }
        let shown = review.shown(old)?;
        Box::pin(Review { old: Some(shown.as_ref().unwrap_or(old)), ..review }.ask_consent()).await
    }

    /// The same object as another served version of its kind shows it.
    pub async fn in_version(
        &self,
        from: &kedge_kinds::Kind,
        to: &kedge_kinds::Kind,
        object: Value,
    ) -> Result<Value, Status> {
        if from.rules.is_some() {
            return custom::between(self, from, to, object).await;
        }
        Ok(convert::to_served(to, convert::to_stored(from, object)))
    }

    pub(crate) fn asking<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        at: &'a At,
        operation: Operation,
        options: &'a WriteOptions,
        memory: &'a Memory,
    ) -> Review<'a> {
        let (object, old, delete) = (None, None, None);
        Review { registry: self, snapshot, at, operation, object, old, options, delete, again: false, memory }
    }
}

impl<'r> Review<'r> {
    fn gates(&self) -> impl Iterator<Item = &'r dyn Gate> {
        let gates: &'r Registry = self.registry;
        let review = *self;
        gates.options().gates.iter().map(|gate| &**gate).filter(move |gate| gate.concerns(&review))
    }

    /// Nobody outside has anything to say about this write.
    pub(crate) fn is_free(&self) -> bool {
        // Of a binding the gates were asked about the Binding; what follows from it for the pod is no write of its own.
        let follows =
            self.operation == Operation::Update && self.at.subresource.as_deref() == Some("binding");
        self.registry.options().gates.is_empty() || follows || self.gates().next().is_none()
    }

    /// Asks every gate that may change the object, which is in the stored version. True if one did.
    pub(crate) async fn mutate(&self, object: &mut Value) -> Result<bool, Status> {
        let kind = &self.at.kind;
        let shown = self.old.map(|old| self.shown(old)).transpose()?.flatten();
        let review = Review { object: None, old: shown.as_ref().or(self.old), ..*self };
        if self.is_scale() {
            let mut scale = subresource::scale::of(self.at, self.name(), object)?;
            let changed = review.ask_changes(&mut scale).await?;
            if changed {
                subresource::scale::put(kind, object, &scale);
            }
            return Ok(changed);
        }
        unread::expand(object);
        let mut served = convert::to_served(kind, std::mem::take(object));
        let asked = review.ask_changes(&mut served).await;
        let changed = *asked.as_ref().unwrap_or(&false);
        if changed {
            if let Some(rules) = &kind.rules {
                rules.prune(&mut served);
            } else if let Some(node) = kind.node() {
                let found = check(node, &mut served, Mode::Whole);
                if let Some(error) = found.errors.first() {
                    return Err(Status::internal(error.to_string()));
                }
            }
        }
        *object = convert::to_stored(kind, served);
        if changed {
            strategy(kind).default(object);
        }
        asked
    }

    async fn ask_changes(&self, served: &mut Value) -> Result<bool, Status> {
        let mut changed = false;
        for gate in self.gates() {
            changed |= gate.mutate(self, served).await?;
        }
        Ok(changed)
    }

    /// Asks every gate whether this may be; objects are in the stored version.
    pub(crate) async fn validate(&self) -> Result<(), Status> {
        let shown = |object: Option<&Value>| object.map(|object| self.shown(object)).transpose();
        let (object, old) = (shown(self.object)?.flatten(), shown(self.old)?.flatten());
        let review =
            Review { object: object.as_ref().or(self.object), old: old.as_ref().or(self.old), ..*self };
        review.ask_validation().await
    }

    async fn ask_validation(&self) -> Result<(), Status> {
        for gate in self.gates() {
            gate.validate(self).await?;
        }
        Ok(())
    }

    async fn ask_consent(&self) -> Result<(), Status> {
        for gate in self.gates() {
            gate.consult(self).await?;
        }
        self.ask_validation().await
    }

    fn is_scale(&self) -> bool {
        self.at.subresource.as_deref() == Some("scale")
    }

    /// What clients of this resource see of a stored object; `None` if that is the object itself.
    fn shown(&self, stored: &Value) -> Result<Option<Value>, Status> {
        if self.is_scale() {
            return subresource::scale::of(self.at, self.name(), stored).map(Some);
        }
        if unread::is_in(stored) {
            return Ok(Some(unread::whole(stored.clone())));
        }
        let converted = convert::is_needed(&self.at.kind);
        Ok(converted.then(|| convert::to_served(&self.at.kind, stored.clone())))
    }
}
