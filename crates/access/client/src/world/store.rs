//! The objects of one kind and the ways to find them. Knows no API and no waiting.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::{Key, Watched};

#[derive(Debug)]
pub(super) struct Store<K> {
    /// In order of namespace, so that one namespace is a range.
    objects: BTreeMap<Arc<Key>, Arc<K>>,
    found_by: HashMap<Trait, BTreeSet<Arc<Key>>>,
    /// Whose names were in use until lately, each as a number; the last ones only.
    gone: VecDeque<u64>,
}

const REMEMBERED: usize = 1024;

/// What objects can be found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Trait {
    /// The uid of any of its owners.
    Owner(String),
    /// The node on which a pod is placed.
    Node(String),
    Label(String, String),
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), found_by: HashMap::new(), gone: VecDeque::new() }
    }
}

impl<K: Watched> Store<K> {
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<K>> {
        self.objects.get(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &Arc<K>)> {
        self.objects.iter().map(|(key, object)| (&**key, object))
    }

    pub(super) fn in_namespace<'s>(&'s self, namespace: &'s str) -> impl Iterator<Item = &'s Arc<K>> {
        let first = Key::new(namespace, "");
        self.objects
            .range::<Key, _>(first..)
            .take_while(move |(key, _)| key.namespace == namespace)
            .map(|(_, object)| object)
    }

    pub(super) fn with(&self, wanted: &Trait) -> impl Iterator<Item = (&Key, &Arc<K>)> + use<'_, K> {
        let keys = self.found_by.get(wanted).into_iter().flatten();
        keys.filter_map(|key| self.objects.get_key_value(&**key)).map(|(key, object)| (&**key, object))
    }

    /// Whether one of this name went lately. May say so of another that never was, never the other way round.
    pub(super) fn had(&self, key: &Key) -> bool {
        self.gone.contains(&number(key))
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Gives what was there before.
    pub(super) fn put(&mut self, key: Key, object: Arc<K>) -> Option<Arc<K>> {
        let found_by: Vec<Trait> = traits(&*object).collect();
        // Most changes are of what nothing is found by.
        if let Some(known) = self.objects.get_mut(&key)
            && traits(&**known).eq(found_by.iter().cloned())
        {
            return Some(std::mem::replace(known, object));
        }
        let before = self.take(&key);
        let key = Arc::new(key);
        for found in found_by {
            self.found_by.entry(found).or_default().insert(key.clone());
        }
        self.objects.insert(key, object);
        before
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let before = self.take(key)?;
        if self.gone.len() == REMEMBERED {
            self.gone.pop_front();
        }
        self.gone.push_back(number(key));
        Some(before)
    }

    fn take(&mut self, key: &Key) -> Option<Arc<K>> {
        let before = self.objects.remove(key)?;
        for found in traits(&*before) {
            if let Some(keys) = self.found_by.get_mut(&found) {
                keys.remove(key);
                if keys.is_empty() {
                    self.found_by.remove(&found);
                }
            }
        }
        Some(before)
    }
}

fn number(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

fn traits<K: Watched>(object: &K) -> impl Iterator<Item = Trait> {
    let meta = object.meta();
    let owners = meta.owner_references.iter().flatten().map(|owner| Trait::Owner(owner.uid.clone()));
    let labels = object.found_by().map(|(name, value)| Trait::Label(name.to_owned(), value.to_owned()));
    let pod = (object as &dyn Any).downcast_ref::<Pod>();
    let node = pod.and_then(|pod| pod.spec.as_ref()?.node_name.clone()).map(Trait::Node);
    owners.chain(labels).chain(node)
}
