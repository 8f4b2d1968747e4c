//! Work that ends: every Job has ended or says truly how far it is, and holds on to no pod that has ended.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::{All, controller, same};

const TRACKING: &str = "batch.kubernetes.io/job-tracking";

pub(super) fn check(all: &All<'_>, wrong: &mut Vec<String>) {
    all.kind::<CronJob>().iter().for_each(|cron| ticks(all, cron, wrong));
    all.kind::<Job>().iter().for_each(|job| ended(all, job, wrong));
    for pod in all.kind::<Pod>() {
        let over = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let held = pod.finalizers().iter().any(|name| name == TRACKING);
        if held && matches!(over, Some("Succeeded" | "Failed")) {
            wrong.push(format!("Pod {} has ended and is still counted on", pod.name_any()));
        }
    }
}

/// Suspended for an hour: nothing runs, and of what ran only as much is kept as was asked for.
fn ticks(all: &All<'_>, cron: &CronJob, wrong: &mut Vec<String>) {
    let jobs: Vec<Job> = all
        .kind::<Job>()
        .into_iter()
        .filter(|job| controller(&job.metadata) == cron.metadata.uid.as_deref())
        .collect();
    let with = |type_: &str| {
        let has = |job: &&Job| {
            let status = job.status.clone().unwrap_or_default();
            status.conditions.iter().flatten().any(|known| known.type_ == type_ && known.status == "True")
        };
        jobs.iter().filter(has).count()
    };
    same(wrong, cron, "whether more than three good jobs are kept", with("Complete") > 3, false);
    same(wrong, cron, "whether more than one bad job is kept", with("Failed") > 1, false);
    let active = cron.status.as_ref().map_or(0, |status| status.active.iter().flatten().count());
    same(wrong, cron, "status.active", active, jobs.len() - with("Complete") - with("Failed"));
}

fn ended(all: &All<'_>, job: &Job, wrong: &mut Vec<String>) {
    let Some(spec) = &job.spec else { return };
    let status = job.status.clone().unwrap_or_default();
    let has = |type_: &str| {
        status.conditions.iter().flatten().any(|known| known.type_ == type_ && known.status == "True")
    };
    let active = i32::try_from(all.pods_of(&job.metadata).len()).unwrap_or(i32::MAX);
    same(wrong, job, "status.active", status.active.unwrap_or(0), active);
    if has("Complete") {
        let completions = spec.completions.unwrap_or(1);
        same(wrong, job, "status.succeeded", status.succeeded.unwrap_or(0), completions);
    }
    if has("Complete") || has("Failed") || spec.suspend == Some(true) {
        same(wrong, job, "the number of active pods", active, 0);
    } else if spec.parallelism != Some(0) {
        wrong.push(format!("Job {} has neither ended nor been suspended: {status:?}", job.name_any()));
    }
    if let Some(uncounted) = &status.uncounted_terminated_pods {
        let left = uncounted.failed.iter().flatten().chain(uncounted.succeeded.iter().flatten()).count();
        same(wrong, job, "the number of uncounted pods", left, 0);
    }
}
