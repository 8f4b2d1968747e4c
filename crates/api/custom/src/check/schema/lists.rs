//! List types: what tells items apart must be there, and must be a scalar.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::check::structural::wrong_type;
use crate::read::{at, flag, has, list, map, text, texts};

pub(super) fn check(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let list_type = at(schema, "x-kubernetes-list-type");
    let (items, kind) = (at(schema, "items"), text(schema, "type"));
    let type_path = path.child("x-kubernetes-list-type");
    let keys_given = !list(schema, "x-kubernetes-list-map-keys").is_empty();
    if !list_type.is_null() && kind != "array" {
        wrong_type(kind, "must be array if x-kubernetes-list-type is specified", path, errors);
    } else if list_type == "set" && items.is_object() {
        set_items(items, path, errors);
    }
    if let Some(name) = list_type.as_str()
        && !["atomic", "set", "map"].contains(&name)
    {
        errors.not_supported(&type_path, list_type, &["atomic", "set", "map"]);
    }
    if keys_given && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        if list_type.is_null() {
            errors.required(&type_path, detail);
        } else {
            errors.invalid(&type_path, list_type, detail);
        }
    }
    if list_type == "map" {
        map_keys(schema, keys_given, path, errors);
    }
    if list_type == "map" || list_type == "set" {
        told_apart(schema, path, errors);
    }
}

/// The items of a set are compared as a whole, so they change as a whole.
fn set_items(items: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("items");
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = at(items, "x-kubernetes-list-type");
    match text(items, "type") {
        "array" if !list_type.is_null() && list_type != "atomic" => {
            errors.invalid(&path.child("x-kubernetes-list-type"), list_type, detail);
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            errors.invalid(&path.child("x-kubernetes-map-type"), list_type, detail);
        }
        _ => {}
    }
}

fn map_keys(schema: &Value, keys_given: bool, path: &Path<'_>, errors: &mut Errors) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if !keys_given {
        errors.required(&keys_path, "must not be empty if x-kubernetes-list-type is map");
    }
    let items = at(schema, "items");
    let items_path = path.child("items");
    if items.is_null() {
        return errors.required(&items_path, "must have a schema if x-kubernetes-list-type is map");
    }
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.invalid(&items_path.child("type"), &text(items, "type").into(), detail);
    }
    let shown = at(schema, "x-kubernetes-list-map-keys");
    let keys: Vec<&str> = texts(schema, "x-kubernetes-list-map-keys").collect();
    for (at, key) in keys.iter().enumerate() {
        match map(items, "properties").get(*key) {
            None => errors.invalid(&keys_path, shown, "entries must all be names of item properties"),
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let properties = items_path.child("properties");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.invalid(&properties.key(key).child("type"), &"object".into(), detail);
            }
            Some(_) => {}
        }
        if keys.iter().take(at).any(|other| other == key) {
            errors.invalid(&keys_path, shown, "must not contain duplicate entries");
        }
    }
}

/// What tells items apart is always there.
fn told_apart(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let items = at(schema, "items");
    if !items.is_object() {
        return;
    }
    let path = path.child("items");
    let list_type = text(schema, "x-kubernetes-list-type");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.forbidden(&path.child("nullable"), &detail);
    }
    if list_type != "map" {
        return;
    }
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        let Some(property) = map(items, "properties").get(key) else { continue };
        let properties = path.child("properties");
        let path = properties.key(key);
        if !texts(items, "required").any(|name| name == key) && !has(property, "default") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                 property";
            errors.required(&path.child("default"), detail);
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.forbidden(&path.child("nullable"), detail);
        }
    }
}
