//! Keeps the graph equal to the cluster: the metadata of every kind that can be watched and deleted, found out anew whenever
//! a definition changes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Key, Resource, TurnError, Wake};
use kube::Resource as _;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{Discovery, Scope, verbs};
use kube::runtime::{WatchStreamExt, watcher};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::graph::{Graph, Node, Reference};
use super::known::Known;

/// Definitions seldom come alone.
const SETTLE: Duration = Duration::from_millis(100);
const RETRY: Duration = Duration::from_secs(5);

pub(super) struct Feed {
    shared: Arc<Shared>,
    task: Mutex<Option<AbortHandle>>,
}

struct Shared {
    client: Client,
    clock: Clock,
    graph: Arc<Mutex<Graph>>,
    kinds: Mutex<HashMap<Arc<Resource>, Kind>>,
    defined: Notify,
}

struct Kind {
    api: ApiResource,
    namespaced: bool,
    task: AbortHandle,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.lock().take().iter().for_each(AbortHandle::abort);
        self.shared.kinds.lock().drain().for_each(|(_, kind)| kind.task.abort());
    }
}

/// What became of looking for an owner.
pub(super) enum Found {
    There(Node),
    Absent,
    Misplaced,
}

impl Feed {
    pub(super) fn new(client: Client, clock: Clock, graph: Arc<Mutex<Graph>>) -> Self {
        let shared = Shared { client, clock, graph, kinds: Mutex::default(), defined: Notify::new() };
        Self { shared: Arc::new(shared), task: Mutex::default() }
    }

    pub(super) fn start(&self, wake: Wake) {
        let task = tokio::spawn(keep_kinds(self.shared.clone(), wake));
        *self.task.lock() = Some(task.abort_handle());
    }

    /// Asks the API itself for an owner. A kind that nobody serves proves nothing about its objects.
    pub(super) async fn find(&self, owner: &Reference, namespace: &str) -> Result<Found, TurnError> {
        let failed = |source: kube::Error| TurnError::Failed {
            action: format!("look for {} {}", owner.kind, owner.name),
            source: Box::new(source),
        };
        let known = self.kind(owner);
        let (resource, api, namespaced) = match known {
            Some(known) => known,
            None => {
                let gvk = gvk(owner);
                let (api, capabilities) =
                    kube::discovery::pinned_kind(&self.shared.client, &gvk).await.map_err(failed)?;
                let namespaced = capabilities.scope == Scope::Namespaced;
                (Arc::new(resource(&api)), api, namespaced)
            }
        };
        // Nothing that lies in a namespace can own what lies in none; which namespace was meant, nobody knows.
        if namespaced && namespace.is_empty() {
            return Ok(Found::Misplaced);
        }
        let objects: Api<DynamicObject> = match namespaced {
            true => Api::namespaced_with(self.shared.client.clone(), namespace, &api),
            false => Api::all_with(self.shared.client.clone(), &api),
        };
        let found = objects.get_metadata_opt(&owner.name).await.map_err(failed)?;
        let node = found.map(|found| Node::of(&resource, namespaced, &found.metadata));
        Ok(node.filter(|node| node.uid == owner.uid).map_or(Found::Absent, Found::There))
    }

    fn kind(&self, owner: &Reference) -> Option<(Arc<Resource>, ApiResource, bool)> {
        let gvk = gvk(owner);
        let kinds = self.shared.kinds.lock();
        let found =
            kinds.iter().find(|(resource, _)| resource.kind == gvk.kind && resource.group == gvk.group);
        found.map(|(resource, kind)| (resource.clone(), kind.api.clone(), kind.namespaced))
    }
}

fn gvk(owner: &Reference) -> GroupVersionKind {
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
    GroupVersionKind::gvk(group, version, &owner.kind)
}

fn resource(api: &ApiResource) -> Resource {
    Resource {
        group: api.group.clone(),
        version: api.version.clone(),
        kind: api.kind.clone(),
        plural: api.plural.clone(),
    }
}

