//! Where a pod may, should and must not run: affinity, tolerations, spreading. Also used by volumes and classes.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::strategies::fields::{at, has, int, list, map, number, text, texts};
use crate::strategies::names;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
pub(in crate::strategies) const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn affinity(errors: &mut Errors, path: &Path<'_>, affinity: &Value) {
    if affinity.is_null() {
        return;
    }
    let node = at(affinity, "nodeAffinity");
    if !node.is_null() {
        let path = path.child("nodeAffinity");
        if has(node, REQUIRED) {
            node_selector(errors, &path.child(REQUIRED), at(node, REQUIRED));
        }
        for (i, term) in list(node, PREFERRED).iter().enumerate() {
            let path = path.child(PREFERRED);
            let path = path.index(i);
            weight(errors, &path, term);
            node_term(errors, &path.child("preference"), at(term, "preference"), false);
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let found = at(affinity, kind);
        let path = path.child(kind);
        for (i, term) in list(found, REQUIRED).iter().enumerate() {
            pod_term(errors, &path.child(REQUIRED).index(i), term);
        }
        for (i, term) in list(found, PREFERRED).iter().enumerate() {
            let path = path.child(PREFERRED);
            let path = path.index(i);
            weight(errors, &path, term);
            pod_term(errors, &path.child("podAffinityTerm"), at(term, "podAffinityTerm"));
        }
    }
}

fn weight(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    let weight = number(term, "weight");
    if !(1..=100).contains(&weight) {
        errors.invalid(&path.child("weight"), &weight.into(), "must be in the range 1-100");
    }
}

/// A choice of nodes: of a pod, of a volume, of a runtime class.
pub(in crate::strategies) fn node_selector(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    let path = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        return errors.required(&path, "must have at least one node selector term");
    }
    for (i, term) in terms.iter().enumerate() {
        node_term(errors, &path.index(i), term, true);
    }
}

fn node_term(errors: &mut Errors, path: &Path<'_>, term: &Value, strict: bool) {
    for (i, expression) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions");
        node_requirement(errors, &path.index(i), expression, strict);
    }
    for (i, requirement) in list(term, "matchFields").iter().enumerate() {
        let path = path.child("matchFields");
        let path = path.index(i);
        let operator = text(requirement, "operator");
        match operator {
            "In" | "NotIn" if list(requirement, "values").len() != 1 => {
                let detail =
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.required(&path.child("values"), detail);
            }
            "In" | "NotIn" => {}
            other => names::wrong(errors, &path.child("operator"), other, "not a valid selector operator"),
        }
        match text(requirement, "key") {
            "metadata.name" => {
                for (j, value) in texts(requirement, "values").enumerate() {
                    names::subdomain(errors, &path.child("values").index(j), value);
                }
            }
            other => names::wrong(errors, &path.child("key"), other, "not a valid field selector key"),
        }
    }
}

fn node_requirement(errors: &mut Errors, path: &Path<'_>, requirement: &Value, strict: bool) {
    let values = list(requirement, "values");
    let at_values = path.child("values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&at_values, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors
                .forbidden(&at_values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.required(&at_values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => names::wrong(errors, &path.child("operator"), other, "not a valid selector operator"),
    }
    names::qualified(errors, &path.child("key"), text(requirement, "key"));
    if strict {
        for (i, value) in texts(requirement, "values").enumerate() {
            names::label_value(errors, &at_values.index(i), value);
        }
    }
}

fn pod_term(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    names::selector(errors, &path.child("labelSelector"), at(term, "labelSelector"));
    names::selector(errors, &path.child("namespaceSelector"), at(term, "namespaceSelector"));
    for name in texts(term, "namespaces") {
        names::label(errors, &path.child("namespace"), name);
    }
    label_keys(errors, path, term, "matchLabelKeys");
    label_keys(errors, path, term, "mismatchLabelKeys");
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.required(&path.child("topologyKey"), "can not be empty");
    }
    names::qualified(errors, &path.child("topologyKey"), key);
}

fn label_keys(errors: &mut Errors, path: &Path<'_>, of: &Value, field: &str) {
    if list(of, field).is_empty() {
        return;
    }
    let at_keys = path.child(field);
    if !has(of, "labelSelector") {
        return errors.forbidden(&at_keys, "must not be specified when labelSelector is not set");
    }
    for (i, key) in texts(of, field).enumerate() {
        names::qualified(errors, &at_keys.index(i), key);
        if field == "matchLabelKeys" && texts(of, "mismatchLabelKeys").any(|other| other == key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            names::wrong(errors, &at_keys.index(i), key, detail);
        }
    }
}

fn above_zero(errors: &mut Errors, path: &Path<'_>, value: i64) {
    if value <= 0 {
        errors.invalid(path, &value.into(), "must be greater than zero");
    }
}

pub(super) fn spread(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let constraints = list(spec, "topologySpreadConstraints");
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        above_zero(errors, &path.child("maxSkew"), number(constraint, "maxSkew"));
        let (key, action) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            let known = &["DoNotSchedule", "ScheduleAnyway"];
            errors.not_supported(&path.child("whenUnsatisfiable"), &action.into(), known);
        }
        let repeats =
            |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if constraints.iter().skip(i + 1).any(repeats) {
            let shown = format!("{{{key}, {action}}}");
            errors.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), &shown.into());
        }
        if let Some(domains) = int(constraint, "minDomains") {
            let path = path.child("minDomains");
            above_zero(errors, &path, domains);
            if action != "DoNotSchedule" {
                let detail =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.invalid(&path, &domains.into(), &detail);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            names::one_of_if_set(errors, &path.child(field), at(constraint, field), &["Honor", "Ignore"]);
        }
        label_keys(errors, &path, constraint, "matchLabelKeys");
        for (j, key) in texts(constraint, "matchLabelKeys").enumerate() {
            if map(at(constraint, "labelSelector"), "matchLabels").contains_key(key) {
                let detail = "exists in both matchLabelKeys and labelSelector";
                names::wrong(errors, &path.child("matchLabelKeys").index(j), key, detail);
            }
        }
        names::selector(errors, &path.child("labelSelector"), at(constraint, "labelSelector"));
    }
}

/// Also of runtime classes.
pub(in crate::strategies) fn tolerations(errors: &mut Errors, path: &Path<'_>, of: &Value) {
    for (i, toleration) in list(of, "tolerations").iter().enumerate() {
        let path = path.index(i);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            names::qualified(errors, &path.child("key"), key);
        } else if operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            names::wrong(errors, &path.child("operator"), operator, detail);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            names::wrong(errors, &path.child("effect"), effect, detail);
        }
        match operator {
            "" | "Equal" => names::label_value(errors, &path.child("operator"), value),
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                names::wrong(errors, &path.child("operator"), value, detail);
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = &["Equal", "Exists", "Lt", "Gt"];
                errors.not_supported(&path.child("operator"), &operator.into(), known);
            }
            other => errors.not_supported(&path.child("operator"), &other.into(), &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            names::one_of(errors, &path.child("effect"), effect, TAINT_EFFECTS);
        }
    }
}
