//! What the scheduler knows: the cluster, who waits, and which bindings the watch does not show yet. Every change goes through
//! here, so that the three never disagree and whoever may be helped by it is woken. Knows no API.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Namespace, Node as NodeObject, PersistentVolume, PersistentVolumeClaim, Pod,
};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use kedge_engine::{Seen, World};

use crate::cluster::Cluster;
use crate::config::Config;
use crate::decide::Profile;
use crate::node::NodeFacts;
use crate::plugin::{Change, Filter};
use crate::pod::PodView;
use crate::queue::Queue;

pub(crate) struct State {
    pub(crate) cluster: Cluster,
    pub(crate) queue: Queue,
    pub(crate) profiles: Vec<Profile>,
    /// Pods that are bound, or about to be, although the watch has not shown it yet; by uid, with their node.
    assumed: HashMap<String, Arc<str>>,
    /// Where the next search among many nodes begins.
    pub(crate) start: usize,
}

impl State {
    pub(crate) fn new(world: World, config: &Config, profiles: Vec<Profile>) -> Self {
        let (first, longest) = config.backoff();
        Self {
            cluster: Cluster::new(world),
            queue: Queue::new(first, longest),
            profiles,
            assumed: HashMap::new(),
            start: 0,
        }
    }

    pub(crate) fn profile(&self, pod: &PodView) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.scheduler == pod.scheduler)
    }

    /// `pod` is what was seen, if it was a pod. Returns whether somebody's turn has come nearer.
    pub(crate) fn saw(&mut self, seen: &Seen<'_>, pod: Option<PodView>, now: Timestamp) -> bool {
        if seen.is::<Pod>() {
            let before = seen.before::<Pod>().and_then(|pod| pod.metadata.uid.as_deref());
            return self.saw_pod(before, pod, now);
        }
        if seen.is::<NodeObject>() {
            return match seen.now::<NodeObject>() {
                Some(node) => self.put_node(node, now),
                None => {
                    self.cluster.remove_node(&seen.key.name);
                    self.wake(&Change::NodeGone(&seen.key.name), now)
                }
            };
        }
        if seen.is::<Namespace>() {
            return self.put_namespace(&seen.key.name, seen.now::<Namespace>(), now);
        }
        // What goes helps nobody.
        let is_storage = seen.is::<PersistentVolumeClaim>()
            || seen.is::<PersistentVolume>()
            || seen.is::<StorageClass>()
            || seen.is::<CSINode>()
            || seen.is::<CSIDriver>()
            || seen.is::<CSIStorageCapacity>()
            || seen.is::<VolumeAttachment>();
        is_storage && {
            let (namespace, name) = (&*seen.key.namespace, &*seen.key.name);
            self.wake(&Change::Storage { kind: seen.kind, namespace, name }, now)
        }
    }

    pub(crate) fn put_namespace(
        &mut self,
        name: &str,
        namespace: Option<&Namespace>,
        now: Timestamp,
    ) -> bool {
        let labels = namespace.map(|namespace| namespace.metadata.labels.clone().unwrap_or_default());
        self.cluster.put_namespace(name, labels) && self.wake(&Change::Namespace(name), now)
    }

    pub(crate) fn put_node(&mut self, node: &NodeObject, now: Timestamp) -> bool {
        let facts = NodeFacts::of(node);
        let name = facts.name.clone();
        let before = self.cluster.put_node(facts);
        let Self { cluster, queue, profiles, .. } = self;
        let Some(node) = cluster.node(&name) else { return false };
        match &before {
            None => wake(queue, profiles, &Change::NodeAdded(node), now),
            Some(before) if **before == *node.facts => false,
            Some(before) => wake(queue, profiles, &Change::NodeChanged { before, now: node }, now),
        }
    }

    /// `before` is the uid of what was there under this name.
    pub(crate) fn saw_pod(&mut self, before: Option<&str>, view: Option<PodView>, now: Timestamp) -> bool {
        let mut woken = false;
        if let Some(uid) = before.filter(|uid| view.as_ref().is_none_or(|view| view.uid != **uid)) {
            woken |= self.remove_pod(uid, now);
        }
        match view {
            Some(view) => self.put_pod(view, now) || woken,
            None => woken,
        }
    }

    /// A pod that is bound as far as we know.
    pub(crate) fn assume(&mut self, pod: &PodView, node: &Arc<str>, now: Timestamp) {
        self.assumed.insert(pod.uid.clone(), node.clone());
        let placed = Arc::new(pod.placed_on(node));
        self.cluster.put_pod(placed.clone());
        self.wake(&Change::PodPlaced(&placed), now);
    }

    /// It was not bound after all; this is how the world shows it.
    pub(crate) fn forget(&mut self, pod: &PodView, shown: Option<&Pod>, now: Timestamp) {
        self.assumed.remove(&pod.uid);
        self.queue.rest(&pod.uid);
        let shown = shown.filter(|shown| shown.metadata.uid.as_deref() == Some(&pod.uid));
        self.saw_pod(Some(&pod.uid), shown.map(PodView::of), now);
    }

    /// Room is being made for a pod, or no longer, before the watch shows it.
    pub(crate) fn nominate(&mut self, pod: &PodView, node: Option<&Arc<str>>) {
        let view = PodView { nominated: node.cloned(), ..pod.clone() };
        self.cluster.put_pod(Arc::new(view));
    }

    pub(crate) fn put_pod(&mut self, mut view: PodView, now: Timestamp) -> bool {
        let uid = view.uid.clone();
        let waits = view.node.is_none() && !view.leaving && !view.ended;
        match self.assumed.get(&uid) {
            // Something else of it has changed, before it was bound.
            Some(node) if waits => view = view.placed_on(node),
            Some(_) => drop(self.assumed.remove(&uid)),
            None => {}
        }
        let view = Arc::new(view);
        let was_nominated = self.cluster.nominee(&uid).is_some();
        let before = self.cluster.put_pod(view.clone());
        let is_placed = view.node.is_some() && !view.ended;
        let mut woken = match (&before, is_placed) {
            (None, true) => self.wake(&Change::PodPlaced(&view), now),
            (Some(before), false) => self.wake(&Change::PodGone(before), now),
            (Some(before), true) if differs(before, &view) => {
                self.wake(&Change::PodChanged { before, now: &view }, now)
            }
            (None, false) if was_nominated && self.cluster.nominee(&uid).is_none() => {
                self.wake(&Change::PodGone(&view), now)
            }
            _ => false,
        };
        if view.node.is_none() && waits && self.profile(&view).is_some() {
            woken |= self.queue.put(view, now);
        } else if !self.assumed.contains_key(&uid) {
            self.queue.remove(&uid);
        }
        woken
    }

    fn remove_pod(&mut self, uid: &str, now: Timestamp) -> bool {
        self.assumed.remove(uid);
        self.queue.remove(uid);
        let nominee = self.cluster.nominee(uid).cloned();
        let nominee = nominee
            .and_then(|node| self.cluster.nominated_to(&node).iter().find(|pod| pod.uid == uid).cloned());
        match self.cluster.remove_pod(uid).or(nominee) {
            Some(gone) => self.wake(&Change::PodGone(&gone), now),
            None => false,
        }
    }

    fn wake(&mut self, change: &Change<'_>, now: Timestamp) -> bool {
        wake(&mut self.queue, &self.profiles, change, now)
    }
}

fn wake(queue: &mut Queue, profiles: &[Profile], change: &Change<'_>, now: Timestamp) -> bool {
    let mut filters = profiles.iter().flat_map(|profile| &profile.filters);
    let is_asked = |filter: &Arc<dyn Filter>| queue.waits_for(filter.name()) && filter.minds(change);
    if !queue.has_helpless() && !filters.any(is_asked) {
        return false;
    }
    let helps = |pod: &PodView, plugins: &BTreeSet<&'static str>| {
        let Some(profile) = profiles.iter().find(|profile| profile.scheduler == pod.scheduler) else {
            return false;
        };
        let mut asked = profile.filters.iter().filter(|filter| plugins.contains(filter.name()));
        asked.any(|filter| filter.minds(change) && filter.helped_by(pod, change))
    };
    queue.wake(now, helps)
}

/// Whether a pod that stays on its node is another for those who wait.
fn differs(before: &PodView, now: &PodView) -> bool {
    before.labels != now.labels || before.requests != now.requests || before.leaving != now.leaving
}

#[cfg(test)]
mod tests;
