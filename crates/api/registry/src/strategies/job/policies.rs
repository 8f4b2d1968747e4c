//! When a Job counts as failed or done before all of its pods are through.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::strategies::fields::{at, has, int, list, number, text};
use crate::strategies::names;

pub(super) fn failure(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
    let rules = list(at(spec, "podFailurePolicy"), "rules");
    let path = path.child("rules");
    if rules.len() > 20 {
        errors.too_many(&path, rules.len(), 20);
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        match text(rule, "action") {
            "" => {
                let detail = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
                errors.required(&path.child("action"), detail);
            }
            "FailIndex" if !has(spec, "backoffLimitPerIndex") => {
                let detail = "requires the backoffLimitPerIndex to be set";
                names::wrong(errors, &path.child("action"), "FailIndex", detail);
            }
            other => names::one_of(errors, &path.child("action"), other, ACTIONS),
        }
        let conditions = list(rule, "onPodConditions");
        if has(rule, "onExitCodes") {
            exit_codes(
                errors,
                &path.child("onExitCodes"),
                at(rule, "onExitCodes"),
                at(at(spec, "template"), "spec"),
            );
        }
        for (j, condition) in conditions.iter().enumerate() {
            let path = path.child("onPodConditions");
            let path = path.index(j);
            names::qualified(errors, &path.child("type"), text(condition, "type"));
            let status = text(condition, "status");
            names::one_of(errors, &path.child("status"), status, &["False", "True", "Unknown"]);
        }
        match (has(rule, "onExitCodes"), conditions.is_empty()) {
            (true, false) => {
                errors.invalid_unshown(
                    &path,
                    "specifying both OnExitCodes and OnPodConditions is not supported",
                );
            }
            (false, true) => {
                errors
                    .invalid_unshown(&path, "specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn exit_codes(errors: &mut Errors, path: &Path<'_>, codes: &Value, pod: &Value) {
    names::one_of(errors, &path.child("operator"), text(codes, "operator"), &["In", "NotIn"]);
    if let Some(name) = at(codes, "containerName").as_str() {
        let mut known = list(pod, "containers").iter().chain(list(pod, "initContainers"));
        if !known.any(|container| text(container, "name") == name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            names::wrong(errors, &path.child("containerName"), name, detail);
        }
    }
    let values: Vec<i64> = list(codes, "values").iter().filter_map(Value::as_i64).collect();
    let path = path.child("values");
    if values.is_empty() {
        errors.invalid(&path, at(codes, "values"), "at least one value is required");
    } else if values.len() > 255 {
        errors.too_many(&path, values.len(), 255);
    }
    for (i, value) in values.iter().enumerate() {
        if text(codes, "operator") == "In" && *value == 0 {
            errors.invalid(&path.index(i), &0.into(), "must not be 0 for the In operator");
        }
        if values.iter().take(i).any(|other| other == value) {
            errors.duplicate(&path.index(i), &(*value).into());
        }
    }
    if !values.is_sorted() {
        errors.invalid(&path, at(codes, "values"), "must be ordered");
    }
}

pub(super) fn success(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let policy = at(spec, "successPolicy");
    if text(spec, "completionMode") != "Indexed" {
        return errors.invalid(path, policy, "requires indexed completion mode");
    }
    let rules = list(policy, "rules");
    let path = path.child("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(&path, detail);
    }
    if rules.len() > 20 {
        errors.too_many(&path, rules.len(), 20);
    }
    let completions = number(spec, "completions");
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        if !has(rule, "succeededCount") && !has(rule, "succeededIndexes") {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            errors.required(&path, detail);
        }
        if let Some(count) = int(rule, "succeededCount") {
            let path = path.child("succeededCount");
            names::not_negative(errors, &path, count);
            if count > completions {
                let detail = format!(
                    "must be less than or equal to {completions} (the number of specified completions)"
                );
                errors.invalid(&path, &count.into(), &detail);
            }
        }
    }
}
