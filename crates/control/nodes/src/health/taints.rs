//! What a node says about itself, as taints that keep new pods away. Knows nothing of pods that are there.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use kedge_children::conditions;

use crate::facts::{NO_SCHEDULE, NOT_READY, NodeFacts, UNREACHABLE};

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// A condition, the status in which it matters, and the taint that it means then.
const MEANING: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The node's taints with those that its conditions mean and without those that they mean no longer. Nothing if it has them.
pub(super) fn wanted(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let unschedulable = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    let said = MEANING.iter().filter(|(type_, status, _)| {
        node.condition(type_).is_some_and(|condition| condition.status == *status)
    });
    let wanted: Vec<&str> =
        said.map(|(_, _, key)| *key).chain(unschedulable.then_some(UNSCHEDULABLE)).collect();
    let ours = |taint: &Taint| {
        taint.effect == NO_SCHEDULE
            && (taint.key == UNSCHEDULABLE || MEANING.iter().any(|(_, _, key)| *key == taint.key))
    };
    let mut taints = node.taints().to_vec();
    taints.retain(|taint| !ours(taint) || wanted.contains(&&*taint.key));
    for key in wanted {
        if !taints.iter().any(|taint| ours(taint) && taint.key == key) {
            taints.push(Taint {
                key: key.to_owned(),
                effect: NO_SCHEDULE.to_owned(),
                value: None,
                time_added: conditions::at(now),
            });
        }
    }
    (taints != node.taints()).then_some(taints)
}
