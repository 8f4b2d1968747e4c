//! What may change in a pod that exists: very little. Everything else would need another pod.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::containers;
use crate::strategies::fields::{at, has, int, list, map, same, same_but, text};

const FORBIDDEN: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
     additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
     previously negative)";

const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) fn check(errors: &mut Errors, new: &Value, old: &Value) {
    annotations(errors, new, old);
    let path = Path::root("spec");
    let (new, old) = (at(new, "spec"), at(old, "spec"));
    for field in ["containers", "initContainers"] {
        if !same_number(errors, &path.child(field), list(new, field), list(old, field)) {
            return;
        }
    }
    if !deadline(errors, &path.child("activeDeadlineSeconds"), new, old) {
        return;
    }
    tolerations(errors, &path.child("tolerations"), new, old);
    gates(errors, &path.child("schedulingGates"), new, old);
    let gated = !list(old, "schedulingGates").is_empty();
    if gated {
        node_selector(errors, &path.child("nodeSelector"), new, old);
    }
    if !same_but_for_allowed(new, old, gated) {
        errors.forbidden(&path, FORBIDDEN);
    }
}

/// Annotations that say how the pod is confined and who made it: judged when it was made, so they stay as they were.
fn annotations(errors: &mut Errors, new: &Value, old: &Value) {
    let metadata = Path::root("metadata");
    let path = metadata.child("annotations");
    let (now, before) = (map(at(new, "metadata"), "annotations"), map(at(old, "metadata"), "annotations"));
    let called = |key: &str| match key {
        MIRROR => Some("mirror pod annotation"),
        _ => key.starts_with(APPARMOR).then_some("AppArmor annotations"),
    };
    for (key, value) in before {
        if let Some(called) = called(key).filter(|_| now.get(key) != Some(value)) {
            errors.forbidden(&path.key(key), &format!("may not remove or update {called}"));
        }
    }
    for key in now.keys().filter(|key| !before.contains_key(*key)) {
        if let Some(called) = called(key) {
            errors.forbidden(&path.key(key), &format!("may not add {called}"));
        }
    }
}

fn same_number(errors: &mut Errors, path: &Path<'_>, new: &[Value], old: &[Value]) -> bool {
    if new.len() != old.len() {
        errors.forbidden(path, "pod updates may not add or remove containers");
        return false;
    }
    for (i, container) in new.iter().enumerate() {
        containers::image_without_space(errors, &path.index(i), container);
    }
    true
}

/// A deadline may be set and brought forward, not taken back.
fn deadline(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) -> bool {
    match (int(new, "activeDeadlineSeconds"), int(old, "activeDeadlineSeconds")) {
        (Some(seconds), _) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            errors.invalid(path, &seconds.into(), "must be between 0 and 2147483647, inclusive");
            false
        }
        (Some(seconds), Some(before)) if before < seconds => {
            errors.invalid(path, &seconds.into(), "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            errors.invalid(path, &Value::Null, "must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

fn tolerations(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let kept = |before: &Value| {
        list(new, "tolerations").iter().any(|now| {
            ["key", "operator", "value", "effect"].iter().all(|field| text(now, field) == text(before, field))
        })
    };
    if !list(old, "tolerations").iter().all(kept) {
        errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
    }
}

fn gates(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    for (i, gate) in list(new, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !list(old, "schedulingGates").iter().any(|before| text(before, "name") == name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&path.index(i).child("name"), &detail);
        }
    }
}

/// While a pod waits at a gate its node selector may grow.
fn node_selector(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let now = map(new, "nodeSelector");
    if !map(old, "nodeSelector").iter().all(|(key, value)| now.get(key) == Some(value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid(path, at(new, "nodeSelector"), detail);
    }
}

fn same_but_for_allowed(new: &Value, old: &Value, gated: bool) -> bool {
    same_but(new, old, |field| match field {
        "activeDeadlineSeconds" | "tolerations" | "schedulingGates" => Some(true),
        "containers" | "initContainers" => Some(same_but_for_image(list(new, field), list(old, field))),
        "nodeSelector" if gated => Some(true),
        "affinity" if gated => Some(
            ["podAffinity", "podAntiAffinity"]
                .iter()
                .all(|kind| same(at(at(new, "affinity"), kind), at(at(old, "affinity"), kind))),
        ),
        "terminationGracePeriodSeconds" if int(old, field).is_some_and(|seconds| seconds < 0) => {
            Some(int(new, field) == Some(1) || at(new, field) == at(old, field))
        }
        _ => None,
    })
}

fn same_but_for_image(new: &[Value], old: &[Value]) -> bool {
    new.iter().zip(old).all(|(new, old)| same_but(new, old, |field| (field == "image").then_some(true)))
}

/// Once at a node, a pod stays; a status update never moves it.
pub(super) fn status(errors: &mut Errors, new: &Value, old: &Value) {
    annotations(errors, new, old);
    let (now, before) = (at(new, "spec"), at(old, "spec"));
    if has(before, "nodeName") && text(now, "nodeName") != text(before, "nodeName") {
        errors.forbidden(&Path::root("status").child("nodeName"), "may not be changed directly");
    }
}
