//! Reads fields of a definition's JSON. What is absent reads as empty, because that is what Kubernetes' rules see.

use std::sync::LazyLock;

use serde_json::{Map, Value};

pub(crate) fn at<'a>(of: &'a Value, field: &str) -> &'a Value {
    of.get(field).unwrap_or(&Value::Null)
}

pub(crate) fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    at(of, field).as_str().unwrap_or_default()
}

pub(crate) fn flag(of: &Value, field: &str) -> bool {
    at(of, field).as_bool().unwrap_or_default()
}

pub(crate) fn has(of: &Value, field: &str) -> bool {
    !at(of, field).is_null()
}

pub(crate) fn list<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    at(of, field).as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn texts<'a>(of: &'a Value, field: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(of, field).iter().filter_map(Value::as_str)
}

pub(crate) fn map<'a>(of: &'a Value, field: &str) -> &'a Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    at(of, field).as_object().unwrap_or(&EMPTY)
}

/// The `openAPIV3Schema` of a version; null if it has none.
pub(crate) fn schema_of(version: &Value) -> &Value {
    at(at(version, "schema"), "openAPIV3Schema")
}
