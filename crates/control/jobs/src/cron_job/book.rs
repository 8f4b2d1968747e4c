//! The book that a CronJob keeps of its jobs: its status in the making, and what there is to tell about it.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_engine::{Action, Severity};
use kube::ResourceExt;

use super::making;
use crate::finish;

/// The status in the making: which jobs are at work, when the schedule was last met, when one last succeeded.
pub(super) struct Book<'a> {
    cron: &'a CronJob,
    status: CronJobStatus,
    told: Vec<Action>,
}

impl<'a> Book<'a> {
    pub(super) fn open(cron: &'a CronJob, jobs: &[Arc<Job>]) -> Self {
        let mut book = Self { cron, status: cron.status.clone().unwrap_or_default(), told: Vec::new() };
        for job in jobs {
            match (finish::finished(job), book.has(job)) {
                (Some(end), true) => {
                    let message = format!("Saw completed job: {}, condition: {}", job.name_any(), end.type_);
                    book.tell(Severity::Normal, "SawCompletedJob", message);
                    book.strike(&job.uid().unwrap_or_default());
                }
                (None, false) if job.metadata.deletion_timestamp.is_none() => book.list(job),
                _ => {}
            }
        }
        let missing = book
            .status
            .active
            .iter()
            .flatten()
            .filter(|listed| !jobs.iter().any(|job| job.metadata.uid == listed.uid));
        for gone in missing.cloned().collect::<Vec<_>>() {
            let message = format!("Active job went missing: {}", gone.name.as_deref().unwrap_or_default());
            book.tell(Severity::Normal, "MissingJob", message);
            book.strike(gone.uid.as_deref().unwrap_or_default());
        }
        let successes = jobs.iter().filter(|job| finish::succeeded(job));
        let ends = successes.filter_map(|job| Some(job.status.as_ref()?.completion_time.as_ref()?.0));
        let known = book.status.last_successful_time.as_ref().map(|time| time.0);
        book.status.last_successful_time = ends.chain(known).max().map(Time);
        book
    }

    /// Jobs of ours are listed; one that somebody made in our name is only told of, while it is new.
    fn list(&mut self, job: &Job) {
        if !making::is_ours(self.cron, job) {
            if job.status.as_ref().is_none_or(|status| status.start_time.is_none()) {
                let message =
                    format!("Saw a job that the controller did not create or forgot: {}", job.name_any());
                self.tell(Severity::Warning, "UnexpectedJob", message);
            }
            return;
        }
        let reference = ObjectReference {
            api_version: Some("batch/v1".to_owned()),
            kind: Some("Job".to_owned()),
            namespace: job.namespace(),
            name: job.metadata.name.clone(),
            uid: job.uid(),
            resource_version: job.resource_version(),
            field_path: None,
        };
        self.status.active.get_or_insert_default().push(reference);
    }

    pub(super) fn has(&self, job: &Job) -> bool {
        self.status.active.iter().flatten().any(|listed| listed.uid == job.metadata.uid)
    }

    fn strike(&mut self, uid: &str) {
        let listed = self.status.active.get_or_insert_default();
        listed.retain(|one| one.uid.as_deref() != Some(uid));
        if listed.is_empty() {
            self.status.active = None;
        }
    }

    fn tell(&mut self, severity: Severity, reason: &'static str, message: String) {
        self.told.push(Action::tell(self.cron, severity, reason, message));
    }

    /// Jobs that go, and that it is said.
    pub(super) fn removals(&mut self, jobs: &[Arc<Job>]) -> Vec<Action> {
        jobs.iter().for_each(|job| self.strike(&job.uid().unwrap_or_default()));
        let told = jobs.iter().map(|job| {
            let message = format!("Deleted job {}", job.name_any());
            Action::tell(self.cron, Severity::Normal, "SuccessfulDelete", message)
        });
        jobs.iter().map(|job| Action::delete(&**job)).chain(told).collect()
    }

    pub(super) fn met(&mut self, moment: Timestamp) {
        self.status.last_schedule_time = Some(Time(moment));
    }

    /// Writes it down, if there is news.
    pub(super) fn close(self) -> Vec<Action> {
        let after = CronJob { status: Some(self.status), ..self.cron.clone() };
        let written = Action::status(self.cron, &after);
        written.into_iter().chain(self.told).collect()
    }
}
