//! The Job for one time of a schedule. Its name goes by that time, so that no time has two.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use kedge_children::claim;
use kube::ResourceExt;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

pub(super) fn name(cron: &CronJob, moment: Timestamp) -> String {
    format!("{}-{}", cron.name_any(), moment.as_second().div_euclid(60))
}

pub(super) fn job(cron: &CronJob, moment: Timestamp, zone: &TimeZone) -> Job {
    let template = &cron.spec.job_template;
    let described = template.metadata.clone().unwrap_or_default();
    let mut job = Job { spec: template.spec.clone(), ..Job::default() };
    job.metadata.name = Some(name(cron, moment));
    job.metadata.namespace = cron.namespace();
    job.metadata.labels = described.labels;
    job.metadata.annotations = described.annotations;
    job.metadata.owner_references = Some(vec![claim::reference(cron)]);
    job.annotations_mut().insert(SCHEDULED.to_owned(), spelled(moment, zone));
    job
}

/// Made for a time of the schedule, not by hand.
pub(super) fn is_ours(cron: &CronJob, job: &Job) -> bool {
    let number = job.name_any();
    let number = number.strip_prefix(&cron.name_any()).and_then(|rest| rest.strip_prefix('-'));
    job.annotations().contains_key(SCHEDULED) && number.is_some_and(|number| number.parse::<i64>().is_ok())
}

/// The moment on the clock of the place.
fn spelled(moment: Timestamp, zone: &TimeZone) -> String {
    let there = moment.to_zoned(zone.clone());
    let form = if there.offset().seconds() == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    there.strftime(form).to_string()
}
