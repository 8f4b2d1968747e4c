//! `resize`: a pod gets other amounts of CPU and memory, and nothing else about it changes.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::object;
use crate::strategies::pod;

/// Lists of containers that may be resized, and how Kubernetes says that nothing but CPU and memory may.
const LISTS: [(&str, &str); 2] = [
    ("containers", "only cpu and memory resources are mutable"),
    ("initContainers", "only cpu and memory resources for init or sidecar containers are mutable"),
];
const MUTABLE: [&str; 2] = ["cpu", "memory"];

/// Only the resources of the pod and of containers that are there, and how a change of them is to be met.
pub(super) fn confine(new: &mut Value, sent: &Value) {
    object::carry(object::map_mut(new, "spec"), object::at(sent, &["spec", "resources"]), "resources");
    for (list, _) in LISTS {
        let containers =
            new.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = object::text(container, &["name"]);
            let wanted = of(sent, list).iter().find(|one| object::text(one, &["name"]) == name);
            if let Some(wanted) = wanted {
                for field in ["resources", "resizePolicy"] {
                    object::carry(object::as_map(container), wanted.get(field), field);
                }
            }
        }
    }
}

pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let spec = Path::root("spec");
    let before = pod::quality(old);
    if pod::quality(new) != before {
        errors.invalid(&spec, &before.into(), "Pod QOS Class may not change as a result of resizing");
    }
    of_pod(new, old, errors);
    for (list, only) in LISTS {
        for (index, (now, before)) in of(new, list).iter().zip(of(old, list)).enumerate() {
            let path = spec.child(list);
            let path = path.index(index);
            let resources = path.child("resources");
            for (field, detail) in [
                ("requests", "resource requests cannot be removed"),
                ("limits", "resource limits cannot be removed"),
            ] {
                let (now, before) = (amounts(now, field), amounts(before, field));
                if before.keys().any(|name| !now.contains_key(name)) {
                    errors.forbidden(&resources.child(field), detail);
                }
            }
            if !agree(now, before) {
                errors.forbidden(if list == "containers" { &spec } else { &path }, only);
            }
        }
    }
}

/// What the pod as a whole may have.
fn of_pod(new: &Value, old: &Value, errors: &mut Errors) {
    let (Some(now), Some(before)) = (new.get("spec"), old.get("spec")) else { return };
    let spec = Path::root("spec");
    let resources = spec.child("resources");
    let is_set = |spec: &Value| spec.get("resources").is_some_and(|resources| !resources.is_null());
    if is_set(before) && !is_set(now) {
        errors.forbidden(&resources, "pod-level resources cannot be removed");
        return;
    }
    for (field, detail) in [
        ("requests", "pod-level resource requests cannot be removed"),
        ("limits", "pod-level resource limits cannot be removed"),
    ] {
        if amounts(before, field).keys().any(|name| !amounts(now, field).contains_key(name)) {
            errors.forbidden(&resources.child(field), detail);
        }
    }
    if !is_fixed_same(now, before) {
        errors.forbidden(&spec, "only cpu and memory resources are mutable at pod-level");
    }
}

fn of<'p>(pod: &'p Value, list: &str) -> &'p [Value] {
    object::at(pod, &["spec", list]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn amounts<'c>(container: &'c Value, field: &str) -> &'c serde_json::Map<String, Value> {
    static NONE: std::sync::LazyLock<serde_json::Map<String, Value>> =
        std::sync::LazyLock::new(Default::default);
    object::at(container, &["resources", field]).and_then(Value::as_object).unwrap_or(&NONE)
}

/// Nothing differs but what a resize may change.
fn agree(now: &Value, before: &Value) -> bool {
    is_fixed_same(now, before) && now.get("resizePolicy") == before.get("resizePolicy")
}

fn is_fixed_same(now: &Value, before: &Value) -> bool {
    let fixed = |container, field| {
        amounts(container, field).iter().filter(|(name, _)| !MUTABLE.contains(&name.as_str()))
    };
    let claims = |container| object::at(container, &["resources", "claims"]);
    fixed(now, "requests").eq(fixed(before, "requests"))
        && fixed(now, "limits").eq(fixed(before, "limits"))
        && claims(now) == claims(before)
}
