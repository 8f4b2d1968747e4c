//! Which names, labels, annotations, owners and finalizers are legal, in the words that Kubernetes has for it.

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::{Kind, Meta, names};
use serde_json::Value;

use crate::object;
use crate::strategies::names as spelling;
use crate::strategy::NameRule;

const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

pub(crate) fn validate(kind: &Kind, rule: NameRule, object: &Value, errors: &mut Errors) {
    let path = Path::root("metadata");
    let generate = object::meta_text(object, "generateName");
    if !generate.is_empty() {
        // A base may end in a dash: what comes behind it makes it a name.
        let probe = format!("{}a", generate.trim_end_matches('-'));
        for wrong in name_problems(rule, &probe) {
            errors.invalid(&path.child("generateName"), &generate.into(), &wrong);
        }
    }
    let name = object::meta_text(object, "name");
    if name.is_empty() {
        errors.required(&path.child("name"), "name or generateName is required");
    } else {
        for wrong in name_problems(rule, name) {
            errors.invalid(&path.child("name"), &name.into(), &wrong);
        }
    }
    if kind.namespaced {
        let namespace = object::meta_text(object, "namespace");
        if namespace.is_empty() {
            errors.required(&path.child("namespace"), "");
        } else {
            for wrong in names::dns1123_label(namespace) {
                errors.invalid(&path.child("namespace"), &namespace.into(), &wrong);
            }
        }
    }
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    spelling::labels(errors, &path.child("labels"), metadata, "labels");
    spelling::annotations(errors, &path.child("annotations"), metadata);
    owners(&path, object, errors);
    finalizers(kind, &path, object, errors);
}

fn name_problems(rule: NameRule, name: &str) -> Vec<String> {
    match rule {
        NameRule::Subdomain => names::dns1123_subdomain(name),
        NameRule::Label => names::dns1123_label(name),
        NameRule::Label1035 => names::dns1035_label(name),
        NameRule::PathSegment => names::path_segment(name),
        NameRule::Address => names::ip_address(name),
    }
}

fn owners(path: &Path<'_>, object: &Value, errors: &mut Errors) {
    let path = path.child("ownerReferences");
    let Some(owners) = object::meta(object, "ownerReferences").and_then(Value::as_array) else { return };
    let mut controller: Option<String> = None;
    for owner in owners {
        let version = object::text(owner, &["apiVersion"]);
        if version.rsplit('/').next().unwrap_or_default().is_empty() {
            errors.invalid(&path.child("apiVersion"), &version.into(), "version must not be empty");
        }
        for field in ["kind", "name", "uid"] {
            let value = object::text(owner, &[field]);
            if value.is_empty() {
                errors.invalid(&path.child(field), &value.into(), "must not be empty");
            }
        }
        if version == "v1" && object::text(owner, &["kind"]) == "Event" {
            errors.invalid(&path, owner, "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", object::text(owner, &["kind"]), object::text(owner, &["name"]));
            if let Some(first) = controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                errors.invalid(&path, &Value::Array(owners.clone()), &detail);
            }
            controller = Some(name);
        }
    }
}

/// Definitions and what they define may have finalizers with names of any form.
fn finalizers(kind: &Kind, path: &Path<'_>, object: &Value, errors: &mut Errors) {
    let free = kind.rules.is_some() || &*kind.gv.group == "apiextensions.k8s.io";
    let path = path.child("finalizers");
    let mut orphan_and_foreground = (false, false);
    for (index, name) in Meta::of(object).finalizers().enumerate() {
        let at = path.index(index);
        for wrong in names::qualified_name(name) {
            errors.invalid(&path, &name.into(), &wrong);
        }
        if !free && !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(&at, &name.into(), detail);
        }
        orphan_and_foreground.0 |= name == "orphan";
        orphan_and_foreground.1 |= name == "foregroundDeletion";
    }
    if orphan_and_foreground == (true, true) {
        let all = object::meta(object, "finalizers").cloned().unwrap_or_default();
        errors.invalid(&path, &all, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}
