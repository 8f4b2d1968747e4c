//! Whether a schema is structural: every part of an object has one place that says what it is, so that what is unknown can
//! be told from what is known.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::pattern;
use crate::read::{at, flag, has, list, map, text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What no structural schema can be made of, whatever else it says.
pub(super) fn unreadable(schema: &Value) -> Option<&'static str> {
    let here = if at(schema, "items").is_array() {
        Some("OpenAPIV3Schema 'items' must be a schema, but is an array")
    } else if at(schema, "x-kubernetes-preserve-unknown-fields") == false {
        Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
    } else {
        [
            ("id", "OpenAPIV3Schema 'id' is not supported"),
            ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
            ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
            ("additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported"),
            ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
            ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
        ]
        .into_iter()
        .find(|(field, _)| has(schema, field))
        .map(|(_, why)| why)
    };
    here.or_else(|| below(schema).find_map(unreadable))
}

/// Every schema directly within a schema.
pub(super) fn below(schema: &Value) -> impl Iterator<Item = &Value> {
    let single = ["items", "additionalProperties", "not"].into_iter().map(|field| at(schema, field));
    let several = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|field| list(schema, field));
    single.chain(several).chain(map(schema, "properties").values()).filter(|below| below.is_object())
}

/// Sorted, as upstream tells them.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> Errors {
    let mut errors = Errors::default();
    node(schema, Level::Root, path, &mut errors);
    junctors(
        schema,
        &mut |junctor, junctor_path, errors| {
            complete(junctor, schema, path, junctor_path, errors);
        },
        path,
        &mut errors,
    );
    errors.sort();
    errors
}

fn node(schema: &Value, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let items = at(schema, "items");
    if kind == "array" && items.is_null() {
        errors.required(&path.child("items"), "must be specified");
    }
    if items.is_object() {
        node(items, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in map(schema, "properties") {
        node(property, Level::Field, &path.child("properties").key(name), errors);
    }
    let additional = at(schema, "additionalProperties");
    if level == Level::Root && !additional.is_null() {
        errors.forbidden(&path.child("additionalProperties"), "must not be used at the root");
    }
    if additional.is_object() {
        node(additional, Level::Field, &path.child("additionalProperties"), errors);
    }
    if int_or_string && preserve {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.invalid(&path.child("x-kubernetes-preserve-unknown-fields"), &true.into(), detail);
    }
    if int_or_string && embedded {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.invalid(&path.child("x-kubernetes-embedded-resource"), &true.into(), detail);
    }
    let any_of_types = is_int_or_string(at(schema, "anyOf"));
    let all_of_types =
        list(schema, "allOf").first().is_some_and(|first| is_int_or_string(at(first, "anyOf")));
    values(schema, any_of_types, all_of_types, path, errors);
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        wrong_type(kind, detail, path, errors);
    } else if kind.is_empty() && !int_or_string && !preserve {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(&path.child("type"), detail);
    }
    if embedded && !additional.is_null() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&path.child("additionalProperties"), detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&path.child("type"), &kind.into(), "must be object at the root");
    }
    if level == Level::Root || embedded {
        meta(schema, level, path, errors);
    }
    if embedded && !preserve && map(schema, "properties").is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
             x-kubernetes-preserve-unknown-fields";
        errors.required(&path.child("properties"), detail);
    }
}

pub(super) fn wrong_type(kind: &str, detail: &str, path: &Path<'_>, errors: &mut Errors) {
    if kind.is_empty() {
        errors.required(&path.child("type"), detail);
    } else {
        errors.invalid(&path.child("type"), &kind.into(), detail);
    }
}

/// The type and metadata of whole objects are what they are; at the root only the name may be told more about.
fn meta(schema: &Value, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(field) = map(schema, "properties").get(name)
            && text(field, "type") != "string"
        {
            errors.invalid(
                &properties.key(name).child("type"),
                &text(field, "type").into(),
                "must be string",
            );
        }
    }
    let Some(metadata) = map(schema, "properties").get("metadata") else { return };
    let path = properties.key("metadata");
    if text(metadata, "type") != "object" {
        errors.invalid(&path.child("type"), &text(metadata, "type").into(), "must be object");
    }
    let named = map(metadata, "properties").keys().all(|name| name == "name" || name == "generateName");
    let set = super::shown::set_fields(metadata);
    let bare = set.into_iter().all(|field| matches!(field, "Type" | "Default" | "Properties"));
    if level == Level::Root && !(named && bare) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.forbidden(&path, detail);
    }
}

