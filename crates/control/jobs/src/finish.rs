//! Whether a job has ended, and how. Knows no controller.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition};

pub(crate) const COMPLETE: &str = "Complete";
pub(crate) const FAILED: &str = "Failed";

/// The condition that ended it.
pub(crate) fn finished(job: &Job) -> Option<&JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| matches!(&*condition.type_, COMPLETE | FAILED) && condition.status == "True")
}

pub(crate) fn succeeded(job: &Job) -> bool {
    finished(job).is_some_and(|condition| condition.type_ == COMPLETE)
}

pub(crate) fn finished_at(job: &Job) -> Option<Timestamp> {
    finished(job)?.last_transition_time.as_ref().map(|time| time.0)
}
