//! CronJobs: when to make a Job, and how many to keep.

#[cfg(test)]
mod tests;

use kedge_cron::Schedule;
use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, fill_text, open, text};
use super::pod::warnings;
use super::{job, names, workload};
use crate::strategy::Strategy;

pub(super) struct CronJobs;

/// The names of all time zones, one a line, sorted.
const ZONES: &str = include_str!("cron_job/zones.txt");
/// A job's name is this one's with a dash and ten digits, and it must fit into a label.
const LONGEST_NAME: usize = 52;

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

    fn validate(&self, cron_job: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(cron_job, "spec"));
        let schedule = text(spec, "schedule");
        if schedule.is_empty() {
            errors.required(&path.child("schedule"), "");
        } else {
            if let Err(problem) = Schedule::parse(schedule) {
                names::wrong(errors, &path.child("schedule"), schedule, &problem.to_string());
            }
            if schedule.contains("TZ") {
                let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                names::wrong(errors, &path.child("schedule"), schedule, detail);
            }
        }
        workload::not_negative(errors, &path, spec, &["startingDeadlineSeconds"]);
        time_zone(errors, &path.child("timeZone"), at(spec, "timeZone"));
        let policy = text(spec, "concurrencyPolicy");
        names::one_of(errors, &path.child("concurrencyPolicy"), policy, &["Allow", "Forbid", "Replace"]);
        job::check_template(errors, &path.child("jobTemplate"), at(spec, "jobTemplate"));
        workload::not_negative(
            errors,
            &path,
            spec,
            &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
        );
        let name = text(at(cron_job, "metadata"), "name");
        if name.len() > LONGEST_NAME {
            let detail = "must be no more than 52 characters";
            names::wrong(errors, &Path::root("metadata").child("name"), name, detail);
        }
    }

    fn warnings(&self, cron_job: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let path = Path::root("spec");
        let path = path.child("jobTemplate");
        let path = path.child("spec");
        let path = path.child("template");
        let template = at(at(at(at(cron_job, "spec"), "jobTemplate"), "spec"), "template");
        warnings::of_spec(&path.child("spec"), at(template, "spec"), &mut found);
        found
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn time_zone(errors: &mut Errors, path: &Path<'_>, zone: &Value) {
    let Some(name) = zone.as_str() else { return };
    if name.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
    } else if name.eq_ignore_ascii_case("Local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(path, zone, detail);
    } else if !ZONES.lines().any(|known| known == name) {
        errors.invalid(path, zone, &format!("unknown time zone {name}"));
    }
}
