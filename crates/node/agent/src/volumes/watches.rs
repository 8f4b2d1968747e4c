//! Watches of single objects, one for each that some pod here uses. Nodes may not see more than those; whoever wants the same
//! object shares the watch, and it ends with its last user.

use std::collections::HashMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kedge_clock::Clock;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
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
pub(super) trait Promises {
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
    K: Resource<Scope = NamespaceResourceScope> + Promises + Clone + Debug + DeserializeOwned + Send + Sync,
    K: 'static,
    K::DynamicType: Default,
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
        let api = Api::<K>::namespaced(client.clone(), namespace);
        tokio::spawn(serve(api, clock.clone(), key, tell, self.live.clone()));
        seen
    }
}

async fn serve<K>(api: Api<K>, clock: Clock, key: Key, tell: Tell<K>, live: Arc<Mutex<HashMap<Key, Tell<K>>>>)
where
    K: Resource + Promises + Clone + Debug + DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
{
    loop {
        tokio::select! {
            () = tell.closed() => {}
            // It never changes again, so there is nothing more to do than to know it.
            () = look(api.clone(), &clock, &key.1, &tell) => tell.closed().await,
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
async fn look<K>(api: Api<K>, clock: &Clock, name: &str, tell: &watch::Sender<Seen<K>>)
where
    K: Resource + Promises + Clone + Debug + DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = pin!(watcher::watcher(api, config));
    let mut listed = None;
    loop {
        let seen = match events.try_next().await {
            Ok(Some(Event::Init)) => {
                listed = None;
                continue;
            }
            Ok(Some(Event::InitApply(object))) => {
                listed = Some(object);
                continue;
            }
            Ok(Some(Event::InitDone)) => listed.take(),
            Ok(Some(Event::Apply(object))) => Some(object),
            Ok(Some(Event::Delete(_))) => None,
            Ok(None) | Err(_) => {
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
