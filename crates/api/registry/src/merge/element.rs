//! What identifies an item of a list: the text of its step in a field path. Knows no object as a whole.

use std::fmt::Write as _;

use kedge_kinds::schema::{ListType, Node, Place, Shape};
use serde_json::Value;

/// The step of an item, `k:{"name":"web"}` or `v:"a"`. `None` for an item that cannot be told from others: one without
/// any key, or a struct in a set.
pub(super) fn step(list: Node<'_>, item: &Value) -> Option<String> {
    match list.list_type() {
        ListType::Atomic => None,
        ListType::Set => match item {
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            scalar => Some(format!("v:{scalar}")),
        },
        ListType::Map(keys) => {
            let fields = item.as_object()?;
            let mut step = String::with_capacity(32);
            step.push_str("k:{");
            let mut before: Option<&str> = None;
            // Steps name their keys in alphabetical order; there are one or two, so each is searched for.
            while let Some(key) = keys.iter().map(|key| &**key).filter(|key| before < Some(*key)).min() {
                before = Some(key);
                match fields.get(key) {
                    Some(value) if !value.is_null() => write_key(&mut step, key, value),
                    _ => {
                        if let Some(value) = default_of(list, key) {
                            write_key(&mut step, key, &value);
                        }
                    }
                }
            }
            if step.len() == 3 {
                return None;
            }
            step.push('}');
            Some(step)
        }
    }
}

fn write_key(step: &mut String, key: &str, value: &Value) {
    if step.len() > "k:{".len() {
        step.push(',');
    }
    step.push('"');
    step.push_str(key);
    step.push_str("\":");
    match value {
        Value::String(text) if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') => {
            step.push('"');
            step.push_str(text);
            step.push('"');
        }
        // Writing to a String can't fail.
        other => _ = write!(step, "{other}"),
    }
}

/// An item may leave out a key that has a default: the protocol of a port, or the zero value of a key that Kubernetes
/// always writes.
fn default_of(list: Node<'_>, key: &str) -> Option<Value> {
    if key == "protocol" {
        return Some(Value::from("TCP"));
    }
    let node = list.item()?.key(key)?;
    if !node.entered_by().is_some_and(|field| field.required) {
        return None;
    }
    match node.place() {
        Place::Shape(Shape::String) => Some(Value::from("")),
        Place::Shape(Shape::Int32 | Shape::Int64) => Some(Value::from(0)),
        Place::Shape(_) | Place::Object(_) => None,
    }
}

/// A step as people read it: `.spec`, `[name="web"]`, `[="a"]`.
pub(super) fn print(step: &str) -> String {
    match step.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("k", keys)) => match serde_json::from_str::<serde_json::Map<String, Value>>(keys) {
            Ok(keys) => {
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("[{}]", keys.join(","))
            }
            Err(_) => format!("[{keys}]"),
        },
        Some(("v", value)) => format!("[={value}]"),
        Some(("i", place)) => format!("[{place}]"),
        _ => step.to_owned(),
    }
}

pub(super) fn print_path(path: &[&str]) -> String {
    path.iter().map(|step| print(step)).collect()
}
