//! Deployments: rolling by a quarter unless told otherwise.

#[cfg(test)]
mod tests;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, fill_text, has, number, open, text};
use super::pod::defaults;
use super::{names, workload};
use crate::strategy::Strategy;

pub(super) struct Deployments;

impl Strategy for Deployments {
    fn default(&self, deployment: &mut Value) {
        fill(deployment, "status", Map::new());
        let Some(spec) = open(deployment, "spec") else { return };
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        defaults::template(spec);
        let Some(strategy) = open(spec, "strategy") else { return };
        fill_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = open(strategy, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", "25%");
            fill(rolling, "maxSurge", "25%");
        }
    }

    fn prepare_create(&self, deployment: &mut Value) {
        fill(deployment, "status", Map::new());
    }

    fn validate(&self, deployment: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(deployment, "spec"));
        workload::not_negative(errors, &path, spec, &["replicas"]);
        if workload::selector(errors, &path, spec, "deployment") {
            workload::selector_fits(errors, &path, spec);
            workload::template(errors, &path.child("template"), at(spec, "template"));
            workload::lasting(errors, &path.child("template"), at(spec, "template"), "ReplicaSet");
        }
        rolling(errors, &path.child("strategy"), at(spec, "strategy"));
        workload::not_negative(errors, &path, spec, &["minReadySeconds", "revisionHistoryLimit"]);
        workload::not_negative(errors, &path, spec, &["progressDeadlineSeconds"]);
        if number(spec, "progressDeadlineSeconds") <= number(spec, "minReadySeconds") {
            let detail = "must be greater than minReadySeconds";
            errors.invalid(
                &path.child("progressDeadlineSeconds"),
                at(spec, "progressDeadlineSeconds"),
                detail,
            );
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        workload::immutable(errors, &Path::root("spec"), at(new, "spec"), at(old, "spec"), &["selector"]);
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        const COUNTS: &[&str] = &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ];
        let status = at(new, "status");
        workload::not_negative(errors, &Path::root("status"), status, COUNTS);
        let within = &["updatedReplicas", "readyReplicas", "availableReplicas"];
        workload::at_most_replicas(errors, status, within, "readyReplicas");
        workload::not_decremented(errors, status, at(old, "status"));
    }

    fn warnings(&self, deployment: &Value) -> Vec<String> {
        workload::template_warnings(deployment)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn rolling(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let at_rolling = path.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if has(strategy, "rollingUpdate") {
                errors.forbidden(&at_rolling, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" => {
            let rolling = at(strategy, "rollingUpdate");
            let (unavailable, surge) = (at(rolling, "maxUnavailable"), at(rolling, "maxSurge"));
            names::share(errors, &at_rolling.child("maxUnavailable"), unavailable);
            names::share(errors, &at_rolling.child("maxSurge"), surge);
            if names::is_nothing(unavailable) && names::is_nothing(surge) {
                let path = at_rolling.child("maxUnavailable");
                errors.invalid(&path, unavailable, "may not be 0 when `maxSurge` is 0");
            }
            names::share_at_most_all(errors, &at_rolling.child("maxUnavailable"), unavailable);
        }
        _ => errors.not_supported(path, strategy, &["Recreate", "RollingUpdate"]),
    }
}
