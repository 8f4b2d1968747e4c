//! Watches of single objects, one for each that some pod here uses. Nodes may not see more than those; whoever wants the same
//! object shares the watch, and it ends with its last user.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kedge_client::{Client, Event, Events, Objects};
use kedge_clock::Clock;
use kube::Resource;
use kube::api::ListParams;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Between two attempts at an API that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What is known of an object.
#[derive(Clone, Debug)]
pub(super) enum Seen<K> {
    Unknown,
    Absent,
    There(Arc<K>),
}

pub(super) type Follow<K> = watch::Receiver<Seen<K>>;

#[derive(Default)]
pub(crate) struct Watches {
    pub(super) maps: Watched<ConfigMap>,
    pub(super) secrets: Watched<Secret>,
}

type Key = (String, String);
type Tell<K> = Arc<watch::Sender<Seen<K>>>;

pub(super) struct Watched<K> {
    live: Arc<Mutex<HashMap<Key, Tell<K>>>>,
}

impl<K> Default for Watched<K> {
    fn default() -> Self {
        Self { live: Arc::default() }
    }
}

/// An object that may promise never to change again.
pub(super) trait Promises: kedge_client::Watched {
    fn is_immutable(&self) -> bool;
}

impl Promises for ConfigMap {
    fn is_immutable(&self) -> bool {
        self.immutable == Some(true)
    }
}

impl Promises for Secret {
    fn is_immutable(&self) -> bool {
        self.immutable == Some(true)
    }
}

impl<K> Watched<K>
where
    K: Promises + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    /// What an object is, and becomes.
    pub(super) fn follow(&self, client: &Client, clock: &Clock, namespace: &str, name: &str) -> Follow<K> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut live = self.live.lock();
        if let Some(tell) = live.get(&key) {
            return tell.subscribe();
        }
        let (tell, seen) = watch::channel(Seen::Unknown);
        let tell = Arc::new(tell);
        live.insert(key.clone(), tell.clone());
        let objects = Objects::within(client, namespace);
        tokio::spawn(serve(objects, clock.clone(), key, tell, self.live.clone()));
        seen
    }
}

async fn serve<K: Promises>(
    objects: Objects<K>,
    clock: Clock,
    key: Key,
    tell: Tell<K>,
    live: Arc<Mutex<HashMap<Key, Tell<K>>>>,
) {
    loop {
        let only = ListParams::default().fields(&format!("metadata.name={}", key.1));
        tokio::select! {
            () = tell.closed() => {}
            // It never changes again, so there is nothing more to do than to know it.
            () = look(objects.events(only), &clock, &tell) => tell.closed().await,
        }
        let mut live = live.lock();
        // Somebody may have come just now.
        if tell.receiver_count() == 0 {
            live.remove(&key);
            return;
        }
    }
}

/// Until the object promises not to change.
async fn look<K: Promises>(mut events: Events<K>, clock: &Clock, tell: &watch::Sender<Seen<K>>) {
    while let Some(told) = events.next().await {
        let seen = match told {
            Ok(Event::All(mut objects)) => objects.pop(),
            Ok(Event::Put(object)) => Some(object),
            Ok(Event::Gone(_)) => None,
            Err(_) => {
                clock.sleep(PAUSE).await;
                continue;
            }
        };
        let Some(mut object) = seen else {
            tell.send_replace(Seen::Absent);
            continue;
        };
        object.meta_mut().managed_fields = None;
        let is_last = object.is_immutable();
        tell.send_replace(Seen::There(Arc::new(object)));
        if is_last {
            return;
        }
    }
}
