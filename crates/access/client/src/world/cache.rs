//! What is known of one kind, how far, and whether at all. Filled by `follow`, read by everyone.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use kube::ResourceExt;
use parking_lot::RwLock;
use tokio::sync::watch;

use super::changes::{Change, Controller, Subscribers};
use super::store::{Store, Trait};
use super::{Key, Revision, Watched};

pub struct Cache<K> {
    store: RwLock<Store<K>>,
    /// `None` until the kind has been read once; never `None` again.
    seen: watch::Sender<Option<Revision>>,
    subscribers: Arc<Subscribers>,
}

impl<K: Watched> Cache<K> {
    pub(super) fn new(subscribers: Arc<Subscribers>) -> Self {
        Self { store: RwLock::default(), seen: watch::Sender::new(None), subscribers }
    }

    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.store.read().get(key).cloned()
    }

    /// All objects, in order of namespace and name.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.store.read().all().map(|(_, object)| object.clone()).collect()
    }

    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.store.read().in_namespace(namespace).cloned().collect()
    }

    /// Objects that name this uid among their owners.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        self.with(&Trait::Owner(uid.to_owned()))
    }

    /// Pods that are placed on a node; nothing for other kinds.
    pub fn on_node(&self, node: &str) -> Vec<Arc<K>> {
        self.with(&Trait::Node(node.to_owned()))
    }

    /// Objects of a namespace that have all of these labels.
    pub fn labelled(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Vec<Arc<K>> {
        let Some((name, value)) = labels.first_key_value() else { return self.in_namespace(namespace) };
        let has_all =
            |object: &K| labels.iter().all(|(name, value)| object.labels().get(name) == Some(value));
        let store = self.store.read();
        let candidates = store.with(&Trait::Label(name.clone(), value.clone()));
        candidates
            .filter(|(key, object)| key.namespace == namespace && has_all(object))
            .map(|(_, object)| object.clone())
            .collect()
    }

    pub fn len(&self) -> usize {
        self.store.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How far the watch has come.
    pub fn seen(&self) -> Option<Revision> {
        *self.seen.borrow()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.seen().is_some()
    }

    pub(super) async fn seen_at_least(&self, revision: Revision) {
        // The sender lives in this cache, so waiting can't fail.
        let _ = self.seen.subscribe().wait_for(|seen| *seen >= Some(revision)).await;
    }

    fn with(&self, wanted: &Trait) -> Vec<Arc<K>> {
        self.store.read().with(wanted).map(|(_, object)| object.clone()).collect()
    }

    /// Puts a whole reading in the place of what was known, and tells what differs.
    pub(super) fn replace(&self, objects: Vec<K>, revision: Revision) {
        let mut changes = Vec::new();
        {
            let mut store = self.store.write();
            let mut gone: BTreeSet<Key> = store.all().map(|(key, _)| key.clone()).collect();
            for object in objects {
                let key = Key::of(&object);
                gone.remove(&key);
                let same = |before: &Arc<K>| {
                    before.uid() == object.uid() && before.resource_version() == object.resource_version()
                };
                if !store.get(&key).is_some_and(same) {
                    changes.extend(put(&mut store, key, object));
                }
            }
            for key in gone {
                changes.extend(store.remove(&key).map(|before| change(&*before, key)));
            }
        }
        // A server restored from a backup may be behind what we had seen.
        self.seen.send_replace(Some(revision));
        self.tell(&changes);
    }

    pub(super) fn put(&self, object: K) {
        let revision = Revision::of(object.meta());
        let changes = put(&mut self.store.write(), Key::of(&object), object);
        self.note(revision);
        self.tell(&changes);
    }

    pub(super) fn remove(&self, object: &K) {
        let key = Key::of(object);
        self.store.write().remove(&key);
        self.note(Revision::of(object.meta()));
        self.tell(&[change(object, key)]);
    }

    /// The watch has come this far although nothing changed.
    pub(super) fn progress(&self, revision: Revision) {
        self.seen.send_if_modified(|seen| {
            let later = *seen < Some(revision);
            if later {
                *seen = Some(revision);
            }
            later
        });
    }

    fn note(&self, revision: Option<Revision>) {
        if let Some(revision) = revision {
            self.progress(revision);
        }
    }

    fn tell(&self, changes: &[Change]) {
        for change in changes {
            self.subscribers.tell(change);
        }
    }
}

/// An object that changes hands concerns both controllers.
fn put<K: Watched>(store: &mut Store<K>, key: Key, object: K) -> Vec<Change> {
    let now = change(&object, key.clone());
    let before = store.put(key.clone(), Arc::new(object)).map(|before| change(&*before, key));
    before.into_iter().filter(|before| *before != now).chain([now.clone()]).collect()
}

fn change<K: Watched>(object: &K, key: Key) -> Change {
    let owners = object.meta().owner_references.iter().flatten();
    let controller = owners.filter(|owner| owner.controller == Some(true)).map(|owner| Controller {
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    });
    Change { kind: K::kind(&()).into_owned(), key, controller: controller.into_iter().next() }
}

/// Waiting for a cache of any kind.
pub(super) trait Readiness: Send + Sync {
    fn read_once(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<K: Watched> Readiness for Cache<K> {
    fn read_once(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.seen_at_least(Revision::default()))
    }
}
