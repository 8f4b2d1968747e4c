//! Admission that lives outside the registry: webhooks and policies, which take their time. The registry asks its gates about
//! every write, behind its own plugins; it knows nothing of how they answer.

mod ask;
mod attributes;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_kinds::Status;
use kedge_store::Snapshot;
use parking_lot::Mutex;
use serde_json::Value;

pub use crate::admission::Operation;
use crate::registry::Registry;
use crate::request::{At, DeleteOptions, WriteOptions};

/// What a gate is asked about. Objects are in the version of the request, and are what the client of this resource sees:
/// a Scale, a Binding or an Eviction where the subresource speaks that, the options of a connection.
#[derive(Clone, Copy)]
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
    /// How it is to go, in a deletion.
    pub delete: Option<&'a DeleteOptions>,
    /// The second round, after some gate changed the object.
    pub again: bool,
    /// What gates keep between the two rounds.
    pub memory: &'a Memory,
}

/// What the gates remember of one write. Each remembers values of its own types.
#[derive(Default)]
pub struct Memory(Mutex<Vec<Box<dyn Any + Send>>>);

impl Memory {
    /// Takes out what was kept of this type.
    pub fn recall<T: Any + Send>(&self) -> Option<T> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|value| value.is::<T>())?;
        kept.swap_remove(at).downcast().ok().map(|value| *value)
    }

    pub fn keep<T: Any + Send>(&self, value: T) {
        self.0.lock().push(Box::new(value));
    }
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

    /// Has the same word as `mutate` where there is nothing to change: before a deletion or a connection is validated.
    fn consult<'a>(&'a self, _review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(std::future::ready(Ok(())))
    }

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
