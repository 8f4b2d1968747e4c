//! Fields of an object by their path, read and written without ceremony. Knows no kind; what metadata means is
//! `kedge_kinds::Meta`'s.

use serde_json::{Map, Value};

/// What stands at a path of keys; `None` where any of them is missing.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The text at a path; empty where there is none, as Kubernetes' own types have it.
pub(crate) fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn meta<'v>(object: &'v Value, field: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(field)
}

pub(crate) fn meta_text<'v>(object: &'v Value, field: &str) -> &'v str {
    meta(object, field).and_then(Value::as_str).unwrap_or_default()
}

/// The object's metadata, made where it is missing.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    map_mut(object, "metadata")
}

/// The map behind a key, made where it is missing or something else.
pub(crate) fn map_mut<'v>(object: &'v mut Value, key: &str) -> &'v mut Map<String, Value> {
    as_map(as_map(object).entry(key).or_insert_with(|| Value::Object(Map::new())))
}

/// The value as a map; anything else is replaced by an empty one.
pub(crate) fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().unwrap_or_else(|| Box::leak(Box::default()))
}

pub(crate) fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    meta_mut(object).insert(field.to_owned(), value.into());
}

/// Carries a field of the old object over, its absence included.
pub(crate) fn carry(new: &mut Map<String, Value>, old: Option<&Value>, field: &str) {
    match old {
        Some(value) => {
            new.insert(field.to_owned(), value.clone());
        }
        None => {
            new.remove(field);
        }
    }
}
