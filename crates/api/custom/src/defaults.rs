//! Fills in what was left out. Knows no paths and complains about nothing.

use serde_json::Value;

use crate::schema::Schema;

pub(crate) fn fill(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default
                    && fields.get(&**name).is_none_or(|field| field.is_null() && !property.nullable)
                {
                    fields.insert(name.to_string(), (**default).clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                match schema.property(name) {
                    Some(property) => fill(property, field),
                    None => {
                        if let Some(each) = schema.each() {
                            fill_item(each, field);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(each) = &schema.items {
                items.iter_mut().for_each(|item| fill_item(each, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What stands in a list or map is there already; only null gives way to a default.
fn fill_item(schema: &Schema, value: &mut Value) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = (**default).clone();
    }
    fill(schema, value);
}

#[cfg(test)]
mod tests;
