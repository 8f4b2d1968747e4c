//! The parts of an object that have a path of their own. `status` is as common as the object itself and stands in
//! `update`; here are those of a few kinds.

pub(crate) mod binding;
pub(crate) mod eviction;
mod resize;
pub(crate) mod scale;
pub(crate) mod signing;

use kedge_kinds::Kind;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::object;

/// Everything that a subresource doesn't own is the old object's.
pub(crate) fn confine(kind: &Kind, part: &str, new: &mut Value, old: &Value) {
    if matches!(part, "status" | "approval") {
        return confine_to_status(kind, new, old);
    }
    let sent = std::mem::replace(new, old.clone());
    let managers = object::meta(&sent, "managedFields").cloned();
    object::carry(object::meta_mut(new), managers.as_ref(), "managedFields");
    match part {
        "finalize" => take(new, &sent, &["spec", "finalizers"]),
        "ephemeralcontainers" => take(new, &sent, &["spec", "ephemeralContainers"]),
        "resize" => resize::confine(new, &sent),
        _ => {}
    }
}

/// Status is written more often than anything else, and the rest was mostly sent as it was: seeing that costs less than a copy.
fn confine_to_status(kind: &Kind, new: &mut Value, old: &Value) {
    if kind.rules.is_some() {
        let managers = object::meta(new, "managedFields").cloned();
        object::carry(object::as_map(new), old.get("metadata"), "metadata");
        object::carry(object::meta_mut(new), managers.as_ref(), "managedFields");
    } else if let Some(kept) = match &*kind.kind {
        // Labels and annotations may be changed along with a status, with few exceptions.
        "Deployment" => Some("labels"),
        "Pod" => Some("ownerReferences"),
        _ => None,
    } {
        object::carry(object::meta_mut(new), object::meta(old, kept), kept);
    }
    let new = object::as_map(new);
    let is_theirs = |field: &str| matches!(field, "metadata" | "status");
    new.retain(|field, _| is_theirs(field) || old.get(field).is_some());
    for (field, was) in old.as_object().into_iter().flatten().filter(|(field, _)| !is_theirs(field)) {
        if new.get(field) != Some(was) {
            new.insert(field.clone(), was.clone());
        }
    }
}

fn take(new: &mut Value, sent: &Value, [part, field]: &[&str; 2]) {
    let value = object::at(sent, &[part, field]);
    object::carry(object::map_mut(new, part), value, field);
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
        "resize" => resize::validate(new, old, errors),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
