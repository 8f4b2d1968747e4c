//! Which pod is missed least, when one has to go: Kubernetes' order, which users rely on.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use kedge_children::pods::PodFacts;

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The lesser goes first. `siblings` are all pods that do the same work.
pub(super) fn compare(a: &Arc<Pod>, b: &Arc<Pod>, siblings: &[Arc<Pod>]) -> Ordering {
    let crowd = |pod: &Pod| siblings.iter().filter(|other| other.node() == pod.node()).count();
    let key = |pod: &Pod| (pod.node().is_some(), phase(pod), pod.is_ready(), cost(pod), Reverse(crowd(pod)));
    key(a)
        .cmp(&key(b))
        // Ready for longer is worth more; roughly as long is worth the same.
        .then_with(|| match (a.ready_since(), b.ready_since()) {
            (Some(a), Some(b)) => older(a, b),
            _ => Ordering::Equal,
        })
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| match (created(a), created(b)) {
            (Some(a), Some(b)) => older(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
        .then_with(|| a.metadata.uid.cmp(&b.metadata.uid))
}

/// The later one is the lesser.
fn older(a: Timestamp, b: Timestamp) -> Ordering {
    b.cmp(&a)
}

fn phase(pod: &Pod) -> u8 {
    match pod.phase() {
        "Pending" | "" => 0,
        "Unknown" => 1,
        _ => 2,
    }
}

fn cost(pod: &Pod) -> i32 {
    let given = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(COST));
    given.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn restarts(pod: &Pod) -> i32 {
    let containers = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    containers.into_iter().flatten().map(|container| container.restart_count).max().unwrap_or(0)
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}
