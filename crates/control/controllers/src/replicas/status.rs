//! What a set says about its pods.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kedge_engine::Action;

use super::spelling::{Counts, Replicated};
use kedge_children::pods::PodFacts;

/// The status that it should have, and when it changes by the passing of time alone. A failure is over when nothing is left
/// to be done.
pub(super) fn of<R: Replicated>(
    set: &R,
    active: &[Arc<Pod>],
    leaving: usize,
    is_done: bool,
    now: Timestamp,
) -> (Option<Action>, Option<Timestamp>) {
    let wanted =
        set.template().and_then(|template| template.metadata.as_ref()?.labels.clone()).unwrap_or_default();
    let labelled = |pod: &&Arc<Pod>| {
        let has = pod.metadata.labels.as_ref();
        wanted.iter().all(|(name, value)| has.and_then(|has| has.get(name)) == Some(value))
    };
    let available: Vec<Timestamp> =
        active.iter().filter_map(|pod| pod.available_from(set.min_ready_seconds())).collect();
    let counts = Counts {
        replicas: number(active.len()),
        fully_labeled: number(active.iter().filter(labelled).count()),
        ready: number(active.iter().filter(|pod| pod.is_ready()).count()),
        available: number(available.iter().filter(|from| **from <= now).count()),
        terminating: number(leaving),
    };
    let mut told = set.clone();
    told.count(&counts);
    if is_done {
        told.recover();
    }
    (Action::status(set, &told), available.into_iter().filter(|from| *from > now).min())
}

/// The status of a set whose pods could not be made or removed.
pub(super) fn failed<R: Replicated>(set: &R, reason: &str, message: &str, now: Timestamp) -> Option<Action> {
    let mut told = set.clone();
    told.fail(reason, message, now);
    Action::status(set, &told)
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
