//! The world as the API last showed it: one watch and one cache for each kind, shared by everyone in the process.
//! Knows no controller and writes nothing. What could not be read is never shown as empty.

mod cache;
mod follow;
mod kinds;
mod listen;
mod store;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_clock::Clock;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use self::cache::Filled;
pub use self::cache::{Cache, Until, Wait};
pub use self::kinds::{Watched, Written, read, write};
#[doc(hidden)]
pub use self::listen::Listeners;
pub use self::listen::{Listener, Seen};

/// Where an object is among those of its kind. Cluster-scoped objects have an empty namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    pub fn of(object: &impl ResourceExt) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// A moment in the store's history; later ones are greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    pub fn parse(resource_version: &str) -> Option<Self> {
        resource_version.parse().ok().map(Self)
    }

    /// The revision of an object that came from the server.
    pub fn of(meta: &ObjectMeta) -> Option<Self> {
        Self::parse(meta.resource_version.as_deref()?)
    }
}

/// Why nothing can be said about a kind yet. Not the same as "there are none".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("{0} are not watched")]
    NotWatched(&'static str),
    #[error("{0} have not been read yet")]
    NotRead(&'static str),
}

/// Cheap to clone; clones share their caches. Watching ends with the last clone.
#[derive(Clone)]
pub struct World {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` where somebody else feeds the caches.
    source: Option<(Client, Clock)>,
    kinds: Mutex<HashMap<TypeId, Kind>>,
    listeners: Arc<Listeners>,
}

struct Kind {
    shelf: Shelf,
    task: Option<AbortHandle>,
}

/// A kind's cache, for those who know the kind and for those who don't.
#[doc(hidden)]
pub struct Shelf {
    /// An `Arc<Cache<K>>` for the kind's own type.
    cache: Arc<dyn Any + Send + Sync>,
    filled: Arc<dyn Filled>,
}

impl Shelf {
    pub fn of<K: Watched>(listeners: &Arc<Listeners>) -> Self {
        let cache = Arc::new(Cache::<K>::new(listeners.clone()));
        Self { cache: cache.clone(), filled: cache }
    }
}

impl Shared {
    fn fill(&self, shelf: &Shelf) -> Option<AbortHandle> {
        let (client, clock) = self.source.clone()?;
        Some(tokio::spawn(follow::follow(client, clock, shelf.filled.clone())).abort_handle())
    }
}

impl Drop for Kind {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl World {
    /// A world that watches the API.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self::of(Some((client, clock)))
    }

    /// A world in which nothing happens but what its holder feeds into its caches.
    pub fn by_hand() -> Self {
        Self::of(None)
    }

    fn of(source: Option<(Client, Clock)>) -> Self {
        let shared = Shared { source, kinds: Mutex::default(), listeners: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Watches a kind from now on, in all namespaces. Watching it twice is watching it once.
    /// Needs a running tokio runtime, unless it is fed by hand.
    pub fn watch<K: Watched>(&self) -> &Self {
        self.feed::<K>();
        self
    }

    /// The kind's cache, to be filled: by the watch, or by whoever feeds a world by hand.
    pub fn feed<K: Watched>(&self) -> Arc<Cache<K>> {
        let mut kinds = self.shared.kinds.lock();
        let kind = kinds.entry(TypeId::of::<K>()).or_insert_with(|| {
            let shelf = K::shelf(&self.shared.listeners);
            Kind { task: self.shared.fill(&shelf), shelf }
        });
        kind.shelf.cache.clone().downcast().unwrap_or_else(|_| Arc::new(Cache::new(Arc::default())))
    }

    /// Waits until every kind that is watched now has been read once.
    pub async fn ready(&self) {
        let kinds: Vec<_> = self.shared.kinds.lock().values().map(|kind| kind.shelf.filled.clone()).collect();
        for kind in kinds {
            kind.seen_at_least(Revision::default()).await;
        }
    }

    /// What is known of a kind. Fails until the kind has been read once.
    pub fn cache<K: Watched>(&self) -> Result<Arc<Cache<K>>, NotReady> {
        let cache = self.watched::<K>().ok_or(NotReady::NotWatched(std::any::type_name::<K>()))?;
        if cache.is_ready() { Ok(cache) } else { Err(NotReady::NotRead(std::any::type_name::<K>())) }
    }

    /// One object, or `None` if there is none.
    pub fn get<K: Watched>(&self, key: &Key) -> Result<Option<Arc<K>>, NotReady> {
        Ok(self.cache::<K>()?.get(key))
    }

    /// Waits until this kind's watch has shown everything up to a revision: after our own write, so that nobody plans on
    /// a world older than it.
    pub async fn catch_up_to<K: Watched>(&self, revision: Revision) -> Result<(), NotReady> {
        let cache = self.watched::<K>().ok_or(NotReady::NotWatched(std::any::type_name::<K>()))?;
        cache.seen_at_least(revision).await;
        Ok(())
    }

    /// Waits until a write can be seen. What nobody watches is never waited for.
    pub async fn catch_up(&self, wait: &Wait) {
        if let Some(kind) = self.named(&wait.kind) {
            kind.until(wait).await;
        }
    }

    /// Whether a write can be seen already.
    pub fn has_caught_up(&self, wait: &Wait) -> bool {
        self.named(&wait.kind).is_none_or(|kind| kind.is_met(wait))
    }

    /// Tells a listener from now on what changes, for as long as it lives.
    pub fn listen<L: Listener + 'static>(&self, listener: &Arc<L>) {
        let listener: Weak<L> = Arc::downgrade(listener);
        self.shared.listeners.add(listener);
    }

    fn watched<K: Watched>(&self) -> Option<Arc<Cache<K>>> {
        let kinds = self.shared.kinds.lock();
        kinds.get(&TypeId::of::<K>())?.shelf.cache.clone().downcast().ok()
    }

    fn named(&self, kind: &str) -> Option<Arc<dyn Filled>> {
        let kinds = self.shared.kinds.lock();
        kinds.values().find(|known| known.shelf.filled.kind() == kind).map(|known| known.shelf.filled.clone())
    }
}

#[cfg(test)]
mod tests;
