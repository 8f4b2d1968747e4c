//! Whether a job is about to end, how and why. Once it is noted, an ending stays: the first reason wins.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;

use super::policy::Meaning;
use super::scene::Scene;
use super::success;

/// What is noted before the pods are let go, and what is said when all of them are gone.
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) succeeds: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Ending {
    fn failure(reason: &str, message: impl Into<String>) -> Self {
        Self { succeeds: false, reason: reason.to_owned(), message: message.into() }
    }

    pub(super) fn completion() -> Self {
        let message = "Reached expected number of succeeded pods".to_owned();
        Self { succeeds: true, reason: "CompletionsReached".to_owned(), message }
    }

    /// The condition that notes it.
    pub(super) fn interim(&self) -> &'static str {
        if self.succeeds { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET }
    }
}

/// An ending that does not wait for the pods at work. `started` is when the job was.
pub(super) fn of(scene: &Scene, started: Option<Timestamp>, now: Timestamp) -> Option<Ending> {
    noted(scene).or_else(|| failure(scene, started, now)).or_else(|| lost_indexes(scene)).or_else(|| {
        let policy = scene.facts.spec.success_policy.as_ref();
        let message = success::met(policy, scene.facts.indexes_end(), &scene.succeeded_indexes)?;
        Some(Ending { succeeds: true, reason: "SuccessPolicy".to_owned(), message })
    })
}

/// When the job's time is up.
pub(super) fn deadline(scene: &Scene, started: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = scene.facts.spec.active_deadline_seconds.filter(|_| !scene.facts.is_suspended())?;
    started?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn noted(scene: &Scene) -> Option<Ending> {
    [SUCCESS_CRITERIA_MET, FAILURE_TARGET].into_iter().find_map(|type_| {
        let condition = scene.facts.condition(type_)?;
        Some(Ending {
            succeeds: type_ == SUCCESS_CRITERIA_MET,
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        })
    })
}

fn failure(scene: &Scene, started: Option<Timestamp>, now: Timestamp) -> Option<Ending> {
    let by_policy =
        scene.pods.iter().filter(|pod| scene.is_failed(pod)).find_map(|pod| match scene.meaning(pod) {
            Meaning::FailsJob(why) => Some(Ending::failure("PodFailurePolicy", why)),
            Meaning::Counts | Meaning::Ignored | Meaning::FailsIndex => None,
        });
    if by_policy.is_some() {
        return by_policy;
    }
    if scene.failed > scene.facts.backoff_limit() || has_restarted_too_often(scene) {
        let message = "Job has reached the specified backoff limit";
        return Some(Ending::failure("BackoffLimitExceeded", message));
    }
    let late = deadline(scene, started).is_some_and(|deadline| deadline <= now);
    late.then(|| Ending::failure("DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// Pods that restart in place fail without ending.
fn has_restarted_too_often(scene: &Scene) -> bool {
    let template = scene.facts.spec.template.spec.as_ref();
    if template.and_then(|spec| spec.restart_policy.as_deref()) != Some("OnFailure") {
        return false;
    }
    let restarts = |pod: &Pod| -> usize {
        let statuses = pod.status.iter().flat_map(|status| {
            status.container_statuses.iter().chain(&status.init_container_statuses).flatten()
        });
        statuses.map(|container| usize::try_from(container.restart_count).unwrap_or(0)).sum()
    };
    let alive = scene.pods.iter().filter(|pod| matches!(pod.phase(), "Running" | "Pending"));
    let total: usize = alive.map(|pod| restarts(pod)).sum();
    total >= scene.facts.backoff_limit().max(1)
}

fn lost_indexes(scene: &Scene) -> Option<Ending> {
    let lost = scene.failed_indexes.as_ref()?.len();
    let bearable = scene.facts.spec.max_failed_indexes.map(|most| usize::try_from(most).unwrap_or(0));
    if bearable.is_some_and(|most| lost > most) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Ending::failure("MaxFailedIndexesExceeded", message));
    }
    let all_settled = lost + scene.succeeded_indexes.len() >= scene.facts.indexes_end();
    (lost > 0 && all_settled).then(|| Ending::failure("FailedIndexes", "Job has failed indexes"))
}
