//! How many pods should be at work, which are too many, which are to be made. Decides; makes nothing.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;

use super::backoff;
use super::scene::{Scene, is_ending};
use super::tracked::Tracked;

/// How many pods are made or removed in one turn.
const MOST: usize = 500;

#[derive(Default)]
pub(super) struct Staffing {
    pub(super) surplus: Vec<Arc<Pod>>,
    /// One for each pod to be made: its index, if the job has indexes.
    pub(super) missing: Vec<Option<usize>>,
    /// When more may be made.
    pub(super) look_again: Option<Timestamp>,
}

/// Pods are either removed or made, never both in one turn.
pub(super) fn staffing(scene: &Scene, now: Timestamp) -> Staffing {
    let active = scene.active().count();
    let wanted = wanted(scene, active);
    let mut surplus = surplus(scene, active.saturating_sub(wanted));
    if !surplus.is_empty() {
        if !scene.facts.is_suspended() {
            surplus.truncate(MOST);
        }
        return Staffing { surplus, ..Staffing::default() };
    }
    let ending = if scene.facts.awaits_the_end_of_pods() { scene.leaving() } else { 0 };
    match wanted.saturating_sub(active + ending).min(MOST) {
        0 => Staffing::default(),
        count => missing(scene, count, now),
    }
}

fn wanted(scene: &Scene, active: usize) -> usize {
    if scene.facts.is_suspended() {
        return 0;
    }
    match scene.facts.completions() {
        Some(completions) => completions.saturating_sub(scene.succeeded).min(scene.facts.parallelism()),
        // Once one has succeeded the others finish what they do, and no more begin.
        None if scene.succeeded > 0 => active,
        None => scene.facts.parallelism(),
    }
}

/// At least so many. Of an indexed job also those that work on what another does, or on nothing.
fn surplus(scene: &Scene, at_least: usize) -> Vec<Arc<Pod>> {
    let mut ranked: Vec<&Arc<Pod>> = scene.active().collect();
    ranked.sort_by(|a, b| worth(a, b));
    let mut gone: Vec<Arc<Pod>> = Vec::new();
    if scene.facts.is_indexed() {
        let mut taken = BTreeSet::new();
        let keeps = |pod: &Arc<Pod>, taken: &mut BTreeSet<usize>| {
            pod.index().is_some_and(|index| index < scene.facts.indexes_end() && taken.insert(index))
        };
        // The most valuable of each index stays, so they are asked in reverse.
        let (kept, lost): (Vec<_>, Vec<_>) = ranked.into_iter().rev().partition(|pod| keeps(pod, &mut taken));
        gone.extend(lost.into_iter().cloned());
        ranked = kept.into_iter().rev().collect();
    }
    let more = at_least.saturating_sub(gone.len());
    gone.extend(ranked.into_iter().take(more).cloned());
    gone
}

fn missing(scene: &Scene, count: usize, now: Timestamp) -> Staffing {
    let indexed = scene.facts.is_indexed();
    if scene.facts.index_limit().is_none() {
        let due = backoff::due(&scene.pods, scene.failed, scene.succeeded > 0).filter(|due| *due > now);
        let missing = match due {
            Some(_) => Vec::new(),
            None if indexed => free_indexes(scene).take(count).map(Some).collect(),
            None => vec![None; count],
        };
        return Staffing { missing, look_again: due, ..Staffing::default() };
    }
    let mut staffing = Staffing::default();
    for index in free_indexes(scene).take(count) {
        let due = scene.last_tries.get(&index).map(|last| backoff::index_due(last)).filter(|due| *due > now);
        match due {
            None => staffing.missing.push(Some(index)),
            Some(due) => {
                staffing.look_again = Some(staffing.look_again.map_or(due, |other| other.min(due)));
            }
        }
    }
    staffing
}

/// Indexes that nobody works on and that are not settled.
fn free_indexes(scene: &Scene) -> impl Iterator<Item = usize> {
    let awaited = scene.facts.awaits_the_end_of_pods();
    let busy = scene.pods.iter().filter(|pod| pod.is_active() || (awaited && is_ending(pod)));
    let mut taken = scene.succeeded_indexes.with(busy.filter_map(|pod| pod.index()));
    if let Some(failed) = &scene.failed_indexes {
        taken = taken.and(failed);
    }
    let free: Vec<usize> = taken.missing(scene.facts.indexes_end()).take(MOST).collect();
    free.into_iter()
}

/// The lesser is missed less.
fn worth(a: &Pod, b: &Pod) -> Ordering {
    let phase = |pod: &Pod| match pod.phase() {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let restarts = |pod: &Pod| {
        let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        containers.map(|container| container.restart_count).max().unwrap_or(0)
    };
    let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let key = |pod: &Pod| {
        let standing = (pod.node().is_some(), phase(pod), pod.is_ready());
        (standing, Reverse(pod.ready_since()), Reverse(restarts(pod)), Reverse(created(pod)))
    };
    key(a).cmp(&key(b)).then_with(|| a.metadata.name.cmp(&b.metadata.name))
}
