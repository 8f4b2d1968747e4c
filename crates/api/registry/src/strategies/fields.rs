//! Reading and filling fields of an untyped object. Knows no kind: what is absent reads as Go's zero value,
//! because that is what Kubernetes' own rules see.

use serde_json::{Map, Value};

/// A field of an object, found without the detour through `Value`'s own index: half of all time here is lookups.
#[inline]
fn get<'a>(of: &'a Value, field: &str) -> Option<&'a Value> {
    match of {
        Value::Object(map) => map.get(field),
        _ => None,
    }
}

/// A string field; empty where absent.
pub(super) fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    get(of, field).and_then(Value::as_str).unwrap_or("")
}

pub(super) fn int(of: &Value, field: &str) -> Option<i64> {
    get(of, field).and_then(Value::as_i64)
}

/// A number field; zero where absent.
pub(super) fn number(of: &Value, field: &str) -> i64 {
    int(of, field).unwrap_or(0)
}

pub(super) fn flag(of: &Value, field: &str) -> bool {
    get(of, field).and_then(Value::as_bool).unwrap_or(false)
}

/// A list field; empty where absent.
pub(super) fn list<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    get(of, field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings of a list field.
pub(super) fn texts<'a>(of: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    list(of, field).iter().filter_map(Value::as_str)
}

/// A map field or struct; empty where absent.
pub(super) fn map<'a>(of: &'a Value, field: &str) -> &'a Map<String, Value> {
    get(of, field).and_then(Value::as_object).unwrap_or(empty_map())
}

fn empty_map() -> &'static Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    &EMPTY
}

/// The field's value, or null to read further from.
pub(super) fn at<'a>(of: &'a Value, field: &str) -> &'a Value {
    get(of, field).unwrap_or(&Value::Null)
}

pub(super) fn has(of: &Value, field: &str) -> bool {
    get(of, field).is_some_and(|value| !value.is_null())
}

/// Sets an absent field.
pub(super) fn fill(of: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(map) = of
        && !map.contains_key(field)
    {
        map.insert(field.to_owned(), value.into());
    }
}

/// Sets a string field that is absent or empty.
pub(super) fn fill_text(of: &mut Value, field: &str, value: &str) {
    if text(of, field).is_empty() {
        put(of, field, value);
    }
}

/// Sets a number field that is absent or zero.
pub(super) fn fill_number(of: &mut Value, field: &str, value: i64) {
    if number(of, field) == 0 {
        put(of, field, value);
    }
}

/// Sets a field whatever it was.
pub(super) fn put(of: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(map) = of {
        map.insert(field.to_owned(), value.into());
    }
}

pub(super) fn take(of: &mut Value, field: &str) -> Option<Value> {
    of.as_object_mut().and_then(|map| map.remove(field))
}

/// A struct field, made empty where absent. `None` only where `of` is no object.
pub(super) fn open<'a>(of: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    fill(of, field, Map::new());
    of.get_mut(field)
}

/// Every item of a list field.
pub(super) fn each<'a>(of: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    of.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Carries a field over from another object, absence included.
pub(super) fn carry(new: &mut Value, old: &Value, field: &str) {
    match get(old, field) {
        Some(value) => put(new, field, value.clone()),
        None => {
            take(new, field);
        }
    }
}

/// Two fields mean the same: an absent one equals an empty one, as Kubernetes' semantic comparison has it.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    // Nearly always nothing has changed, and plain equality is quick to say so.
    one == other
        || match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.iter().all(|(key, value)| same(value, other.get(key).unwrap_or(&Value::Null)))
                    && other.iter().all(|(key, value)| one.contains_key(key) || is_zero(value))
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (one, other) => is_zero(one) && is_zero(other),
        }
}

/// All fields of two objects but some mean the same.
pub(super) fn same_but(one: &Value, other: &Value, differs: impl Fn(&str) -> Option<bool>) -> bool {
    let (Value::Object(now), Value::Object(before)) = (one, other) else { return one == other };
    let field_is_same =
        |field: &str| differs(field).unwrap_or_else(|| same(at(one, field), at(other, field)));
    now.keys().all(|field| field_is_same(field))
        && before.keys().all(|field| now.contains_key(field) || field_is_same(field))
}

/// What an absent field would mean.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_i64() == Some(0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.values().all(is_zero),
    }
}
