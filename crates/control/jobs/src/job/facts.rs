//! What is asked of a job. Reads its fields; decides nothing.

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods};

/// What a job that names nobody names.
const OURSELVES: &str = "kubernetes.io/job-controller";

/// A job of which the parts that may be absent are filled in.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) spec: JobSpec,
    pub(super) status: JobStatus,
    pub(super) uncounted: UncountedTerminatedPods,
    pub(super) is_leaving: bool,
}

impl Facts {
    pub(super) fn of(job: &Job) -> Self {
        let mut status = job.status.clone().unwrap_or_default();
        Self {
            spec: job.spec.clone().unwrap_or_default(),
            uncounted: status.uncounted_terminated_pods.take().unwrap_or_default(),
            status,
            is_leaving: job.metadata.deletion_timestamp.is_some(),
        }
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    pub(super) fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    /// How many successes are wanted; `None` if one says that all is done.
    pub(super) fn completions(&self) -> Option<usize> {
        self.spec.completions.map(count)
    }

    /// One more than the highest index.
    pub(super) fn indexes_end(&self) -> usize {
        self.completions().unwrap_or(0)
    }

    pub(super) fn parallelism(&self) -> usize {
        count(self.spec.parallelism.unwrap_or(1))
    }

    pub(super) fn backoff_limit(&self) -> usize {
        count(self.spec.backoff_limit.unwrap_or(6))
    }

    /// How often each index may fail, if they are judged one by one.
    pub(super) fn index_limit(&self) -> Option<usize> {
        self.spec.backoff_limit_per_index.filter(|_| self.is_indexed()).map(count)
    }

    /// A pod that is on its way out is not replaced before it has ended.
    pub(super) fn awaits_the_end_of_pods(&self) -> bool {
        self.spec.pod_replacement_policy.as_deref() == Some("Failed")
            || self.spec.pod_failure_policy.is_some()
    }

    pub(super) fn condition(&self, type_: &str) -> Option<&JobCondition> {
        let held = |condition: &&JobCondition| condition.type_ == type_ && condition.status == "True";
        self.status.conditions.iter().flatten().find(held)
    }
}

/// It is somebody else's work.
pub(crate) fn is_elsewhere(job: &Job) -> bool {
    let by = job.spec.as_ref().and_then(|spec| spec.managed_by.as_deref());
    by.is_some_and(|by| by != OURSELVES)
}

fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}
