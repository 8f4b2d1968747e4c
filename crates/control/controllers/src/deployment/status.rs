//! What a Deployment says about itself: its numbers, whether enough is available, and whether it gets on.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};
use kedge_engine::{Action, Plan};
use kube::ResourceExt;

use super::sets::{self, Sets, slack, wanted};
use kedge_children::conditions;

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const FAILURE: &str = "ReplicaFailure";

/// A plan with the status that goes with it. It is written last, so that nothing is said that isn't so.
pub(super) fn told(plan: Plan, deployment: &Deployment, sets: &Sets, now: Timestamp) -> Plan {
    let made = plan.actions.iter().any(Action::is_creation);
    let mut new = deployment.clone();
    let status = numbers(deployment, sets);
    let status = new.status.insert(status);
    available(deployment, status, now);
    failure(status, sets, now);
    let deadline = progress(deployment, status, sets, made, now);
    plan.then(Action::status(deployment, &new)).again_at(deadline)
}

/// Only the numbers, for a Deployment that is leaving.
pub(super) fn counted(deployment: &Deployment, sets: &Sets) -> Option<Action> {
    let mut new = deployment.clone();
    new.status = Some(numbers(deployment, sets));
    Action::status(deployment, &new)
}

/// The name of its next set is taken.
pub(super) fn collided(deployment: &Deployment) -> Option<Action> {
    let mut new = deployment.clone();
    let status = new.status.get_or_insert_default();
    status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
    Action::status(deployment, &new)
}

pub(super) fn failed_to_create(deployment: &Deployment, message: &str, now: Timestamp) -> Option<Action> {
    deadline(deployment)?;
    let mut new = deployment.clone();
    let status = new.status.get_or_insert_default();
    set(status, now, PROGRESSING, "False", "ReplicaSetCreateError", message);
    Action::status(deployment, &new)
}

/// Everything that is wanted is there, is new and works.
pub(super) fn is_complete(deployment: &Deployment, sets: &Sets) -> bool {
    completed(deployment, &numbers(deployment, sets))
}

fn completed(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = Some(wanted(deployment)).filter(|wanted| *wanted != 0);
    status.updated_replicas == wanted && status.replicas == wanted && status.available_replicas == wanted
}

fn numbers(deployment: &Deployment, sets: &Sets) -> DeploymentStatus {
    let sum = |count: fn(&ReplicaSet) -> Option<i32>| -> Option<i32> {
        Some(sets.all().filter_map(|set| count(set)).sum()).filter(|sum| *sum != 0)
    };
    let available = sum(|set| set.status.as_ref()?.available_replicas);
    let updated = sets.new.as_ref().and_then(|set| Some(set.status.as_ref()?.replicas));
    let old = deployment.status.as_ref();
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: sum(|set| Some(set.status.as_ref()?.replicas)),
        updated_replicas: updated.filter(|count| *count != 0),
        ready_replicas: sum(|set| set.status.as_ref()?.ready_replicas),
        available_replicas: available,
        unavailable_replicas: Some(sets.total() - available.unwrap_or(0)).filter(|missing| *missing > 0),
        terminating_replicas: Some(sum(|set| set.status.as_ref()?.terminating_replicas).unwrap_or(0)),
        collision_count: old.and_then(|status| status.collision_count),
        conditions: old.and_then(|status| status.conditions.clone()),
    }
}

fn available(deployment: &Deployment, status: &mut DeploymentStatus, now: Timestamp) {
    let (_, missing) = slack(deployment);
    if status.available_replicas.unwrap_or(0) >= wanted(deployment) - missing {
        let message = "Deployment has minimum availability.";
        set(status, now, AVAILABLE, "True", "MinimumReplicasAvailable", message);
    } else {
        let message = "Deployment does not have minimum availability.";
        set(status, now, AVAILABLE, "False", "MinimumReplicasUnavailable", message);
    }
}

/// What keeps its newest set, or else any other, from having its pods.
fn failure(status: &mut DeploymentStatus, sets: &Sets, now: Timestamp) {
    let conditions =
        sets.new.iter().chain(&sets.old).filter_map(|set| set.status.as_ref()?.conditions.as_ref());
    match conditions.flatten().find(|condition| condition.type_ == FAILURE) {
        Some(found) => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            set(status, now, FAILURE, &found.status, &text(&found.reason), &text(&found.message));
        }
        None => conditions::remove(&mut status.conditions, FAILURE),
    }
}

