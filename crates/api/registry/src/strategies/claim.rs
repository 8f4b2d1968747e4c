//! PersistentVolumeClaims.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, fill_text, has, list, map, open, put, same, take, text, texts};
use super::pod::defaults::claim_spec;
use super::{amounts, names};
use crate::strategy::Strategy;

pub(super) struct Claims;

impl Strategy for Claims {
    fn default(&self, claim: &mut Value) {
        if let Some(spec) = open(claim, "spec") {
            claim_spec(spec);
        }
        if let Some(status) = open(claim, "status") {
            fill_text(status, "phase", "Pending");
        }
    }

    fn prepare_create(&self, claim: &mut Value) {
        put(claim, "status", json!({"phase": "Pending"}));
        if let Some(spec) = open(claim, "spec") {
            data_sources(spec);
        }
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        if let Some(spec) = open(new, "spec") {
            data_sources(spec);
        }
    }

    fn validate(&self, claim: &Value, errors: &mut Errors) {
        spec(errors, &Path::root("spec"), at(claim, "spec"));
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        unchanged_but_size(errors, new, old);
    }
}

/// The old field only ever meant claims and snapshots; what it means is shown in both fields.
fn data_sources(spec: &mut Value) {
    if has(spec, "dataSource") && !has(spec, "dataSourceRef") {
        let source = at(spec, "dataSource").clone();
        let known = matches!(
            (text(&source, "apiGroup"), text(&source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        );
        if known {
            put(spec, "dataSourceRef", source);
        } else {
            take(spec, "dataSource");
        }
    } else if has(spec, "dataSourceRef") && !has(spec, "dataSource") {
        let source = at(spec, "dataSourceRef").clone();
        if !has(&source, "namespace") {
            put(spec, "dataSource", source);
        }
    }
}

/// A claim's spec, also inside templates.
pub(super) fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        errors.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    names::selector(errors, &path.child("selector"), at(spec, "selector"));
    access_modes(errors, &path.child("accessModes"), spec);
    match map(at(spec, "resources"), "requests").get("storage") {
        None => errors.required(&path.child("resources").key("storage"), ""),
        Some(size) => {
            let path = path.child("resources");
            amounts::resource_amount(errors, &path.key("storage"), "storage", size);
            amounts::positive(errors, &path.key("storage"), size);
        }
    }
    if let Some(class) = at(spec, "storageClassName").as_str()
        && !class.is_empty()
    {
        names::subdomain(errors, &path.child("storageClassName"), class);
    }
    names::one_of_if_set(errors, &path.child("volumeMode"), at(spec, "volumeMode"), &["Block", "Filesystem"]);
    for field in ["dataSource", "dataSourceRef"] {
        let source = at(spec, field);
        if source.is_null() {
            continue;
        }
        let path = path.child(field);
        for needed in ["name", "kind"] {
            if text(source, needed).is_empty() {
                errors.required(&path.child(needed), "");
            }
        }
        if text(source, "apiGroup").is_empty() && text(source, "kind") != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            names::wrong(errors, &path, text(source, "kind"), detail);
        }
    }
}

/// Shared with volumes: the modes that exist, and the one that stands alone.
pub(super) fn access_modes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    for mode in list(spec, "accessModes") {
        names::one_of_if_set(errors, path, mode, MODES);
    }
    let alone = texts(spec, "accessModes").any(|mode| mode == "ReadWriteOncePod");
    if alone && texts(spec, "accessModes").any(|mode| mode != "ReadWriteOncePod" && MODES.contains(&mode)) {
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

/// A claim is what was bound: only its size may grow, its class of attributes change, and a missing name be filled in.
fn unchanged_but_size(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::root("spec");
    let (now, before) = (at(new, "spec"), at(old, "spec"));
    let fields = now.as_object().into_iter().chain(before.as_object()).flat_map(|fields| fields.keys());
    let bound = text(at(new, "status"), "phase") == "Bound";
    let allowed = |field: &str| match field {
        "resources" => {
            same(&without_size(at(now, "resources"), bound), &without_size(at(before, "resources"), bound))
        }
        // The binder fills in the volume and the default class.
        "volumeName" => text(before, "volumeName").is_empty() || text(now, field) == text(before, field),
        "storageClassName" => !has(before, field) || at(now, field) == at(before, field),
        "volumeAttributesClassName" if bound => true,
        _ => same(at(now, field), at(before, field)),
    };
    if !fields.into_iter().all(|field| allowed(field)) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
             bound claims";
        errors.forbidden(&path, detail);
    }
    let size = |of: &Value| map(at(of, "resources"), "requests").get("storage").map(amounts::amount);
    let held = map(at(old, "status"), "capacity").get("storage").map(amounts::amount).unwrap_or_default();
    if size(now) < size(before) && size(now).unwrap_or_default() <= held {
        let path = path.child("resources");
        errors.forbidden(
            &path.child("requests").child("storage"),
            "field can not be less than status.capacity",
        );
    }
    if !same(at(now, "volumeMode"), at(before, "volumeMode")) {
        errors.invalid(&Path::root("volumeMode"), at(now, "volumeMode"), "field is immutable");
    }
}

fn without_size(resources: &Value, bound: bool) -> Value {
    let mut resources = resources.clone();
    if bound && let Some(requests) = resources.get_mut("requests") {
        take(requests, "storage");
    }
    resources
}
