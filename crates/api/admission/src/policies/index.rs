//! The policies that are bound, as they stand in the state that a write comes into: never older, never newer. Compiles
//! what it has not seen yet and keeps the rest.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_store::{Entry, Revision, Snapshot};
use parking_lot::Mutex;
use serde_json::Value;

use super::policy::{Binding, Policy};

/// Policies and bindings of one sort, in the store.
struct Source {
    policies: &'static str,
    bindings: &'static str,
    mutating: bool,
}

const VALIDATING: Source = Source {
    policies: "/registry/validatingadmissionpolicies/",
    bindings: "/registry/validatingadmissionpolicybindings/",
    mutating: false,
};
const MUTATING: Source = Source {
    policies: "/registry/mutatingadmissionpolicies/",
    bindings: "/registry/mutatingadmissionpolicybindings/",
    mutating: true,
};

/// A policy with those who put it to work.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) policy: Arc<Policy>,
    pub(super) bindings: Vec<Arc<Binding>>,
}

/// All that is bound, by name.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    pub(super) validating: Vec<Bound>,
    pub(super) mutating: Vec<Bound>,
}

#[derive(Debug, Default)]
pub(super) struct Index(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// What the hooks were made from.
    at: Vec<Revision>,
    revision: Option<Revision>,
    hooks: Arc<Hooks>,
    policies: HashMap<String, (Revision, Arc<Policy>)>,
    bindings: HashMap<String, (Revision, Arc<Binding>)>,
}

impl Index {
    /// `None` if nothing is bound, which costs next to nothing to find out.
    pub(super) fn hooks(&self, snapshot: &Snapshot) -> Option<Arc<Hooks>> {
        let has = |prefix: &str| snapshot.range(prefix, None).next().is_some();
        if !has(VALIDATING.bindings) && !has(MUTATING.bindings) {
            return None;
        }
        let mut kept = self.0.lock();
        if kept.revision != Some(snapshot.revision()) {
            // Every write makes a new state; few of them touch a policy.
            let at = stamps(snapshot);
            if kept.revision.is_none() || at != kept.at {
                kept.renew(snapshot);
                kept.at = at;
            }
            kept.revision = Some(snapshot.revision());
        }
        Some(kept.hooks.clone())
    }
}

/// When each policy and binding was last written, and thereby which there are: a name that comes or goes changes the row.
fn stamps(snapshot: &Snapshot) -> Vec<Revision> {
    [&VALIDATING, &MUTATING]
        .into_iter()
        .flat_map(|source| [source.policies, source.bindings])
        .flat_map(|prefix| snapshot.range(prefix, None).map(|(_, entry)| entry.modified()))
        .collect()
}

impl Kept {
    fn renew(&mut self, snapshot: &Snapshot) {
        let validating = self.bound(snapshot, &VALIDATING);
        let mutating = self.bound(snapshot, &MUTATING);
        self.hooks = Arc::new(Hooks { validating, mutating });
        self.policies.retain(|key, _| snapshot.get(key).is_some());
        self.bindings.retain(|key, _| snapshot.get(key).is_some());
    }

    fn bound(&mut self, snapshot: &Snapshot, source: &Source) -> Vec<Bound> {
        let mut by_policy: HashMap<String, Vec<Arc<Binding>>> = HashMap::new();
        for (key, entry) in snapshot.range(source.bindings, None) {
            let binding = fresh(&mut self.bindings, key.as_str(), entry, Binding::of);
            if let Some(binding) = binding {
                by_policy.entry(binding.policy.clone()).or_default().push(binding);
            }
        }
        let policies = snapshot.range(source.policies, None);
        let bound = policies.filter_map(|(key, entry)| {
            let name = key.as_str().strip_prefix(source.policies).unwrap_or_default();
            let bindings = by_policy.remove(name)?;
            let read = |policy: &Value| Policy::of(policy, source.mutating);
            Some(Bound { policy: fresh(&mut self.policies, key.as_str(), entry, read)?, bindings })
        });
        bound.collect()
    }
}

/// What was made of this entry before, or is made of it now.
fn fresh<T>(
    kept: &mut HashMap<String, (Revision, Arc<T>)>,
    key: &str,
    entry: &Entry,
    make: impl FnOnce(&Value) -> T,
) -> Option<Arc<T>> {
    if let Some((revision, made)) = kept.get(key)
        && *revision == entry.modified()
    {
        return Some(made.clone());
    }
    let Ok(object) = serde_json::from_slice(entry.bytes()) else {
        tracing::error!("{key} cannot be read, so nothing is held to it");
        return None;
    };
    let made = Arc::new(make(&object));
    kept.insert(key.to_owned(), (entry.modified(), made.clone()));
    Some(made)
}
