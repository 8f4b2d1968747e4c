//! Refuses an applied configuration that does not fit its schema, in Kubernetes' words. Knows no live object.

use std::collections::HashSet;

use kedge_kinds::schema::{ListType, Node, Place, Shape};
use kedge_kinds::status::Reason;
use kedge_kinds::{Kind, Status};
use serde_json::Value;

use super::element;

/// The configuration must be of the kind and version that the request names, and must not carry managed fields.
pub(super) fn object_type(kind: &Kind, config: &Value) -> Result<(), Status> {
    let api_version = text(config, "apiVersion");
    let name = text(config, "kind");
    if api_version != kind.gv.to_string() || name != &*kind.kind {
        return Err(Status::bad_request(format!("invalid object type: {}", gvk(config))));
    }
    if config
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .is_some_and(|sent| !sent.is_null())
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// Unknown fields, wrong types and items that cannot be told apart.
pub(super) fn typed(node: Node<'_>, config: &Value) -> Result<(), Status> {
    let Some(what) = faults(node, config) else { return Ok(()) };
    let metadata = config.get("metadata").unwrap_or(&Value::Null);
    Err(Status::new(
        500,
        Reason::Unknown,
        format!(
            "failed to create typed patch object ({}/{}; {}): {what}",
            text(metadata, "namespace"),
            text(metadata, "name"),
            gvk(config)
        ),
    ))
}

/// All that does not fit, in one text.
pub(super) fn faults(node: Node<'_>, config: &Value) -> Option<String> {
    let mut errors = Vec::new();
    walk(node, config, &mut Vec::new(), &mut errors);
    match &errors[..] {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("errors:\n  {}", several.join("\n  "))),
    }
}

fn walk(node: Node<'_>, value: &Value, path: &mut Vec<String>, errors: &mut Vec<String>) {
    if value.is_null() {
        return;
    }
    if let Some(wrong) = wrong_type(node, value) {
        errors.push(at(path, &wrong));
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push(format!("f:{key}"));
                match node.key(key) {
                    Some(below) => walk(below, value, path, errors),
                    None if node.object().is_some_and(|object| object.open) => {}
                    None => errors.push(at(path, "field not declared in schema")),
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            let Some(below) = node.item() else { return };
            let mut seen = HashSet::new();
            for (place, item) in items.iter().enumerate() {
                let step = match node.list_type() {
                    ListType::Atomic => format!("i:{place}"),
                    list_type => match element::step(node, item) {
                        Some(step) => {
                            if !seen.insert(step.clone()) {
                                let what = format!("duplicate entries for key {}", element::print(&step));
                                errors.push(at(path, &what));
                            }
                            step
                        }
                        None => {
                            errors.push(at(
                                path,
                                &format!("element {place}: {}", no_identity(list_type, item)),
                            ));
                            return;
                        }
                    },
                };
                path.push(step);
                walk(below, item, path, errors);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn wrong_type(node: Node<'_>, value: &Value) -> Option<String> {
    let expected = match node.place() {
        Place::Object(_) | Place::Shape(Shape::Object(_) | Shape::Map(_)) => {
            return (!value.is_object()).then(|| format!("expected map, got {}", quoted(value)));
        }
        Place::Shape(Shape::List(_)) => {
            return (!value.is_array()).then(|| format!("expected list, got {}", quoted(value)));
        }
        Place::Shape(Shape::Int32 | Shape::Int64 | Shape::Double) => {
            return (!value.is_number())
                .then(|| format!("expected numeric (int or float), got {}", go_type(value)));
        }
        Place::Shape(Shape::Bool) => {
            return (!value.is_boolean()).then(|| format!("expected boolean, got {}", quoted(value)));
        }
        Place::Shape(Shape::String | Shape::Bytes | Shape::Time | Shape::MicroTime | Shape::Duration) => {
            value.is_string()
        }
        Place::Shape(Shape::IntOrString | Shape::Quantity) => value.is_string() || value.is_number(),
        Place::Shape(Shape::Any) => true,
    };
    (!expected).then(|| format!("expected string, got {}", quoted(value)))
}

fn no_identity(list_type: &ListType, item: &Value) -> String {
    match (list_type, item) {
        (ListType::Map(_), Value::Null) => {
            "associative list with keys may not have a null element".to_owned()
        }
        (ListType::Map(keys), Value::Object(_)) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            )
        }
        (ListType::Map(_), _) => "associative list with keys may not have non-map elements".to_owned(),
        (_, Value::Object(_)) => "associative list without keys has an element that's a map type".to_owned(),
        (_, Value::Array(_)) => "not supported: associative list with lists as elements".to_owned(),
        _ => "associative list without keys has an element that's an explicit null".to_owned(),
    }
}

fn at(path: &[String], what: &str) -> String {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    match element::print_path(&steps) {
        path if path.is_empty() => what.to_owned(),
        path => format!("{path}: {what}"),
    }
}

/// `apps/v1, Kind=Deployment`, and `/v1, Kind=Pod` in the core group.
fn gvk(config: &Value) -> String {
    let api_version = text(config, "apiVersion");
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={}", text(config, "kind"))
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn quoted(value: &Value) -> String {
    value.to_string()
}

pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
