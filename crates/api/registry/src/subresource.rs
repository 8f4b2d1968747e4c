//! The parts of an object that have a path of their own. `status` is as common as the object itself and stands in
//! `update`; here are those of a few kinds.

pub(crate) mod binding;
pub(crate) mod eviction;
pub(crate) mod scale;

use kedge_kinds::Kind;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::object;

/// Everything that a subresource doesn't own is the old object's.
pub(crate) fn confine(kind: &Kind, part: &str, new: &mut Value, old: &Value) {
    let sent = std::mem::replace(new, old.clone());
    let keep_metadata = matches!(part, "status" | "approval");
    if keep_metadata {
        // Labels and annotations may be changed along with a status, with few exceptions.
        let mut metadata = sent.get("metadata").cloned().unwrap_or_default();
        let kept = match &*kind.kind {
            "Deployment" => "labels",
            _ => "ownerReferences",
        };
        if matches!(&*kind.kind, "Deployment" | "Pod") {
            object::carry(object::as_map(&mut metadata), object::meta(old, kept), kept);
        }
        object::as_map(new).insert("metadata".to_owned(), metadata);
    } else {
        let managers = object::meta(&sent, "managedFields").cloned();
        object::carry(object::meta_mut(new), managers.as_ref(), "managedFields");
    }
    match part {
        "status" | "approval" => object::carry(object::as_map(new), sent.get("status"), "status"),
        "finalize" => take(new, &sent, &["spec", "finalizers"]),
        "ephemeralcontainers" => take(new, &sent, &["spec", "ephemeralContainers"]),
        "resize" => resize(new, &sent),
        _ => {}
    }
}

fn take(new: &mut Value, sent: &Value, [part, field]: &[&str; 2]) {
    let value = object::at(sent, &[part, field]);
    object::carry(object::map_mut(new, part), value, field);
}

/// Only the resources of containers that are there, and how a change of them is to be met.
fn resize(new: &mut Value, sent: &Value) {
    for list in ["containers", "initContainers"] {
        let Some(containers) =
            new.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut)
        else {
            continue;
        };
        let wanted = object::at(sent, &["spec", list]).and_then(Value::as_array);
        for container in containers {
            let name = object::text(container, &["name"]).to_owned();
            let wanted = wanted.and_then(|all| all.iter().find(|one| object::text(one, &["name"]) == name));
            if let Some(wanted) = wanted {
                for field in ["resources", "resizePolicy"] {
                    object::carry(object::as_map(container), wanted.get(field), field);
                }
            }
        }
    }
}

pub(crate) fn validate(part: &str, new: &Value, old: &Value, errors: &mut Errors) {
    let spec = Path::root("spec");
    match part {
        "ephemeralcontainers" => {
            let list =
                |object| object::at(object, &["spec", "ephemeralContainers"]).and_then(Value::as_array);
            let path = spec.child("ephemeralContainers");
            for before in list(old).into_iter().flatten() {
                let name = object::text(before, &["name"]);
                let now =
                    list(new).and_then(|all| all.iter().find(|one| object::text(one, &["name"]) == name));
                match now {
                    None => errors.forbidden(
                        &path,
                        &format!("existing ephemeral containers {name:?} may not be removed"),
                    ),
                    Some(now) if now != before => {
                        errors.forbidden(
                            &path,
                            &format!("existing ephemeral containers {name:?} may not be changed"),
                        );
                    }
                    Some(_) => {}
                }
            }
        }
        "resize" => {
            let (now, before) = (quality(new), quality(old));
            if now != before {
                let detail = "Pod QOS Class may not change as a result of resizing";
                errors.invalid(&spec, &before.into(), detail);
            }
        }
        _ => {}
    }
}

/// A pod's class of service: everything limited, nothing asked for, or something between.
fn quality(pod: &Value) -> &'static str {
    let mut any = false;
    let mut all = true;
    for list in ["containers", "initContainers"] {
        for container in object::at(pod, &["spec", list]).and_then(Value::as_array).into_iter().flatten() {
            for resource in ["cpu", "memory"] {
                let request = object::at(container, &["resources", "requests", resource]);
                let limit = object::at(container, &["resources", "limits", resource]);
                any |= request.is_some() || limit.is_some();
                all &= limit.is_some() && request.is_none_or(|request| Some(request) == limit);
            }
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests;
