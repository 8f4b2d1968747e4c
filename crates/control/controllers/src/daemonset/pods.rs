//! What a DaemonSet's pods look like: for one node, tolerant of what befalls nodes, and marked with their template.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};
use kedge_children::claim;
use kedge_children::placement::NAME_FIELD;
use kedge_children::pods::from_template;
use kube::ResourceExt;

use crate::revisions::{self, History, POD_LABEL, Revised};

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
const GENERATION_LABEL: &str = "pod-template-generation";
/// How often in a row pods ended on their node before this one was made for it.
const ENDED: &str = "kedge.dev/ended-before";
/// What every such pod bears, whatever its template says.
const BORNE: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// By what a pod is known to have the present template.
pub(super) struct Version {
    pub(super) hash: String,
    /// Several revisions may have the same template.
    alike: BTreeSet<String>,
    generation: Option<String>,
}

impl Version {
    pub(super) fn of(set: &DaemonSet, history: &History) -> Self {
        let hash =
            |one: &k8s_openapi::api::apps::v1::ControllerRevision| one.labels().get(POD_LABEL).cloned();
        let older = history.older.iter().filter(|one| revisions::is_of(one, set));
        let alike = older.chain([&history.newest]).filter_map(|one| hash(one)).collect();
        let generation = set.annotations().get(TEMPLATE_GENERATION);
        Self {
            hash: hash(&history.newest).unwrap_or_default(),
            alike,
            generation: generation.filter(|text| text.parse::<i64>().is_ok()).cloned(),
        }
    }

    pub(super) fn is_of(&self, pod: &Pod) -> bool {
        let labels = pod.labels();
        labels.get(POD_LABEL).is_some_and(|hash| self.alike.contains(hash))
            || self.generation.is_some() && labels.get(GENERATION_LABEL) == self.generation.as_ref()
    }
}

/// How often in a row a pod's node has had one that ended, this one not counted.
pub(super) fn ended_before(pod: &Pod) -> u32 {
    pod.annotations().get(ENDED).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// A pod for one node.
pub(super) fn make(set: &DaemonSet, node: &str, version: &Version, ended_before: u32) -> Pod {
    let mut pod = from_template(set.template(), &set.namespace().unwrap_or_default());
    pod.metadata.generate_name = Some(format!("{}-", set.name_any()));
    pod.metadata.owner_references = Some(vec![claim::reference(set)]);
    pod.labels_mut().insert(POD_LABEL.to_owned(), version.hash.clone());
    if let Some(generation) = &version.generation {
        pod.labels_mut().insert(GENERATION_LABEL.to_owned(), generation.clone());
    }
    if ended_before > 0 {
        pod.annotations_mut().insert(ENDED.to_owned(), ended_before.to_string());
    }
    let spec = pod.spec.get_or_insert_default();
    tolerant(spec);
    bind(spec.affinity.get_or_insert_default(), node);
    pod
}

/// Whatever else the template requires of a node, this one has been found to have.
fn bind(affinity: &mut Affinity, node: &str) {
    let named = NodeSelectorRequirement {
        key: NAME_FIELD.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![named]), match_expressions: None };
    let required = NodeSelector { node_selector_terms: vec![term] };
    affinity.node_affinity.get_or_insert_default().required_during_scheduling_ignored_during_execution =
        Some(required);
}

/// Adds what every such pod tolerates, for ever.
pub(super) fn tolerant(spec: &mut PodSpec) {
    let network = spec.host_network.unwrap_or(false).then_some(NETWORK);
    let has = spec.tolerations.get_or_insert_default();
    for (key, effect) in BORNE.into_iter().chain(network) {
        let borne = Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        let for_a_while = |one: &Toleration| Toleration { toleration_seconds: None, ..one.clone() } == borne;
        match has.iter_mut().find(|one| for_a_while(one)) {
            Some(one) => *one = borne,
            None => has.push(borne),
        }
    }
}
