//! What a DaemonSet says about its nodes.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;
use kedge_engine::Action;

use super::nodes::{Nodes, is_available};
use super::pods::Version;
use crate::revisions::Revised;

pub(super) fn of(set: &DaemonSet, nodes: &Nodes, version: &Version, now: Timestamp) -> Option<Action> {
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    // Of several pods on a node the oldest speaks for it.
    let first = nodes.spots.iter().filter(|spot| spot.is_meant()).filter_map(|spot| spot.pods.first());
    let count = |which: &dyn Fn(&Pod) -> bool| number(first.clone().filter(|pod| which(pod)).count());
    let elsewhere =
        nodes.spots.iter().filter(|spot| spot.place.is_some() && !spot.is_meant() && !spot.pods.is_empty());
    let desired = number(nodes.meant());
    let available = count(&|pod| pod.is_ready() && is_available(set, pod, now));
    let some = |number: i32| Some(number).filter(|number| *number != 0);
    let before = set.status.as_ref();
    let mut told = set.clone();
    told.status = Some(DaemonSetStatus {
        observed_generation: set.metadata.generation,
        desired_number_scheduled: desired,
        current_number_scheduled: count(&|_| true),
        number_misscheduled: number(elsewhere.count()),
        number_ready: count(&|pod| pod.is_ready()),
        updated_number_scheduled: some(count(&|pod| version.is_of(pod))),
        number_available: some(available),
        number_unavailable: some(desired - available),
        collision_count: before.and_then(|status| status.collision_count),
        conditions: before.and_then(|status| status.conditions.clone()),
    });
    Action::status(set, &told)
}

/// The name of its next revision is taken; another hash will give another.
pub(super) fn collided(set: &DaemonSet) -> Option<Action> {
    let mut told = set.clone();
    told.status.get_or_insert_default().collision_count = Some(set.collisions() + 1);
    Action::status(set, &told)
}
