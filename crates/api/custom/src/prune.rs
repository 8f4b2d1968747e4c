//! Takes out of an object what its schema doesn't know. Never complains about a value of the wrong type: that is validation.

use std::fmt::Write;

use serde_json::Value;

use crate::embedded;
use crate::schema::{Additional, Schema, is_meta};

/// The paths of what was taken out, sorted; those in metadata of embedded objects last, as upstream has it.
/// `whole` says that the value is an object with its own metadata.
pub(crate) fn prune(schema: &Schema, value: &mut Value, whole: bool) -> Vec<String> {
    let mut walk = Walk { path: String::new(), unknown: Vec::new(), within_metadata: Vec::new() };
    walk.value(Some(schema), value, whole || schema.embedded, false);
    walk.unknown.sort_unstable();
    walk.within_metadata.sort_unstable();
    walk.unknown.append(&mut walk.within_metadata);
    walk.unknown
}

struct Walk {
    path: String,
    unknown: Vec<String>,
    within_metadata: Vec<String>,
}

impl Walk {
    /// `keeps` says that unknown fields stay, whatever the schema itself says about it.
    fn value(&mut self, schema: Option<&Schema>, value: &mut Value, whole: bool, keeps: bool) {
        let length = self.path.len();
        let keeps = keeps || schema.is_some_and(|schema| schema.preserve);
        match value {
            Value::Object(fields) => {
                fields.retain(|name, field| {
                    let stays = self.field(schema, name, field, whole, keeps);
                    self.path.truncate(length);
                    stays
                });
            }
            Value::Array(items) => {
                let each = schema.and_then(|schema| schema.items.as_deref());
                if each.is_none() && keeps {
                    return;
                }
                for (at, item) in items.iter_mut().enumerate() {
                    // Writing into a string cannot fail.
                    let _ = write!(self.path, "[{at}]");
                    self.value(each, item, each.is_some_and(|each| each.embedded), keeps);
                    self.path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn field(
        &mut self,
        schema: Option<&Schema>,
        name: &str,
        value: &mut Value,
        whole: bool,
        keeps: bool,
    ) -> bool {
        let root = self.path.is_empty();
        if !root {
            self.path.push('.');
        }
        self.path.push_str(name);
        if whole && is_meta(name) {
            // The root's own metadata was looked at when the object was decoded.
            if name == "metadata" && !root {
                embedded::prune_metadata(value, &self.path, &mut self.within_metadata);
            }
            return true;
        }
        if let Some(below) = schema.and_then(|schema| schema.behind(name)) {
            self.value(Some(below), value, below.embedded, false);
            return true;
        }
        if schema.is_some_and(|schema| !matches!(schema.additional, Additional::Unset)) {
            self.value(None, value, false, false);
            return true;
        }
        if keeps {
            return true;
        }
        if !(root && is_meta(name)) {
            self.unknown.push(self.path.clone());
        }
        false
    }
}

/// Takes out nulls where null is no value. One that a default replaces stays for it.
pub(crate) fn drop_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let below = schema.and_then(|schema| schema.behind(name));
            if field.is_null() {
                return below.is_none_or(|below| below.nullable || below.default.is_some());
            }
            drop_nulls(below, field);
            true
        }),
        Value::Array(items) => {
            let each = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                drop_nulls(each, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
