//! DaemonSets: one pod a node, replaced one by one.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, fill, fill_text, open, same, text};
use super::pod::defaults;
use super::{names, workload};
use crate::strategy::Strategy;

pub(super) struct DaemonSets;

/// Counts the versions of the template; old clients still read it.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

impl Strategy for DaemonSets {
    fn default(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        // There before it is counted, so that whoever makes the set comes to own it.
        if text(at(at(set, "metadata"), "annotations"), TEMPLATE_GENERATION).is_empty() {
            set_generation(set, 0);
        }
        let Some(spec) = open(set, "spec") else { return };
        fill(spec, "revisionHistoryLimit", 10);
        defaults::template(spec);
        let Some(update) = open(spec, "updateStrategy") else { return };
        fill_text(update, "type", "RollingUpdate");
        if text(update, "type") == "RollingUpdate"
            && let Some(rolling) = open(update, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", 1);
            fill(rolling, "maxSurge", 0);
        }
    }

    fn prepare_create(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        set_generation(set, 1);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        let generation = generation(old);
        let changed = !same(at(at(new, "spec"), "template"), at(at(old, "spec"), "template"));
        set_generation(new, if changed { generation + 1 } else { generation });
    }

    fn validate(&self, set: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(set, "spec"));
        let selector = at(spec, "selector");
        names::selector(errors, &path.child("selector"), selector);
        if selector.is_null() {
            errors.required(&path.child("selector"), "");
        }
        workload::selector_fits(errors, &path, spec);
        if !selector.is_null() && names::selects_everything(selector) {
            errors.invalid(&path.child("selector"), selector, "empty selector is invalid for daemonset");
        }
        workload::template(errors, &path.child("template"), at(spec, "template"));
        workload::lasting(errors, &path.child("template"), at(spec, "template"), "DaemonSet");
        workload::not_negative(errors, &path, spec, &["minReadySeconds"]);
        strategy(errors, &path.child("updateStrategy"), at(spec, "updateStrategy"));
        workload::not_negative(errors, &path, spec, &["revisionHistoryLimit"]);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        workload::immutable(errors, &Path::root("spec"), at(new, "spec"), at(old, "spec"), &["selector"]);
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        const COUNTS: &[&str] = &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        workload::not_negative(errors, &Path::root("status"), at(new, "status"), COUNTS);
        workload::not_decremented(errors, at(new, "status"), at(old, "status"));
    }

    fn warnings(&self, set: &Value) -> Vec<String> {
        workload::template_warnings(set)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn empty_status() -> Value {
    json!({"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0})
}

fn generation(set: &Value) -> i64 {
    text(at(at(set, "metadata"), "annotations"), TEMPLATE_GENERATION).parse().unwrap_or(0)
}

fn set_generation(set: &mut Value, generation: i64) {
    let annotations = open(set, "metadata").and_then(|metadata| open(metadata, "annotations"));
    if let Some(annotations) = annotations {
        super::fields::put(annotations, TEMPLATE_GENERATION, generation.to_string());
    }
}

fn strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (path, rolling) = (path.child("rollingUpdate"), at(strategy, "rollingUpdate"));
            let (unavailable, surge) = (at(rolling, "maxUnavailable"), at(rolling, "maxSurge"));
            for (field, value) in [("maxUnavailable", unavailable), ("maxSurge", surge)] {
                names::share(errors, &path.child(field), value);
            }
            for (field, value) in [("maxUnavailable", unavailable), ("maxSurge", surge)] {
                names::share_at_most_all(errors, &path.child(field), value);
            }
            match (names::is_nothing(unavailable), names::is_nothing(surge)) {
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.invalid(&path.child("maxSurge"), surge, detail);
                }
                (true, true) => {
                    errors.required(&path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
                }
                _ => {}
            }
        }
        _ => errors.not_supported(path, strategy, &["RollingUpdate", "OnDelete"]),
    }
}
