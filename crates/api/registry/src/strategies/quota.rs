//! ResourceQuotas.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, list, map, text, texts};
use super::{amounts, names};
use crate::strategy::Strategy;

pub(super) struct Quotas;

impl Strategy for Quotas {
    fn default(&self, quota: &mut Value) {
        fill(quota, "spec", Map::new());
        fill(quota, "status", Map::new());
    }

    fn prepare_create(&self, quota: &mut Value) {
        fill(quota, "status", Map::new());
    }

    fn validate(&self, quota: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(quota, "spec"));
        counted(errors, &path.child("hard"), spec, "hard");
        scopes(errors, &path.child("scopes"), spec);
        scope_selector(errors, &path, spec);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let sorted = |quota| {
            let mut scopes: Vec<&str> = texts(at(quota, "spec"), "scopes").collect();
            scopes.sort_unstable();
            scopes
        };
        if sorted(new) != sorted(old) {
            errors.invalid(
                &Path::root("spec").child("scopes"),
                at(at(new, "spec"), "scopes"),
                "field is immutable",
            );
        }
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        let path = Path::root("status");
        for field in ["hard", "used"] {
            counted(errors, &path.child(field), at(new, "status"), field);
        }
    }
}

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

fn counted(errors: &mut Errors, path: &Path<'_>, of: &Value, field: &str) {
    for (name, value) in map(of, field) {
        amounts::quota_resource(errors, &path.key(name), name);
        amounts::resource_amount(errors, &path.key(name), name, value);
    }
}

/// The scope says something about this resource.
fn applies(scope: &str, resource: &str) -> bool {
    const COMPUTE: &[&str] =
        &["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

fn scopes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let all = at(spec, "scopes");
    for scope in texts(spec, "scopes") {
        if !SCOPES.contains(&scope) {
            errors.invalid(path, all, "unsupported scope");
        }
        for resource in map(spec, "hard").keys() {
            if !resource.contains('/') && !applies(scope, resource) {
                errors.invalid(path, all, "unsupported scope applied to resource");
            }
        }
    }
    let has = |wanted: &str| texts(spec, "scopes").any(|scope| scope == wanted);
    for [one, other] in OPPOSITES {
        if has(one) && has(other) {
            errors.invalid(path, all, "conflicting scopes");
        }
    }
}

fn scope_selector(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let path = path.child("scopeSelector");
    let path = path.child("matchExpressions");
    for expression in list(at(spec, "scopeSelector"), "matchExpressions") {
        let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
        if !SCOPES.contains(&scope) {
            names::wrong(errors, &path.child("scopeName"), scope, "unsupported scope");
        }
        for resource in map(spec, "hard").keys() {
            if !resource.contains('/') && !applies(scope, resource) {
                errors.invalid(&path, at(spec, "scopeSelector"), "unsupported scope applied to resource");
            }
        }
        let values = list(expression, "values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.required(&path.child("values"), detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.invalid(&path.child("values"), at(expression, "values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => names::wrong(errors, &path.child("operator"), other, "not a valid selector operator"),
        }
    }
}
