//! Which nodes a DaemonSet is meant for, and which of its pods are on them or on their way to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use kedge_children::placement::{NAME_FIELD, is_tolerated, is_wanted};
use kedge_children::pods::PodFacts;
use kedge_engine::{NotReady, World};
use kube::ResourceExt;

use super::pods::tolerant;
use super::spelling::min_ready_seconds;
use crate::revisions::Revised;

/// What a pod is to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It should run there.
    Meant,
    /// It may stay if it is there already.
    Borne,
    Forbidden,
}

/// What a set's pods ask of a node.
pub(super) struct Demand(PodSpec);

impl Demand {
    pub(super) fn of(set: &DaemonSet) -> Self {
        let spec = set.template().and_then(|template| template.spec.as_ref());
        let mut asked = PodSpec {
            affinity: spec.and_then(|spec| spec.affinity.clone()),
            node_selector: spec.and_then(|spec| spec.node_selector.clone()),
            node_name: spec.and_then(|spec| spec.node_name.clone()).filter(|name| !name.is_empty()),
            host_network: spec.and_then(|spec| spec.host_network),
            tolerations: spec.and_then(|spec| spec.tolerations.clone()),
            ..PodSpec::default()
        };
        tolerant(&mut asked);
        Self(asked)
    }

    pub(super) fn on(&self, node: &Node) -> Place {
        let Self(asked) = self;
        if asked.node_name.as_ref().is_some_and(|name| Some(name) != node.metadata.name.as_ref())
            || !is_wanted(asked, node)
        {
            return Place::Forbidden;
        }
        let tolerations = asked.tolerations.as_deref().unwrap_or_default();
        if is_tolerated(tolerations, node, &["NoSchedule", "NoExecute"]) {
            Place::Meant
        } else if is_tolerated(tolerations, node, &["NoExecute"]) {
            Place::Borne
        } else {
            Place::Forbidden
        }
    }
}

/// Whether two states of a node are the same to every set.
pub(super) fn are_alike(before: &Node, now: &Node) -> bool {
    let taints = |node: &Node| node.spec.as_ref().and_then(|spec| spec.taints.clone());
    before.metadata.labels == now.metadata.labels && taints(before) == taints(now)
}

/// One node with a set's pods on it, the oldest first; such as have been placed before those that are on their way.
pub(super) struct Spot {
    pub(super) node: String,
    /// `None` if there is no such node.
    pub(super) place: Option<Place>,
    pub(super) pods: Vec<Arc<Pod>>,
}

impl Spot {
    pub(super) fn is_meant(&self) -> bool {
        self.place == Some(Place::Meant)
    }

    /// Pods that nobody has told to go.
    pub(super) fn staying(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.iter().filter(|pod| !pod.is_leaving())
    }
}

/// All nodes, in order of their names.
pub(super) struct Nodes {
    pub(super) spots: Vec<Spot>,
}

impl Nodes {
    pub(super) fn of(set: &DaemonSet, mine: &[Arc<Pod>], world: &World) -> Result<Self, NotReady> {
        let demand = Demand::of(set);
        let mut spots: BTreeMap<String, Spot> = BTreeMap::new();
        for node in world.cache::<Node>()?.all() {
            let name = node.name_any();
            let spot = Spot { node: name.clone(), place: Some(demand.on(&node)), pods: Vec::new() };
            spots.insert(name, spot);
        }
        for pod in mine {
            // One that has ended and been told to go is as good as gone.
            if pod.is_leaving() && matches!(pod.phase(), "Succeeded" | "Failed") {
                continue;
            }
            let Some(node) = target(pod) else { continue };
            let none = || Spot { node: node.to_owned(), place: None, pods: Vec::new() };
            spots.entry(node.to_owned()).or_insert_with(none).pods.push(pod.clone());
        }
        let mut spots: Vec<Spot> = spots.into_values().collect();
        for spot in &mut spots {
            spot.pods.sort_by_key(|pod| {
                (pod.node().is_none(), pod.creation_timestamp().map(|time| time.0), pod.name_any())
            });
        }
        Ok(Self { spots })
    }

    /// On how many nodes there should be a pod.
    pub(super) fn meant(&self) -> usize {
        self.spots.iter().filter(|spot| spot.is_meant()).count()
    }

    /// When the next pod will have been ready for long enough.
    pub(super) fn next_change(&self, set: &DaemonSet, now: Timestamp) -> Option<Timestamp> {
        let pods = self.spots.iter().flat_map(|spot| &spot.pods);
        let from = pods.filter_map(|pod| pod.available_from(min_ready_seconds(set)));
        from.filter(|moment| *moment > now).min()
    }
}

pub(super) fn is_available(set: &DaemonSet, pod: &Pod, now: Timestamp) -> bool {
    pod.available_from(min_ready_seconds(set)).is_some_and(|from| from <= now)
}

/// The node that a pod is on, or that it was made for.
fn target(pod: &Pod) -> Option<&str> {
    if let Some(node) = pod.node() {
        return Some(node);
    }
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = required.node_selector_terms.iter().flat_map(|term| term.match_fields.iter().flatten());
    let mut named = fields.filter(|field| field.key == NAME_FIELD && field.operator == "In");
    match named.next()?.values.as_deref()? {
        [node] => Some(node),
        _ => None,
    }
}
