//! The whole store at one revision: an immutable ordered map that is shared, never copied. Knows nothing of writers.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use crate::{Entry, Key, Revision, key};

pub(crate) type Map = OrdMap<Key, Entry>;

/// The store as it was at one revision. Taking one and cloning one is O(1); holding one blocks nobody.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<State>);

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    pub(crate) map: Map,
    /// The bytes of all values, so that nobody has to walk the map to know its size.
    pub(crate) bytes: u64,
}

impl Snapshot {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Snapshot(state)
    }

    pub(crate) fn state(&self) -> &State {
        &self.0
    }

    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.map.get(key)
    }

    /// Every entry whose key starts with `prefix`, in order of keys; with `after`, only those behind that key.
    pub fn range<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Entry)> + Send + use<'a> {
        let end = key::behind(prefix);
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let none = end.as_deref().is_some_and(|end| after.is_some_and(|after| after >= end));
        // With both bounds given the map compares places in the tree, not keys: walking on touches no key's text.
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.0.map.range::<_, str>(if none {
            (Bound::Included(prefix), Bound::Excluded(prefix))
        } else {
            (from, to)
        })
    }

    /// How many keys start with `prefix`.
    pub fn count(&self, prefix: &str) -> usize {
        match prefix.is_empty() {
            true => self.0.map.len(),
            false => self.range(prefix, None).count(),
        }
    }

    /// The bytes of all values.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    pub fn len(&self) -> usize {
        self.0.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.map.is_empty()
    }
}