/// Whether it gets on; gives the moment at which it will have taken too long.
fn progress(
    deployment: &Deployment,
    status: &mut DeploymentStatus,
    sets: &Sets,
    made: bool,
    now: Timestamp,
) -> Option<Timestamp> {
    let Some(patience) = deadline(deployment) else {
        conditions::remove(&mut status.conditions, PROGRESSING);
        return None;
    };
    let current = status.conditions.iter().flatten().find(|one| one.type_ == PROGRESSING).cloned();
    let reason = current.as_ref().and_then(|one| one.reason.as_deref()).unwrap_or_default().to_owned();
    if super::is_paused(deployment) {
        if reason != "ProgressDeadlineExceeded" && reason != "DeploymentPaused" {
            set(status, now, PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused");
        }
        return None;
    }
    if reason == "DeploymentPaused" {
        set(status, now, PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed");
    }
    let name = sets.new.as_ref().map_or_else(|| sets::new_key(deployment).name, |set| set.name_any());
    if made {
        let message = format!("Created new replica set {name:?}");
        set(status, now, PROGRESSING, "True", "NewReplicaSetCreated", &message);
    } else if current.is_none() && sets.new.is_some() {
        set(
            status,
            now,
            PROGRESSING,
            "True",
            "FoundNewReplicaSet",
            &format!("Found new replica set {name:?}"),
        );
    }
    let is_over = reason == "NewReplicaSetAvailable" && status.replicas == status.updated_replicas;
    if is_over && !made {
        return None;
    }
    let what = if sets.new.is_some() {
        format!("ReplicaSet {name:?}")
    } else {
        format!("Deployment {:?}", deployment.name_any())
    };
    if completed(deployment, status) && sets.new.is_some() {
        let message = format!("{what} has successfully progressed.");
        set(status, now, PROGRESSING, "True", "NewReplicaSetAvailable", &message);
        return None;
    }
    if got_on(deployment.status.as_ref(), status) {
        let message = format!("{what} is progressing.");
        set(status, now, PROGRESSING, "True", "ReplicaSetUpdated", &message);
    }
    let current = status.conditions.iter().flatten().find(|one| one.type_ == PROGRESSING)?;
    if current.reason.as_deref() == Some("ProgressDeadlineExceeded") {
        return None;
    }
    let since = current.last_update_time.as_ref().map_or(now, |time| time.0);
    let until = since.saturating_add(patience).unwrap_or(Timestamp::MAX);
    if now < until {
        return Some(until);
    }
    let message = format!("{what} has timed out progressing.");
    set(status, now, PROGRESSING, "False", "ProgressDeadlineExceeded", &message);
    None
}

fn got_on(before: Option<&DeploymentStatus>, now: &DeploymentStatus) -> bool {
    let none = DeploymentStatus::default();
    let before = before.unwrap_or(&none);
    let number = |count: Option<i32>| count.unwrap_or(0);
    let old = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(now.updated_replicas) > number(before.updated_replicas)
        || old(now) < old(before)
        || number(now.ready_replicas) > number(before.ready_replicas)
        || number(now.available_replicas) > number(before.available_replicas)
}

/// How long it may take until something moves; none is "for ever".
fn deadline(deployment: &Deployment) -> Option<SignedDuration> {
    let seconds = deployment.spec.as_ref()?.progress_deadline_seconds?;
    (seconds != i32::MAX).then(|| SignedDuration::from_secs(seconds.into()))
}

fn set(status: &mut DeploymentStatus, now: Timestamp, type_: &str, is: &str, reason: &str, message: &str) {
    let new = DeploymentCondition {
        type_: type_.to_owned(),
        status: is.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_transition_time: conditions::at(now),
        last_update_time: conditions::at(now),
    };
    // Saying the same again is no news, except of progress, whose every step counts.
    let current = status.conditions.iter().flatten().find(|one| one.type_ == type_);
    let same = current.is_some_and(|one| one.status == is && one.reason.as_deref() == Some(reason));
    if same && type_ != PROGRESSING {
        return;
    }
    conditions::set(&mut status.conditions, new);
}
