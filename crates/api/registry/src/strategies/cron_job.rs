//! CronJobs: when to make a Job, and how many to keep.

use serde_json::{Map, Value};

use super::fields::{fill, fill_text, open};
use super::job;
use crate::strategy::Strategy;

pub(super) struct CronJobs;

impl Strategy for CronJobs {
    fn default(&self, cron_job: &mut Value) {
        fill(cron_job, "status", Map::new());
        let Some(spec) = open(cron_job, "spec") else { return };
        fill_text(spec, "concurrencyPolicy", "Allow");
        fill(spec, "suspend", false);
        fill(spec, "successfulJobsHistoryLimit", 3);
        fill(spec, "failedJobsHistoryLimit", 1);
        if let Some(template) = open(spec, "jobTemplate") {
            fill(template, "metadata", Map::new());
            if let Some(inner) = open(template, "spec") {
                job::template(inner);
            }
        }
    }

    fn prepare_create(&self, cron_job: &mut Value) {
        fill(cron_job, "status", Map::new());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
