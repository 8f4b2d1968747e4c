//! Whole objects within an object: their type and metadata are held to what holds for every object.

use kedge_kinds::builtin;
use kedge_kinds::check::{self, Mode};
use kedge_kinds::field::{Errors, Path};
use kedge_kinds::names::{self, Messages};
use kedge_kinds::schema::Node;
use serde_json::Value;

use crate::place::Place;
use crate::schema::Schema;

fn metadata_schema() -> Option<Node<'static>> {
    builtin().schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
}

/// Takes out what metadata doesn't have. Values of the wrong type stay: validation tells.
pub(crate) fn prune_metadata(metadata: &mut Value, path: &str, unknown: &mut Vec<String>) {
    let Some(node) = metadata_schema() else { return };
    let outcome = check::check(node, metadata, Mode::Whole);
    unknown.extend(outcome.unknown.into_iter().map(|field| format!("{path}.{field}")));
    // Nobody made this object, so there is no time at which that happened.
    if let Some(fields) = metadata.as_object_mut()
        && fields.get("creationTimestamp").is_some_and(Value::is_null)
    {
        fields.remove("creationTimestamp");
    }
}

/// What is wrong with the embedded objects of a value.
pub(crate) fn validate(schema: &Schema, value: &Value, place: &Place<'_>, errors: &mut Errors) {
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                whole(value, place, errors);
            }
            for (name, field) in fields {
                match schema.property(name) {
                    Some(property) => validate(property, field, &place.field(name), errors),
                    None => {
                        if let Some(each) = schema.each() {
                            validate(each, field, &place.entry(name), errors);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    validate(each, item, &place.item(at), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One embedded object: it has a type, and metadata that any object could have.
pub(crate) fn whole(object: &Value, place: &Place<'_>, errors: &mut Errors) {
    for field in ["apiVersion", "kind"] {
        if object.get(field).is_none() {
            errors.required(&Path::root(&place.field(field).keyed()), "");
        }
    }
    if let Some(version) = object.get("apiVersion") {
        let said = match version.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) if text.matches('/').count() > 1 => {
                Some(format!("unexpected GroupVersion string: {text}"))
            }
            Some(_) => None,
        };
        if let Some(said) = said {
            errors.invalid(&Path::root(&place.field("apiVersion").keyed()), version, &said);
        }
    }
    if let Some(kind) = object.get("kind") {
        let said = match kind.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) => mixed_case(text),
        };
        if let Some(said) = said {
            errors.invalid(&Path::root(&place.field("kind").keyed()), kind, &said);
        }
    }
    if let Some(found) = object.get("metadata") {
        metadata(found, &place.field("metadata"), errors);
    }
}

/// What is wrong with a kind's name: a label, but for capitals.
pub(crate) fn mixed_case(kind: &str) -> Option<String> {
    let wrong: Messages = names::dns1035_label(&kind.to_lowercase());
    let wrong: Vec<String> = wrong.into_iter().map(|said| said.to_string()).collect();
    (!wrong.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {}", wrong.join(",")))
}

fn metadata(metadata: &Value, place: &Place<'_>, errors: &mut Errors) {
    let printed = place.keyed();
    let path = Path::root(&printed);
    if let Some(node) = metadata_schema() {
        let outcome = check::check(node, &mut metadata.clone(), Mode::Whole);
        if let Some(fault) = outcome.errors.first() {
            return errors.invalid(&path, metadata, &fault.message);
        }
    }
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
    let tell = |errors: &mut Errors, field: &str, value: &str, wrong: Messages| {
        for said in wrong {
            errors.invalid(&path.child(field), &value.into(), &said);
        }
    };
    let generate = text("generateName");
    if !generate.is_empty() {
        tell(errors, "generateName", generate, names::path_segment_prefix(generate));
    }
    let name = text("name");
    if !name.is_empty() {
        tell(errors, "name", name, names::path_segment(name));
    }
    let namespace = text("namespace");
    if !namespace.is_empty() {
        tell(errors, "namespace", namespace, names::dns1123_label(namespace));
    }
    let entries = |field: &str| {
        let map = metadata.get(field).and_then(Value::as_object);
        map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    };
    for (key, value) in entries("labels") {
        tell(errors, "labels", key, names::qualified_name(key));
        tell(errors, "labels", value, names::label_value(value));
    }
    for (key, _) in entries("annotations") {
        tell(errors, "annotations", key, names::qualified_name(&key.to_lowercase()));
    }
}

#[cfg(test)]
mod tests;
