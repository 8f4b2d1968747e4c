//! A pod as the scheduler sees it: parsed once, when it changes. Knows no node and no plugin.

mod size;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Affinity, Container, Pod, PodSpec, Toleration, Volume, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kedge_children::pods::PodFacts;
use kedge_engine::{Key, Resource, Target};

use crate::amounts::Amounts;
use crate::select::{Labels, NodeTerm};
use crate::term::{Spread, Term};

pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

#[derive(Clone, Debug, PartialEq)]
pub struct PodView {
    pub key: Key,
    pub uid: String,
    pub revision: String,
    pub labels: Labels,
    pub owner: Option<OwnerReference>,
    pub created: Option<Timestamp>,
    /// When it began, by its own status.
    pub started: Option<Timestamp>,
    pub priority: i32,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    pub scheduler: String,
    pub gates: Vec<String>,
    /// The node that it is on.
    pub node: Option<Arc<str>>,
    /// The node on which room is being made for it.
    pub nominated: Option<Arc<str>>,
    /// It is being deleted.
    pub leaving: bool,
    /// It has succeeded or failed: it needs nothing any more.
    pub ended: bool,
    /// A preemption has marked it already.
    pub disrupted: bool,

    pub requests: Amounts,
    /// The same with a usual size for containers that ask for nothing; only for comparing nodes.
    pub counted: Amounts,
    pub tolerations: Vec<Toleration>,
    pub node_selector: Labels,
    /// One of these must hold, if there are any.
    pub required_nodes: Option<Vec<NodeTerm>>,
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    pub affinity: Vec<Term>,
    pub anti_affinity: Vec<Term>,
    pub preferred_affinity: Vec<(i32, Term)>,
    pub preferred_anti_affinity: Vec<(i32, Term)>,
    pub spread: Vec<Spread>,
    pub ports: Vec<HostPort>,
    /// Images of all containers, init containers included, as they are written.
    pub images: Vec<String>,
    /// Volumes that matter to where it can run.
    pub volumes: Vec<Volume>,
    /// The names of its claims in its own namespace, with those that are made for it.
    pub claims: Vec<String>,
    /// What the node must declare that it can do.
    pub features: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// Empty or `0.0.0.0` for all addresses.
    pub address: String,
    pub protocol: String,
    pub port: i32,
}