/// Never ends; follows the kinds that there are.
async fn keep_kinds(shared: Arc<Shared>, wake: Wake) {
    loop {
        match Discovery::new(shared.client.clone()).run_aggregated().await {
            Ok(found) => {
                follow_kinds(&shared, &found, &wake);
                shared.defined.notified().await;
                shared.clock.sleep(SETTLE).await;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot find out which kinds there are");
                shared.clock.sleep(RETRY).await;
            }
        }
    }
}

fn follow_kinds(shared: &Arc<Shared>, found: &Discovery, wake: &Wake) {
    let mut there = HashSet::new();
    let resources = found.groups().flat_map(|group| group.recommended_resources());
    for (api, capabilities) in resources {
        let can = [verbs::LIST, verbs::WATCH, verbs::DELETE, verbs::PATCH];
        // Events own nothing, are owned by nobody and come by the thousand.
        if api.kind == "Event" || !can.iter().all(|verb| capabilities.supports_operation(verb)) {
            continue;
        }
        let resource = Arc::new(resource(&api));
        there.insert(resource.clone());
        let namespaced = capabilities.scope == Scope::Namespaced;
        let mut kinds = shared.kinds.lock();
        kinds.entry(resource.clone()).or_insert_with(|| {
            let follower = follow(shared.clone(), resource, api.clone(), namespaced, wake.clone());
            Kind { api, namespaced, task: tokio::spawn(follower).abort_handle() }
        });
    }
    let gone: Vec<Arc<Resource>> =
        shared.kinds.lock().keys().filter(|resource| !there.contains(*resource)).cloned().collect();
    for resource in gone {
        let kind = shared.kinds.lock().remove(&resource);
        kind.iter().for_each(|kind| kind.task.abort());
        forget_all(&shared.graph, &resource, wake);
    }
}

/// Nothing of this kind is there any more.
pub(super) fn forget_all(graph: &Mutex<Graph>, resource: &Resource, wake: &Wake) {
    // The lock is not held while each is forgotten, which takes it again.
    let known = graph.lock().uids(resource);
    known.iter().for_each(|uid| forget(graph, uid, wake));
}

fn forget(graph: &Mutex<Graph>, uid: &str, wake: &Wake) {
    let woken = graph.lock().remove(uid);
    woken.into_iter().for_each(|uid| wake(Key::new("", uid)));
}

async fn follow(
    shared: Arc<Shared>,
    resource: Arc<Resource>,
    api: ApiResource,
    namespaced: bool,
    wake: Wake,
) {
    let objects: Api<Known> = Api::all_with(shared.client.clone(), &api);
    let config = watcher::Config::default().streaming_lists();
    let events = watcher(objects, config).default_backoff();
    let mut events = std::pin::pin!(events.into_stream());
    let mut reading: HashSet<String> = HashSet::new();
    let put = |object: &Known| {
        let woken = shared.graph.lock().put(Node::of(&resource, namespaced, &object.metadata));
        woken.into_iter().for_each(|uid| wake(Key::new("", uid)));
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => reading.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                reading.extend(object.meta().uid.clone());
                put(&object);
            }
            Ok(watcher::Event::InitDone) => {
                let known = shared.graph.lock().uids(&resource);
                known
                    .iter()
                    .filter(|uid| !reading.contains(*uid))
                    .for_each(|uid| forget(&shared.graph, uid, &wake));
                reading = HashSet::new();
            }
            Ok(watcher::Event::Apply(object)) => put(&object),
            Ok(watcher::Event::Delete(object)) => {
                forget(&shared.graph, object.metadata.uid.as_deref().unwrap_or_default(), &wake);
            }
            Err(error) => tracing::debug!(kind = resource.kind, %error, "watching broke off"),
        }
        if resource.kind == "CustomResourceDefinition" {
            shared.defined.notify_one();
        }
    }
}
