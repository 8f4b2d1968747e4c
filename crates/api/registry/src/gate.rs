//! Admission that lives outside the registry: webhooks and policies, which take their time. The registry asks its gates about
//! every write, behind its own plugins; it knows nothing of how they answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_kinds::Status;
use kedge_kinds::check::{Mode, check};
use kedge_store::Snapshot;
use parking_lot::Mutex;
use serde_json::Value;

pub use crate::admission::Operation;
use crate::convert;
use crate::registry::Registry;
use crate::request::{At, WriteOptions};
use crate::strategies::strategy;

/// What a gate is asked about. Objects are in the version of the request.
pub struct Review<'a> {
    pub registry: &'a Registry,
    /// The state that the write comes into.
    pub snapshot: &'a Snapshot,
    pub at: &'a At,
    pub operation: Operation,
    /// What would be stored: absent in a deletion, and where the gate itself may change it.
    pub object: Option<&'a Value>,
    /// What is stored now: absent in a creation.
    pub old: Option<&'a Value>,
    pub options: &'a WriteOptions,
    /// The second round, after some gate changed the object.
    pub again: bool,
}

/// In the order in which they stand in `Options::gates`.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Whether the write is any of its business. Asked for every write, so it has to be quick.
    fn concerns(&self, review: &Review<'_>) -> bool;

    /// Changes or refuses the object; says whether it changed it.
    fn mutate<'a>(
        &'a self,
        review: &'a Review<'a>,
        object: &'a mut Value,
    ) -> BoxFuture<'a, Result<bool, Status>>;

    /// Refuses what would be stored, or lets it be.
    fn validate<'a>(&'a self, review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>>;
}

/// What was said about a request besides its answer. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Remarks(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    warnings: Vec<String>,
    annotations: BTreeMap<String, String>,
}

impl Remarks {
    /// For the client, as a `Warning` header, also if the request is refused.
    pub fn warn(&self, warning: impl Into<String>) {
        let (mut said, warning) = (self.0.lock(), warning.into());
        if !said.warnings.contains(&warning) {
            said.warnings.push(warning);
        }
    }

    /// For the audit log.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        self.0.lock().annotations.insert(key.into(), value.into());
    }

    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().warnings)
    }

    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.0.lock().annotations.clone()
    }
}

impl Review<'_> {
    fn gates(&self) -> impl Iterator<Item = &dyn Gate> {
        self.registry.options().gates.iter().map(|gate| &**gate).filter(|gate| gate.concerns(self))
    }

    /// Nobody outside has anything to say about this write.
    pub(crate) fn is_free(&self) -> bool {
        self.gates().next().is_none()
    }

    /// Asks every gate that may change the object, which is in the stored version. True if one did.
    pub(crate) async fn mutate(&self, object: &mut Value) -> Result<bool, Status> {
        let kind = &self.at.kind;
        let converted = self.old.filter(|_| convert::is_needed(kind)).cloned();
        let converted = converted.map(|old| convert::to_served(kind, old));
        let review = Review { object: None, old: converted.as_ref().or(self.old), ..*self };
        let mut served = convert::to_served(kind, std::mem::take(object));
        let mut changed = false;
        for gate in review.gates() {
            changed |= gate.mutate(&review, &mut served).await?;
        }
        if changed && let Some(node) = kind.node() {
            check(node, &mut served, Mode::Whole);
        }
        *object = convert::to_stored(kind, served);
        if changed {
            strategy(kind).default(object);
        }
        Ok(changed)
    }

    /// Asks every gate whether this may be; objects are in the stored version.
    pub(crate) async fn validate(&self) -> Result<(), Status> {
        let kind = &self.at.kind;
        let serve = |object: Option<&Value>| {
            object.filter(|_| convert::is_needed(kind)).map(|object| convert::to_served(kind, object.clone()))
        };
        let (object, old) = (serve(self.object), serve(self.old));
        let review =
            Review { object: object.as_ref().or(self.object), old: old.as_ref().or(self.old), ..*self };
        for gate in review.gates() {
            gate.validate(&review).await?;
        }
        Ok(())
    }
}
