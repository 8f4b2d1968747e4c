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
    let sent = std::mem::replace(new, old.clone());
    let keep_metadata = matches!(part, "status" | "approval") && kind.rules.is_none();
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
        "resize" => resize::confine(new, &sent),
        _ => {}
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
