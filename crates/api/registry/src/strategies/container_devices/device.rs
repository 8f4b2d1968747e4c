//! One device: what it is, how much of it there is, what keeps others away from it, and where it can be used.

use std::sync::LazyLock;

use kedge_kinds::field::{Errors, Path};
use regex::Regex;
use serde_json::Value;

use super::super::fields::{at, flag, has, list, map, text};
use super::super::names;
use super::super::pod::volumes::csi_driver;
use super::{parts, policy, slices};

/// As semver.org has it.
static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (number, word) = (r"(0|[1-9]\d*)", r"[0-9A-Za-z-]+");
    let part = r"(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)";
    let text = format!(r"^{number}\.{number}\.{number}(-{part}(\.{part})*)?(\+{word}(\.{word})*)?$");
    Regex::new(&text).ok()
});

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, device: &Value, is_placed_here: bool) {
    let (attributes, capacity) = (map(device, "attributes"), map(device, "capacity"));
    let total = attributes.len() + capacity.len();
    if total > 32 {
        let detail = "the total number of attributes and capacities must not exceed 32";
        errors.invalid(path, &total.into(), detail);
    }
    for (name, value) in attributes {
        let path = path.child("attributes");
        parts::qualified(errors, &path, name);
        attribute(errors, &path.key(name), value);
    }
    for (name, value) in capacity {
        let path = path.child("capacity");
        parts::qualified(errors, &path, name);
        let path = path.key(name);
        let (path, policy) = (path.child("requestPolicy"), at(value, "requestPolicy"));
        match (policy.is_null(), flag(device, "allowMultipleAllocations")) {
            (true, _) => {}
            (false, true) => policy::validate(errors, &path, policy, at(value, "value")),
            (false, false) => errors.forbidden(&path, "allowMultipleAllocations must be true"),
        }
    }
    let taints = list(device, "taints");
    parts::at_most(errors, &path.child("taints"), taints.len(), 16);
    for (i, taint) in taints.iter().enumerate() {
        tainted(errors, &path.child("taints").index(i), taint);
    }
    let drawn = list(device, "consumesCounters");
    parts::at_most(errors, &path.child("consumesCounters"), drawn.len(), 2);
    for (i, set) in drawn.iter().enumerate() {
        let path = path.child("consumesCounters");
        slices::counter_set(errors, &path.index(i), set, "counterSet", drawn.get(..i).unwrap_or_default());
    }
    nodes(errors, path, device, is_placed_here);
    binding(errors, path, device);
}

/// What has to be true of a device, and what must not become true, before a pod that was given it goes to its node.
fn binding(errors: &mut Errors, path: &Path<'_>, device: &Value) {
    const FIELDS: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    const MOST: usize = 4;
    let [wanted, feared] = FIELDS.map(|field| list(device, field));
    for (field, conditions) in FIELDS.into_iter().zip([wanted, feared]) {
        let path = path.child(field);
        parts::at_most(errors, &path, conditions.len(), MOST);
        for (i, condition) in conditions.iter().enumerate() {
            names::qualified(errors, &path.index(i), condition.as_str().unwrap_or_default());
            if conditions.iter().take(i).any(|other| other == condition) {
                errors.duplicate(&path.index(i), condition);
            }
        }
    }
    for (i, condition) in feared.iter().enumerate().filter(|(_, condition)| wanted.contains(condition)) {
        let detail = "bindingFailureConditions must not overlap with bindingConditions";
        errors.invalid(&path.child("bindingFailureConditions").index(i), condition, detail);
    }
    let [(all, first), (others, second)] = [(wanted, FIELDS[0]), (feared, FIELDS[1])];
    for (absent, field, present, other) in [(all, first, others, second), (others, second, all, first)] {
        if absent.is_empty() && !present.is_empty() {
            let detail = format!("{field} are required to use {other}");
            errors.invalid(&path.child(field), at(device, field), &detail);
        }
    }
}

fn attribute(errors: &mut Errors, path: &Path<'_>, attribute: &Value) {
    const VALUES: [&str; 8] = ["int", "bool", "string", "version", "ints", "bools", "strings", "versions"];
    let set = VALUES.iter().filter(|value| has(attribute, value)).count();
    match set {
        0 => names::wrong(errors, path, "", "exactly one value must be specified"),
        1 => {}
        _ => errors.invalid(path, attribute, "exactly one value must be specified"),
    }
    if text(attribute, "string").len() > 64 {
        errors.too_long(&path.child("string"), 64);
    }
    if let Value::String(said) = at(attribute, "version") {
        let path = path.child("version");
        if VERSION.as_ref().is_some_and(|version| !version.is_match(said)) {
            names::wrong(errors, &path, said, "must be a string compatible with semver.org spec 2.0.0");
        }
        if said.len() > 64 {
            errors.too_long(&path, 64);
        }
    }
}

fn tainted(errors: &mut Errors, path: &Path<'_>, taint: &Value) {
    names::qualified(errors, &path.child("key"), text(taint, "key"));
    names::label_value(errors, &path.child("value"), text(taint, "value"));
    let effects = &["NoExecute", "NoSchedule", "None"];
    names::one_of(errors, &path.child("effect"), text(taint, "effect"), effects);
}

/// Where it is, if its slice leaves that to each device, and nowhere else.
fn nodes(errors: &mut Errors, path: &Path<'_>, device: &Value, is_placed_here: bool) {
    const WAYS: [&str; 3] = ["nodeName", "nodeSelector", "allNodes"];
    if !is_placed_here {
        if WAYS.iter().any(|way| has(device, way)) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
            errors.invalid(path, &Value::Null, detail);
        }
        return;
    }
    match at(device, "nodeName") {
        Value::String(name) if name.is_empty() => {
            names::wrong(errors, &path.child("nodeName"), name, "must not be empty");
        }
        Value::String(name) => names::subdomain(errors, &path.child("nodeName"), name),
        _ => {}
    }
    if has(device, "nodeSelector") {
        slices::selector(errors, &path.child("nodeSelector"), at(device, "nodeSelector"));
    }
    slices::true_if_set(errors, path, device, "allNodes");
    let set: Vec<String> =
        WAYS.iter().filter(|way| slices::is_said(device, way)).map(|way| format!("`{way}`")).collect();
    let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    match set.len() {
        0 => errors.required(path, detail),
        1 => {}
        _ => names::wrong(errors, path, &format!("{{{}}}", set.join(", ")), detail),
    }
}

/// Which device was given out, and what has to be true of it.
pub(super) fn place(errors: &mut Errors, path: &Path<'_>, result: &Value) {
    csi_driver(errors, &path.child("driver"), text(result, "driver"));
    match text(result, "pool") {
        "" => errors.required(&path.child("pool"), ""),
        pool => pool.split('/').for_each(|part| names::subdomain(errors, &path.child("pool"), part)),
    }
    match text(result, "device") {
        "" => errors.required(&path.child("device"), ""),
        device => names::label(errors, &path.child("device"), device),
    }
    binding(errors, path, result);
}
