//! The number of pods changes, not the template: every set that has pods gets its share.

use std::cmp::Reverse;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kedge_engine::{Action, Plan, Severity};
use kube::ResourceExt;

use super::sets::{Sets, available, replicas, slack, wanted};
use super::{annotations, history, is_paused, is_recreated, status};

/// A set that has pods was given its size when another number was wanted.
pub(super) fn is_due(deployment: &Deployment, sets: &Sets) -> bool {
    let mut active = sets.all().filter(|set| replicas(set) > 0);
    active.any(|set| annotations::desired(set).is_some_and(|then| then != wanted(deployment)))
}

pub(super) fn plan(deployment: &Deployment, sets: &Sets, now: Timestamp) -> Plan {
    let scaled = Plan::from(shares(deployment, sets));
    let plan = status::told(scaled, deployment, sets, now);
    // Nothing is rolled while it is paused, so nothing that it might be rolled back to goes.
    if is_paused(deployment) { plan.then(history::surplus(deployment, sets)) } else { plan }
}

fn shares(deployment: &Deployment, sets: &Sets) -> Vec<Action> {
    let wanted = wanted(deployment);
    let active: Vec<_> = sets.all().filter(|set| replicas(set) > 0).collect();
    let only = match active.as_slice() {
        [] => sets.new.as_ref().or(sets.old.last()),
        [one] => Some(*one),
        _ => None,
    };
    if let Some(only) = only {
        return scale(deployment, only, wanted).into_iter().flatten().collect();
    }
    if sets.new.as_ref().is_some_and(|new| is_saturated(deployment, new)) {
        return sets.old.iter().filter_map(|set| scale(deployment, set, 0)).flatten().collect();
    }
    if is_recreated(deployment) {
        return Vec::new();
    }
    proportional(deployment, &active)
}

/// It has all the pods that are wanted, so the others need none.
fn is_saturated(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let wanted = wanted(deployment);
    replicas(set) == wanted && annotations::desired(set) == Some(wanted) && available(set) == wanted
}

/// Shares what is to be added or taken among sets that all have pods, by their size.
fn proportional(deployment: &Deployment, active: &[&std::sync::Arc<ReplicaSet>]) -> Vec<Action> {
    let (surge, _) = slack(deployment);
    let room = if wanted(deployment) > 0 { wanted(deployment) + surge } else { 0 };
    let total: i32 = active.iter().map(|set| replicas(set)).sum();
    let change = room - total;
    let mut sets = active.to_vec();
    // Of equally large ones the newer grows first and the older shrinks first.
    let age = |set: &ReplicaSet| set.creation_timestamp().map(|time| time.0);
    if change > 0 {
        sets.sort_by_key(|set| (Reverse(replicas(set)), Reverse(age(set))));
    } else {
        sets.sort_by_key(|set| (Reverse(replicas(set)), age(set)));
    }
    let mut left = change;
    let mut sizes: Vec<i32> = Vec::new();
    for set in &sets {
        let share = if change == 0 { 0 } else { share(deployment, set, room) };
        let share = if change > 0 { share.clamp(0, left.max(0)) } else { share.clamp(left.min(0), 0) };
        sizes.push(replicas(set) + share);
        left -= share;
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + left).max(0);
    }
    sets.into_iter().zip(sizes).filter_map(|(set, size)| scale(deployment, set, size)).flatten().collect()
}

/// How many more a set should have to be as large a part of the room as it was before.
fn share(deployment: &Deployment, set: &ReplicaSet, room: i32) -> i32 {
    let status = deployment.status.as_ref().and_then(|status| status.replicas);
    let before = annotations::max(set).or(status).filter(|before| *before > 0).unwrap_or(room).max(1);
    let size = f64::from(replicas(set)) * f64::from(room) / f64::from(before);
    #[expect(clippy::cast_possible_truncation, reason = "a share of an i32 is one")]
    let size = size.round() as i32;
    size - replicas(set)
}

/// Gives a set its size and notes what was wanted; nothing if it has both.
pub(super) fn scale(deployment: &Deployment, set: &ReplicaSet, size: i32) -> Option<Vec<Action>> {
    let mut scaled = set.clone();
    scaled.spec.get_or_insert_default().replicas = Some(size);
    if replicas(set) > 0 || size > 0 {
        annotations::note_sizes(deployment, &mut scaled);
    }
    let change = Action::change(set, &scaled)?;
    let had = replicas(set);
    let way = if size > had { "up" } else { "down" };
    let message = format!("Scaled {way} replica set {} from {had} to {size}", set.name_any());
    let told =
        (size != had).then(|| Action::tell(deployment, Severity::Normal, "ScalingReplicaSet", message));
    Some([change].into_iter().chain(told).collect())
}
