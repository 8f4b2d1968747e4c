//! What is known of one kind, how far, and whether at all. Filled by `follow`, read by everyone.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Container, Pod, Volume};
use kube::ResourceExt;
use parking_lot::RwLock;
use tokio::sync::watch;

use super::listen::{Listeners, Seen};
use super::store::{Store, Trait};
use super::{Key, Revision, Watched};

pub struct Cache<K> {
    store: RwLock<Store<K>>,
    /// `None` until the kind has been read once; never `None` again.
    seen: watch::Sender<Option<Revision>>,
    listeners: Arc<Listeners>,
}

impl<K: Watched> Cache<K> {
    pub(super) fn new(listeners: Arc<Listeners>) -> Self {
        Self { store: RwLock::default(), seen: watch::Sender::new(None), listeners }
    }

    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.store.read().get(key).cloned()
    }

    /// Whether an object of this name went lately. What is made anew should not be taken for it.
    pub fn had(&self, key: &Key) -> bool {
        self.store.read().had(key)
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
        let has = |object: &K, wanted: (&str, &str)| object.found_by().any(|label| label == wanted);
        let has_all = |object: &K| labels.iter().all(|(name, value)| has(object, (name, value)));
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

    fn with(&self, wanted: &Trait) -> Vec<Arc<K>> {
        self.store.read().with(wanted).map(|(_, object)| object.clone()).collect()
    }

    /// Puts a whole reading in the place of what was known, and tells what differs.
    pub fn replace(&self, objects: Vec<K>, revision: Revision) {
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
                    let now = kept(object);
                    changes.push((key.clone(), store.put(key, now.clone()), Some(now)));
                }
            }
            for key in gone {
                let before = store.remove(&key);
                changes.push((key, before, None));
            }
        }
        // A server restored from a backup may be behind what we had seen.
        self.seen.send_replace(Some(revision));
        for (key, before, now) in &changes {
            self.tell(key, before.as_ref(), now.as_ref());
        }
    }

    /// The object came or changed.
    pub fn put(&self, object: K) {
        let revision = Revision::of(object.meta());
        let (key, now) = (Key::of(&object), kept(object));
        let before = self.store.write().put(key.clone(), now.clone());
        self.note(revision);
        self.tell(&key, before.as_ref(), Some(&now));
    }

    /// The object went; this is what it last was.
    pub fn remove(&self, object: K) {
        let revision = Revision::of(object.meta());
        let (key, last) = (Key::of(&object), kept(object));
        self.store.write().remove(&key);
        self.note(revision);
        self.tell(&key, Some(&last), None);
    }

    /// The watch has come this far although nothing changed.
    pub fn progress(&self, revision: Revision) {
        // Whoever waits for an object looks again whenever anything moved, so every step is told.
        self.seen.send_modify(|seen| *seen = (*seen).max(Some(revision)));
    }

    fn note(&self, revision: Option<Revision>) {
        if let Some(revision) = revision {
            self.progress(revision);
        }
    }

    fn tell(&self, key: &Key, before: Option<&Arc<K>>, now: Option<&Arc<K>>) {
        self.listeners.tell(&Seen::new(&K::kind(&()), key, before, now));
    }

    /// `seen` is handed in: whoever waits holds it, and asking for it twice at once would wait for a writer who waits for us.
    fn meets(&self, wait: &Wait, seen: Option<Revision>) -> bool {
        match &wait.what {
            Until::Seen(revision) => seen >= Some(*revision),
            Until::Leaving { key, uid } => self.store.read().get(key).is_none_or(|object| {
                object.meta().uid.as_ref() != Some(uid) || object.meta().deletion_timestamp.is_some()
            }),
        }
    }
}

fn kept<K: Watched>(mut object: K) -> Arc<K> {
    lighten(&mut object);
    Arc::new(object)
}

/// Who wrote which field is nobody's business here, and is half of what an object weighs.
fn lighten<K: Watched>(object: &mut K) {
    object.meta_mut().managed_fields = None;
    if let Some(pod) = (object as &mut dyn Any).downcast_mut::<Pod>() {
        lighten_pod(pod);
    }
}

