//! How many ended jobs are kept.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{CronJob, Job};

use crate::finish;

/// Ended jobs beyond what is to be kept, those that started first.
pub(super) fn surplus(cron: &CronJob, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let spec = &cron.spec;
    let limits = [(true, spec.successful_jobs_history_limit), (false, spec.failed_jobs_history_limit)];
    limits.into_iter().flat_map(|(succeeded, limit)| oldest(jobs, succeeded, limit)).collect()
}

fn oldest(jobs: &[Arc<Job>], succeeded: bool, limit: Option<i32>) -> Vec<Arc<Job>> {
    let Some(limit) = limit else { return Vec::new() };
    let staying = |job: &&Arc<Job>| job.metadata.deletion_timestamp.is_none();
    let ended = |job: &&Arc<Job>| finish::finished(job).is_some() && finish::succeeded(job) == succeeded;
    let mut ended: Vec<Arc<Job>> = jobs.iter().filter(staying).filter(ended).cloned().collect();
    let started =
        |job: &Job| job.status.as_ref().and_then(|status| status.start_time.clone()).map(|time| time.0);
    // One that never started counts as the youngest.
    ended.sort_by_key(|job| (started(job).is_none(), started(job), job.metadata.name.clone()));
    let surplus = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    ended.truncate(surplus);
    ended
}
