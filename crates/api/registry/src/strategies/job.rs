//! Jobs. A job finds its pods by its own uid, so selector and labels are made here.

mod check;
mod policies;
#[cfg(test)]
mod tests;
mod update;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, each, fill, fill_text, flag, has, map, open, put, text};
use super::pod::defaults;
use super::workload;
use crate::strategy::{Selectable, Strategy};

pub(super) struct Jobs;

const UID: &str = "batch.kubernetes.io/controller-uid";
const NAME: &str = "batch.kubernetes.io/job-name";
const OLD_UID: &str = "controller-uid";
const OLD_NAME: &str = "job-name";

impl Strategy for Jobs {
    fn default(&self, job: &mut Value) {
        fill(job, "status", Map::new());
        let Some(spec) = open(job, "spec") else { return };
        if !has(spec, "completions") && !has(spec, "parallelism") {
            fill(spec, "completions", 1);
        }
        fill(spec, "parallelism", 1);
        let retries = if has(spec, "backoffLimitPerIndex") { i64::from(i32::MAX) } else { 6 };
        fill(spec, "backoffLimit", retries);
        fill(spec, "completionMode", "NonIndexed");
        fill(spec, "suspend", false);
        fill(spec, "manualSelector", false);
        let replaced = if has(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        fill(spec, "podReplacementPolicy", replaced);
        template(spec);
        labels_of_template(job);
    }

    fn prepare_create(&self, job: &mut Value) {
        fill(job, "status", Map::new());
        if !flag(at(job, "spec"), "manualSelector") {
            own_selector(job);
        }
    }

    fn validate(&self, job: &Value, errors: &mut Errors) {
        check::job(errors, job);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        update::spec(errors, new, old);
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        update::status(errors, new, old);
    }

    fn warnings(&self, job: &Value) -> Vec<String> {
        workload::template_warnings(job)
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "status.successful", pointer: "/status/succeeded", absent: "0" }]
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

/// A job's spec as it stands in a CronJob: nothing has been generated yet.
pub(super) fn check_template(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    check::template(errors, path, template);
}

/// What a job's spec gets inside a CronJob too: there only the pods' part and the policies.
pub(super) fn template(spec: &mut Value) {
    if let Some(policy) = spec.get_mut("podFailurePolicy") {
        for rule in each(policy, "rules") {
            each(rule, "onPodConditions").for_each(|condition| fill_text(condition, "status", "True"));
        }
    }
    defaults::template(spec);
}

/// A job without labels shows its template's. Before its own labels are in the template it is too early: see
/// [`own_selector`]. One that chooses its pods itself gets none.
fn labels_of_template(job: &mut Value) {
    let spec = at(job, "spec");
    let labels = map(at(at(spec, "template"), "metadata"), "labels");
    let complete = labels.contains_key(UID) || flag(spec, "manualSelector");
    if complete && !labels.is_empty() && map(at(job, "metadata"), "labels").is_empty() {
        let labels = labels.clone();
        if let Some(metadata) = open(job, "metadata") {
            put(metadata, "labels", labels);
        }
    }
}

fn own_selector(job: &mut Value) {
    let uid = text(at(job, "metadata"), "uid").to_owned();
    let name = text(at(job, "metadata"), "name").to_owned();
    let Some(spec) = open(job, "spec") else { return };
    let labels = open(spec, "template")
        .and_then(|template| open(template, "metadata"))
        .and_then(|metadata| open(metadata, "labels"));
    if let Some(labels) = labels {
        for (label, value) in [(NAME, &name), (OLD_NAME, &name), (UID, &uid), (OLD_UID, &uid)] {
            fill(labels, label, value.as_str());
        }
    }
    let wanted = open(spec, "selector").and_then(|selector| open(selector, "matchLabels"));
    if let Some(wanted) = wanted {
        fill(wanted, UID, uid);
    }
    labels_of_template(job);
}
