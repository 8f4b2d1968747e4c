//! Removes jobs that have ended some time ago, if they ask for it. Knows nothing of their pods: those go with them.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kedge_engine::{Action, Controller, NotReady, Plan, Target, World};

use crate::finish;

pub struct FinishedJobs;

impl Controller for FinishedJobs {
    type Root = Job;
    const NAME: &'static str = "ttl-after-finished-controller";

    fn watch(&self, _world: &World) {}

    fn plan(&self, job: &Job, _world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let Some(end) = end(job) else { return Ok(Plan::default()) };
        if now < end {
            return Ok(Plan::default().again_at(Some(end)));
        }
        Ok(Plan::from([Action::Delete {
            target: Target::of(job),
            propagation: "Foreground",
            grace_seconds: None,
            // Somebody may have given it more time since.
            unchanged: true,
        }]))
    }
}

/// When it may go; `None` if nobody said so.
fn end(job: &Job) -> Option<Timestamp> {
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let after = job.spec.as_ref()?.ttl_seconds_after_finished?;
    finish::finished_at(job)?.checked_add(SignedDuration::from_secs(after.into())).ok()
}

#[cfg(test)]
mod tests;
