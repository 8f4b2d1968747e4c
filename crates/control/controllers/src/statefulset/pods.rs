//! A StatefulSet's pods, each in its place, and those that have no place any more.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;
use kube::ResourceExt;

use super::identity;
use super::spelling::{min_ready_seconds, ordinals};

pub(super) struct Pods {
    /// A place for each pod that is wanted, in order.
    pub(super) places: Vec<(i32, Option<Arc<Pod>>)>,
    /// Pods that are not wanted, the last one first.
    pub(super) condemned: Vec<(i32, Arc<Pod>)>,
}

impl Pods {
    pub(super) fn of(set: &StatefulSet, mine: Vec<Arc<Pod>>) -> Self {
        let wanted = ordinals(set);
        let mut places: Vec<(i32, Option<Arc<Pod>>)> =
            wanted.clone().map(|ordinal| (ordinal, None)).collect();
        let mut condemned = Vec::new();
        for pod in mine {
            let Some((_, ordinal)) = identity::parse(&pod.name_any()) else { continue };
            let index = usize::try_from(ordinal - wanted.start).ok();
            match index.and_then(|index| places.get_mut(index)) {
                Some((_, place)) => *place = Some(pod),
                None => condemned.push((ordinal, pod)),
            }
        }
        condemned.sort_by_key(|(ordinal, _)| std::cmp::Reverse(*ordinal));
        Self { places, condemned }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let placed = self.places.iter().filter_map(|(_, pod)| pod.as_ref());
        placed.chain(self.condemned.iter().map(|(_, pod)| pod))
    }

    /// When the next pod will have been ready for long enough.
    pub(super) fn next_change(&self, set: &StatefulSet, now: Timestamp) -> Option<Timestamp> {
        let from = self.all().filter_map(|pod| pod.available_from(min_ready_seconds(set)));
        from.filter(|moment| *moment > now).min()
    }
}

pub(super) fn is_running_and_ready(pod: &Pod) -> bool {
    pod.phase() == "Running" && pod.is_ready()
}

pub(super) fn is_available(set: &StatefulSet, pod: &Pod, now: Timestamp) -> bool {
    pod.available_from(min_ready_seconds(set)).is_some_and(|from| from <= now)
}

/// It works and will go on doing so.
pub(super) fn is_healthy(set: &StatefulSet, pod: &Pod, now: Timestamp) -> bool {
    is_available(set, pod, now) && !pod.is_leaving()
}

pub(super) fn has_ended(pod: &Pod) -> bool {
    matches!(pod.phase(), "Succeeded" | "Failed")
}