/// Of the most frequent kind, what only its node needs is left out: it is most of the rest. What is written is what differs
/// from what was read, so nobody takes these fields for absent.
fn lighten_pod(pod: &mut Pod) {
    let Some(spec) = &mut pod.spec else { return };
    let volumes = spec.volumes.take().into_iter().flatten();
    let kept: Vec<_> = volumes.filter(says_where).collect();
    spec.volumes = Some(kept).filter(|kept| !kept.is_empty());
    let init = spec.init_containers.iter_mut().flatten();
    for container in spec.containers.iter_mut().chain(init) {
        *container = Container {
            name: std::mem::take(&mut container.name),
            image: container.image.take(),
            ports: container.ports.take(),
            resources: container.resources.take(),
            restart_policy: container.restart_policy.take(),
            ..Container::default()
        };
    }
    spec.containers.shrink_to_fit();
}

/// Claims, and disks of which not every node can have one: they matter to where a pod can run.
fn says_where(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some()
        || volume.ephemeral.is_some()
        || volume.csi.is_some()
        || volume.gce_persistent_disk.is_some()
        || volume.aws_elastic_block_store.is_some()
        || volume.iscsi.is_some()
        || volume.rbd.is_some()
}

/// Something that a cache does not show yet: what one of our own writes did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// `Pod`
    pub kind: String,
    pub what: Until,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    Seen(Revision),
    /// The object is marked as leaving, or gone. A deletion's answer has no revision to wait for.
    Leaving {
        key: Key,
        uid: String,
    },
}

/// A cache of any kind: how far it has come, and how it is filled with what is still JSON.
pub(super) trait Filled: Send + Sync {
    fn kind(&self) -> Cow<'static, str>;
    /// Where the kind's objects are in the API.
    fn path(&self) -> String;
    fn seen(&self) -> Option<Revision>;
    fn is_met(&self, wait: &Wait) -> bool;
    fn until<'a>(&'a self, wait: &'a Wait) -> BoxFuture<'a, ()>;
    fn seen_at_least(&self, revision: Revision) -> BoxFuture<'_, ()>;
    fn read_put(&self, object: &[u8]) -> Result<(), serde_json::Error>;
    fn read_remove(&self, object: &[u8]) -> Result<(), serde_json::Error>;
    fn come_to(&self, revision: Revision);
    fn reading(self: Arc<Self>) -> Box<dyn Reading>;
}

/// All objects of a kind, one after the other. Nobody sees any of them before the last has come.
pub(super) trait Reading: Send {
    fn add(&mut self, object: &[u8]) -> Result<(), serde_json::Error>;
    fn leave_out(&mut self, object: &[u8]) -> Result<(), serde_json::Error>;
    fn finish(self: Box<Self>, revision: Revision);
}

impl<K: Watched> Filled for Cache<K> {
    fn kind(&self) -> Cow<'static, str> {
        K::kind(&())
    }

    fn path(&self) -> String {
        K::url_path(&(), None)
    }

    fn seen(&self) -> Option<Revision> {
        Self::seen(self)
    }

    fn is_met(&self, wait: &Wait) -> bool {
        self.meets(wait, Self::seen(self))
    }

    fn until<'a>(&'a self, wait: &'a Wait) -> BoxFuture<'a, ()> {
        // The sender lives in this cache, so waiting can't fail.
        async move { drop(self.seen.subscribe().wait_for(|seen| self.meets(wait, *seen)).await) }.boxed()
    }

    fn seen_at_least(&self, revision: Revision) -> BoxFuture<'_, ()> {
        async move { drop(self.seen.subscribe().wait_for(|seen| *seen >= Some(revision)).await) }.boxed()
    }

    fn read_put(&self, object: &[u8]) -> Result<(), serde_json::Error> {
        K::read(object).map(|object| self.put(object))
    }

    fn read_remove(&self, object: &[u8]) -> Result<(), serde_json::Error> {
        K::read(object).map(|object| self.remove(object))
    }

    fn come_to(&self, revision: Revision) {
        self.progress(revision);
    }

    fn reading(self: Arc<Self>) -> Box<dyn Reading> {
        Box::new(Pile { objects: Vec::new(), cache: self })
    }
}

struct Pile<K> {
    objects: Vec<K>,
    cache: Arc<Cache<K>>,
}

impl<K: Watched> Reading for Pile<K> {
    fn add(&mut self, object: &[u8]) -> Result<(), serde_json::Error> {
        let mut object = K::read(object)?;
        // At once: thousands of them are held until the last has come.
        lighten(&mut object);
        self.objects.push(object);
        Ok(())
    }

    fn leave_out(&mut self, object: &[u8]) -> Result<(), serde_json::Error> {
        let gone = K::read(object)?;
        self.objects.retain(|other| other.meta().uid != gone.meta().uid);
        Ok(())
    }

    fn finish(self: Box<Self>, revision: Revision) {
        self.cache.replace(self.objects, revision);
    }
}