impl PodView {
    pub fn of(pod: &Pod) -> Self {
        let empty = PodSpec::default();
        let spec = pod.spec.as_ref().unwrap_or(&empty);
        let status = pod.status.as_ref();
        let key = Key::of(pod);
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        let (requests, counted) = size::of(pod);
        let named =
            |name: Option<&String>| name.filter(|name| !name.is_empty()).map(|name| name.as_str().into());
        let owners = pod.metadata.owner_references.iter().flatten();
        let mut view = Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            revision: pod.metadata.resource_version.clone().unwrap_or_default(),
            owner: owners.into_iter().find(|owner| owner.controller == Some(true)).cloned(),
            created: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
            started: status.and_then(|status| status.start_time.as_ref()).map(|time| time.0),
            priority: spec.priority.unwrap_or_default(),
            never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
            scheduler: spec.scheduler_name.clone().unwrap_or_else(|| DEFAULT_SCHEDULER.to_owned()),
            gates: spec.scheduling_gates.iter().flatten().map(|gate| gate.name.clone()).collect(),
            node: named(spec.node_name.as_ref()),
            nominated: named(status.and_then(|status| status.nominated_node_name.as_ref())),
            leaving: pod.is_leaving(),
            ended: matches!(pod.phase(), "Succeeded" | "Failed"),
            disrupted: pod.condition("DisruptionTarget").is_some_and(|condition| condition.status == "True"),
            requests,
            counted,
            tolerations: spec.tolerations.clone().unwrap_or_default(),
            node_selector: spec.node_selector.clone().unwrap_or_default(),
            required_nodes: None,
            preferred_nodes: Vec::new(),
            affinity: Vec::new(),
            anti_affinity: Vec::new(),
            preferred_affinity: Vec::new(),
            preferred_anti_affinity: Vec::new(),
            spread: spec
                .topology_spread_constraints
                .iter()
                .flatten()
                .map(|one| Spread::of(one, &labels))
                .collect(),
            ports: host_ports(spec),
            images: containers(spec).filter_map(|container| container.image.clone()).collect(),
            volumes: spec.volumes.iter().flatten().filter(|volume| matters(volume)).cloned().collect(),
            claims: spec.volumes.iter().flatten().filter_map(|volume| claim(volume, &key.name)).collect(),
            features: features(spec),
            labels,
            key,
        };
        if let Some(affinity) = &spec.affinity {
            view.take_affinity(affinity);
        }
        view
    }

    fn take_affinity(&mut self, affinity: &Affinity) {
        let (namespace, labels) = (&self.key.namespace, &self.labels);
        let terms = |all: Option<&Vec<_>>| -> Vec<Term> {
            all.into_iter().flatten().map(|term| Term::of(term, namespace, labels)).collect()
        };
        let weighted = |all: Option<&Vec<WeightedPodAffinityTerm>>| -> Vec<(i32, Term)> {
            let all = all.into_iter().flatten();
            all.map(|one| (one.weight, Term::of(&one.pod_affinity_term, namespace, labels))).collect()
        };
        let (near, far) = (affinity.pod_affinity.as_ref(), affinity.pod_anti_affinity.as_ref());
        let required =
            terms(near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref()));
        let preferred = weighted(
            near.and_then(|near| near.preferred_during_scheduling_ignored_during_execution.as_ref()),
        );
        let required_far =
            terms(far.and_then(|far| far.required_during_scheduling_ignored_during_execution.as_ref()));
        let preferred_far =
            weighted(far.and_then(|far| far.preferred_during_scheduling_ignored_during_execution.as_ref()));
        (self.affinity, self.preferred_affinity) = (required, preferred);
        (self.anti_affinity, self.preferred_anti_affinity) = (required_far, preferred_far);
        if let Some(nodes) = &affinity.node_affinity {
            let required = nodes.required_during_scheduling_ignored_during_execution.as_ref();
            self.required_nodes =
                required.map(|selector| selector.node_selector_terms.iter().map(NodeTerm::of).collect());
            let preferred = nodes.preferred_during_scheduling_ignored_during_execution.iter().flatten();
            self.preferred_nodes = preferred.map(|one| (one.weight, NodeTerm::of(&one.preference))).collect();
        }
    }

    /// The same pod on a node.
    pub fn placed_on(&self, node: &str) -> Self {
        Self { node: Some(node.into()), ..self.clone() }
    }

    pub fn target(&self) -> Target {
        Target {
            resource: Resource::of::<Pod>(),
            key: self.key.clone(),
            uid: self.uid.clone(),
            revision: self.revision.clone(),
        }
    }
}

fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// Init containers have ended before the pod serves, except for sidecars.
fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let on_host = ports.filter_map(|port| {
        Some(HostPort {
            address: port.host_ip.clone().unwrap_or_default(),
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
            port: port.host_port.filter(|port| *port > 0)?,
        })
    });
    on_host.collect()
}

/// Those of Kubernetes 1.36 that matter for where a pod can run.
fn features(spec: &PodSpec) -> Vec<&'static str> {
    let mut all = Vec::new();
    let mut rules = containers(spec).flat_map(|container| container.restart_policy_rules.iter().flatten());
    if rules.any(|rule| rule.action == "RestartAllContainers") {
        all.push("RestartAllContainersOnContainerExits");
    }
    if spec.host_network == Some(true) && spec.host_users == Some(false) {
        all.push("UserNamespacesHostNetworkSupport");
    }
    all
}

fn matters(volume: &Volume) -> bool {
    volume.persistent_volume_claim.is_some()
        || volume.ephemeral.is_some()
        || volume.gce_persistent_disk.is_some()
        || volume.aws_elastic_block_store.is_some()
        || volume.iscsi.is_some()
        || volume.rbd.is_some()
        || volume.csi.is_some()
}

fn claim(volume: &Volume, pod: &str) -> Option<String> {
    match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name.clone()),
        (None, Some(_)) => Some(format!("{pod}-{}", volume.name)),
        (None, None) => None,
    }
}