fn is_int_or_string(any_of: &Value) -> bool {
    let only = |schema: Option<&Value>, kind: &str| {
        schema
            .and_then(Value::as_object)
            .is_some_and(|fields| fields.len() == 1 && fields.get("type").is_some_and(|found| found == kind))
    };
    any_of
        .as_array()
        .is_some_and(|all| all.len() == 2 && only(all.first(), "integer") && only(all.get(1), "string"))
}

/// Calls for everything under `anyOf`, `allOf`, `oneOf` and `not`.
fn junctors(
    schema: &Value,
    each: &mut dyn FnMut(&Value, &Path<'_>, &mut Errors),
    path: &Path<'_>,
    errors: &mut Errors,
) {
    for field in ["anyOf", "allOf", "oneOf"] {
        for (at, junctor) in list(schema, field).iter().enumerate() {
            each(junctor, &path.child(field).index(at), errors);
        }
    }
    if has(schema, "not") {
        each(at(schema, "not"), &path.child("not"), errors);
    }
}

fn values(schema: &Value, skip_any_of: bool, skip_all_of: bool, path: &Path<'_>, errors: &mut Errors) {
    for field in ["anyOf", "allOf", "oneOf"] {
        if field == "anyOf" && skip_any_of {
            continue;
        }
        for (at, below) in list(schema, field).iter().enumerate() {
            let skip = field == "allOf" && at == 0 && skip_all_of;
            nested(below, skip, &path.child(field).index(at), errors);
        }
    }
    if has(schema, "not") {
        nested(at(schema, "not"), false, &path.child("not"), errors);
    }
    let source = text(schema, "pattern");
    if !source.is_empty()
        && let Some(why) = pattern::fault(source)
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.invalid(&path.child("pattern"), &source.into(), &detail);
    }
}

/// Under a junctor a schema may only say what a value fulfils, never what it is.
fn nested(schema: &Value, skip_any_of: bool, path: &Path<'_>, errors: &mut Errors) {
    values(schema, skip_any_of, false, path, errors);
    if at(schema, "items").is_object() {
        nested(at(schema, "items"), false, &path.child("items"), errors);
    }
    for (name, property) in map(schema, "properties") {
        nested(property, false, &path.child("properties").key(name), errors);
    }
    let mut forbidden = |field: &str, detail: &str| errors.forbidden(&path.child(field), detail);
    for field in ["type", "title", "description"] {
        if !text(schema, field).is_empty() {
            forbidden(field, "must be empty to be structural");
        }
    }
    if !matches!(at(schema, "additionalProperties"), Value::Null | Value::Bool(false)) {
        forbidden("additionalProperties", "must be undefined to be structural");
    }
    for field in ["default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if has(schema, field) {
            forbidden(field, "must be undefined to be structural");
        }
    }
    for field in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if flag(schema, field) {
            forbidden(field, "must be false to be structural");
        }
    }
    for field in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        if !list(schema, field).is_empty() {
            forbidden(field, "must be empty to be structural");
        }
    }
    if map(schema, "properties").contains_key("metadata") {
        let detail = "must not be specified in a nested context";
        errors.forbidden(&path.child("properties").key("metadata"), detail);
    }
}

/// Whatever a junctor speaks about is described outside of it too.
fn complete(junctor: &Value, schema: &Value, path: &Path<'_>, junctor_path: &Path<'_>, errors: &mut Errors) {
    junctors(
        junctor,
        &mut |below, below_path, errors| {
            complete(below, schema, path, below_path, errors);
        },
        junctor_path,
        errors,
    );
    let items = at(junctor, "items");
    if items.is_object() {
        let (at_items, junctor_items) = (path.child("items"), junctor_path.child("items"));
        match at(schema, "items") {
            Value::Null => errors.required(&at_items, &format!("because it is defined in {junctor_items}")),
            described => complete(items, described, &at_items, &junctor_items, errors),
        }
    }
    for (name, property) in map(junctor, "properties") {
        let (properties, junctor_properties) = (path.child("properties"), junctor_path.child("properties"));
        let (place, junctor_place) = (properties.key(name), junctor_properties.key(name));
        match map(schema, "properties").get(name) {
            None => errors.required(&place, &format!("because it is defined in {junctor_place}")),
            Some(described) => complete(property, described, &place, &junctor_place, errors),
        }
    }
}
