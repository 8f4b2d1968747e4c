//! Whether the objects that an expression made are called after the place they stand in: what stands in the field `spec` of an
//! `Object` has to be an `Object.spec`. Knows no schema.

use super::{List, Map, Value};

impl Value<'_> {
    /// What is called otherwise, each in a line; `None` if all is well. Asked of an `Object{…}`.
    pub fn misnamed(&self) -> Option<String> {
        let mut found = Vec::new();
        walk(self, self.type_name(), &mut found);
        if found.is_empty() { None } else { Some(found.join("\n")) }
    }
}

fn walk(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Map(Map::Object(name, fields)) => {
            if *name != expected {
                found.push(format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root \
                     Object type"
                ));
            }
            fields.iter().for_each(|(field, value)| walk(value, &format!("{expected}.{field}"), found));
        }
        Value::Map(Map::Values(entries)) => {
            entries.iter().for_each(|(_, value)| walk(value, expected, found))
        }
        Value::List(List::Values(items)) => items.iter().for_each(|item| walk(item, expected, found)),
        _ => {}
    }
}
