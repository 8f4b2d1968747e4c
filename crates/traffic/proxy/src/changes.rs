//! What must change in the kernel: for each entry what was there and what is to be there. Several changes of one entry are one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kedge_netlink::nft::{Batch, Element, Value};

use crate::family::Family;
use crate::layout::Role;

/// Where an entry is: the set, the key, and the last key if it is a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) role: Role,
    pub(crate) family: Family,
    key: Box<[u8]>,
    last: Option<Box<[u8]>>,
}

impl Place {
    pub(crate) fn new(role: Role, family: Family, key: Vec<u8>) -> Self {
        Self { role, family, key: key.into(), last: None }
    }

    pub(crate) fn range(role: Role, family: Family, key: Vec<u8>, last: Vec<u8>) -> Self {
        Self { role, family, key: key.into(), last: Some(last.into()) }
    }

    pub(crate) fn element(self, value: Value) -> (&'static str, Element) {
        let set = self.role.name(self.family);
        (set, Element { key: self.key, last: self.last, value })
    }

    fn set(&self) -> (Role, Family) {
        (self.role, self.family)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    before: Option<Value>,
    after: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    entries: BTreeMap<Place, Change>,
}

impl Changes {
    /// It was there, and is not wanted unless it is entered again.
    pub(crate) fn withdraw(&mut self, place: Place, value: Value) {
        match self.entries.entry(place) {
            Entry::Vacant(vacant) => {
                vacant.insert(Change { before: Some(value), after: None });
            }
            Entry::Occupied(known) => known.into_mut().after = None,
        }
    }

    pub(crate) fn enter(&mut self, place: Place, value: Value) {
        match self.entries.entry(place) {
            Entry::Vacant(vacant) => {
                vacant.insert(Change { before: None, after: Some(value) });
            }
            Entry::Occupied(known) => known.into_mut().after = Some(value),
        }
    }

    /// This is there, whatever was thought.
    pub(crate) fn is_there(&mut self, role: Role, family: Family, element: Element) {
        let Element { key, last, value } = element;
        // Of an entry that is no range the kernel may tell the same key twice.
        let last = last.filter(|_| role == Role::Allowed);
        let change = self.entries.entry(Place { role, family, key, last });
        change.or_insert(Change { before: None, after: None }).before = Some(value);
    }

    fn is_change(change: &Change) -> bool {
        change.before != change.after
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.entries.values().any(Self::is_change)
    }

    /// How many entries go and how many come.
    pub(crate) fn count(&self) -> (usize, usize) {
        let changed = self.entries.values().filter(|change| Self::is_change(change));
        changed.fold((0, 0), |(gone, come), change| {
            (gone + usize::from(change.before.is_some()), come + usize::from(change.after.is_some()))
        })
    }

    /// What goes, goes first: the same key may come again with another value.
    pub(crate) fn write(self, batch: &mut Batch) {
        let mut gone: BTreeMap<(Role, Family), Vec<Element>> = BTreeMap::new();
        let mut come: BTreeMap<(Role, Family), Vec<Element>> = BTreeMap::new();
        for (place, change) in self.entries {
            if !Self::is_change(&change) {
                continue;
            }
            let set = place.set();
            let Place { key, last, .. } = place;
            if change.before.is_some() {
                let element = Element { key: key.clone(), last: last.clone(), value: Value::None };
                gone.entry(set).or_default().push(element);
            }
            if let Some(value) = change.after {
                come.entry(set).or_default().push(Element { key, last, value });
            }
        }
        for ((role, family), elements) in &gone {
            batch.without_elements(role.name(*family), elements);
        }
        for ((role, family), elements) in &come {
            batch.elements(role.name(*family), elements);
        }
    }

    /// As lines, for tests to compare.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> Vec<String> {
        let changed = self.entries.iter().filter(|(_, change)| Self::is_change(change));
        changed
            .map(|(place, change)| {
                let sign = match (&change.before, &change.after) {
                    (Some(_), Some(_)) => "~",
                    (Some(_), None) => "-",
                    _ => "+",
                };
                format!("{sign}{}", place.role.name(place.family))
            })
            .collect()
    }
}
