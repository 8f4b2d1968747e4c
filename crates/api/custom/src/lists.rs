//! That the items of sets, and the keys of lists with keys, are unique.

use std::collections::HashMap;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use crate::place::Place;
use crate::schema::{List, Schema};

pub(crate) fn check(schema: &Schema, value: &Value, place: &Place<'_>, errors: &mut Errors) {
    match value {
        Value::Object(fields) => {
            if let Some(each) = schema.each() {
                for (name, field) in fields {
                    check(each, field, &place.entry(name), errors);
                }
            }
            for (name, property) in &schema.properties {
                if let Some(field) = fields.get(&**name) {
                    check(property, field, &place.field(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                List::Set => unique(items.iter().map(|item| (item.to_string(), item)), place, errors),
                List::Map(keys) => keyed(keys, items, place, errors),
                List::Unset | List::Atomic => {}
            }
            if let Some(each) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    check(each, item, &place.item(at), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keyed(keys: &[impl AsRef<str>], items: &[Value], place: &Place<'_>, errors: &mut Errors) {
    if let Some((at, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        return errors.invalid(&Path::root(&place.item(at).keyed()), item, detail);
    }
    let key_of = |item: &Value| -> Value {
        let fields = keys.iter().map(AsRef::as_ref);
        let present = fields.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
        Value::Object(present.collect::<Map<String, Value>>())
    };
    let found: Vec<Value> = items.iter().map(key_of).collect();
    unique(found.iter().map(|key| (key.to_string(), key)), place, errors);
}

/// Each that is there again is told once, however often it is.
fn unique<'v>(items: impl Iterator<Item = (String, &'v Value)>, place: &Place<'_>, errors: &mut Errors) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (at, (text, item)) in items.enumerate() {
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            errors.duplicate(&Path::root(&place.item(at).keyed()), item);
        }
    }
}

#[cfg(test)]
mod tests;
