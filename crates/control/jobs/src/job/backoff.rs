//! How long to wait before a failed pod is replaced: longer each time. All of it is read off the pods and the job's counts, so
//! that a restart forgets nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kedge_children::pods::PodFacts;

use super::tracked::Tracked;

const FIRST: SignedDuration = SignedDuration::from_secs(10);
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// When the job may make its next pod, if one has failed since the last success. `failed` is how many the job has counted,
/// and `succeeded` whether it has counted any success: both also tell of pods that are gone.
pub(super) fn due(pods: &[Arc<Pod>], failed: usize, succeeded: bool) -> Option<Timestamp> {
    let success = pods.iter().filter(|pod| pod.has_succeeded()).map(|pod| ended_at(pod)).max();
    let since = |moment: &Timestamp| success.is_none_or(|success| *moment > success);
    let failures = pods.iter().filter(|pod| pod.has_failed()).map(|pod| ended_at(pod)).filter(since);
    let removals = pods.iter().filter(|pod| pod.is_leaving() && !pod.has_succeeded() && !pod.has_failed());
    let removals = removals.map(|pod| ended_at(pod)).filter(since);
    let seen = failures.clone().count();
    // As long as nothing has succeeded, every failure counts, also of pods that are no longer there. Of a pod that is being
    // removed only the job's count can tell whether it failed or was no longer wanted.
    let count = if succeeded { seen } else { seen.max(failed) };
    let last = failures.chain(removals).max()?;
    (count > 0).then(|| after(last, count))
}

/// When an index may have its next pod; `last` is the one that failed.
pub(super) fn index_due(last: &Pod) -> Timestamp {
    let (counted, ignored) = last.earlier_failures();
    after(ended_at(last), counted.saturating_add(ignored).saturating_add(1))
}

fn after(moment: Timestamp, failures: usize) -> Timestamp {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(10);
    let wait = FIRST.checked_mul(1 << doublings).unwrap_or(LONGEST).min(LONGEST);
    moment.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// When a pod ended, as well as can be told: by its containers, by when it stopped being ready, by when it was told to go.
pub(super) fn ended_at(pod: &Pod) -> Timestamp {
    let stopped_being_ready = || {
        let ready = pod.condition("Ready").filter(|ready| ready.status == "False")?;
        ready.last_transition_time.as_ref().map(|time| time.0)
    };
    let told_to_go = || {
        let gone = pod.metadata.deletion_timestamp.as_ref()?.0;
        let grace = SignedDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
        gone.checked_sub(grace).ok()
    };
    let created = || pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    containers_ended_at(pod)
        .or_else(stopped_being_ready)
        .or_else(told_to_go)
        .or_else(created)
        .unwrap_or(Timestamp::MIN)
}

/// When the last container ended, if all have. Containers that run beside the others the whole time belong to them.
fn containers_ended_at(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    let beside = |status: &&ContainerStatus| {
        let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
        let mut sidecars = containers.filter(|init| init.restart_policy.as_deref() == Some("Always"));
        sidecars.any(|container| container.name == status.name)
    };
    let sidecars = status.init_container_statuses.iter().flatten().filter(beside);
    let all = status.container_statuses.iter().flatten().chain(sidecars);
    let ends = all.map(|container| {
        let ended = container.state.as_ref()?.terminated.as_ref()?;
        ended.finished_at.as_ref().map(|time| time.0)
    });
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests;
