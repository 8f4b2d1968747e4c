//! What all workloads share: a template of pods, a selector that finds them, counts that are not negative.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::fields::{at, has, int, list, number, same, text};
use super::names;
use super::pod::{check, warnings};

/// A workload's template: `spec.template`.
pub(super) fn template(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    let metadata = at(template, "metadata");
    names::labels(errors, &path.child("labels"), metadata, "labels");
    names::annotations(errors, &path.child("annotations"), metadata);
    let spec = at(template, "spec");
    check::spec(errors, &path.child("spec"), spec, "", false);
    if !list(spec, "ephemeralContainers").is_empty() {
        let path = path.child("spec");
        errors.forbidden(
            &path.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

/// Pods of a workload that keeps them running: they always restart and have no deadline.
pub(super) fn lasting(errors: &mut Errors, path: &Path<'_>, template: &Value, kind: &str) {
    let (path, spec) = (path.child("spec"), at(template, "spec"));
    let policy = text(spec, "restartPolicy");
    if policy != "Always" {
        errors.not_supported(&path.child("restartPolicy"), &policy.into(), &["Always"]);
    }
    if has(spec, "activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&path.child("activeDeadlineSeconds"), &detail);
    }
}

/// A selector that is there, makes sense and chooses something less than everything. False where it cannot be used
/// further.
pub(super) fn selector(errors: &mut Errors, path: &Path<'_>, spec: &Value, kind: &str) -> bool {
    let selector = at(spec, "selector");
    let path = path.child("selector");
    if selector.is_null() {
        errors.required(&path, "");
        return true;
    }
    let before = errors.len();
    names::selector(errors, &path, selector);
    if names::selects_everything(selector) {
        errors.invalid(&path, selector, &format!("empty selector is invalid for {kind}"));
        return true;
    }
    if errors.len() > before {
        errors.invalid(&path, selector, "invalid label selector");
        return false;
    }
    true
}

/// The selector must choose the workload's own pods.
pub(super) fn selector_fits(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let selector = at(spec, "selector");
    // A selector of everything has been refused already.
    if !selector.is_null() && names::selects_everything(selector) {
        return;
    }
    let labels = at(at(at(spec, "template"), "metadata"), "labels");
    if selector.is_null() || !names::selects(selector, labels) {
        let path = path.child("template");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&path.child("metadata").child("labels"), labels, detail);
    }
}

pub(super) fn not_negative(errors: &mut Errors, path: &Path<'_>, of: &Value, fields: &[&str]) {
    for field in fields {
        if let Some(value) = int(of, field) {
            names::not_negative(errors, &path.child(field), value);
        }
    }
}

/// Counts of a status are not above the count of all.
pub(super) fn at_most_replicas(errors: &mut Errors, status: &Value, fields: &[&str], ready: &str) {
    let path = Path::root("status");
    let all = number(status, "replicas");
    for field in fields {
        if number(status, field) > all {
            errors.invalid(&path.child(field), at(status, field), "cannot be greater than status.replicas");
        }
    }
    if number(status, "availableReplicas") > number(status, "readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        errors.invalid(&path.child("availableReplicas"), at(status, "availableReplicas"), &detail);
    }
}

pub(super) const IMMUTABLE: &str = "field is immutable";

/// Fields that stay what they were at creation.
pub(super) fn immutable(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value, fields: &[&str]) {
    for field in fields {
        let (now, before) = (at(new, field), at(old, field));
        if !same(now, before) {
            errors.invalid(&path.child(field), now, IMMUTABLE);
        }
    }
}

/// A collision count only grows.
pub(super) fn not_decremented(errors: &mut Errors, new: &Value, old: &Value) {
    if number(new, "collisionCount") < number(old, "collisionCount") {
        let value = number(new, "collisionCount").into();
        errors.invalid(&Path::root("status").child("collisionCount"), &value, "cannot be decremented");
    }
}

/// Warnings about the template of a workload.
pub(super) fn template_warnings(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let path = Path::root("spec");
    let path = path.child("template");
    warnings::of_spec(&path.child("spec"), at(at(at(object, "spec"), "template"), "spec"), &mut found);
    found
}
