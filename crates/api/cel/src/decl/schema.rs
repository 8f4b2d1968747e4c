//! Declarations from OpenAPI schemas as custom kinds have them. Knows them only through [`Schema`], which is implemented
//! here for the JSON form itself.

use std::sync::Arc;

use serde_json::Value;

use super::{Decl, Field, ListKind, MAX_REQUEST_BYTES, Object, Reading};
use crate::types::Type;

/// What must be known of a structural schema to type the values that it describes.
pub trait Schema {
    /// `object`, `array`, `string`…; empty where none is given.
    fn kind(&self) -> &str;
    fn format(&self) -> &str;
    fn items(&self) -> Option<&dyn Schema>;
    fn properties(&self) -> Vec<(&str, &dyn Schema)>;
    fn additional_properties(&self) -> Option<&dyn Schema>;
    fn required(&self) -> Vec<&str>;
    /// The strings among the values that `enum` allows.
    fn enum_strings(&self) -> Vec<&str>;
    fn max_length(&self) -> Option<i64>;
    fn max_items(&self) -> Option<i64>;
    fn max_properties(&self) -> Option<i64>;
    fn has_default(&self) -> bool;
    fn nullable(&self) -> bool;
    fn int_or_string(&self) -> bool;
    fn embedded_resource(&self) -> bool;
    fn list_kind(&self) -> ListKind;
}

const MIN_STRING: u64 = 2;

impl Decl {
    /// What expressions can see of a value with this schema; `None` if nothing. `root` adds what every whole object has
    /// (`apiVersion`, `kind`, `metadata.name`, `metadata.generateName`). `name` is how messages call the type.
    pub fn from_schema(schema: &dyn Schema, root: bool, name: &str) -> Option<Decl> {
        let mut decl =
            if schema.int_or_string() { int_or_string(schema) } else { by_kind(schema, root, name)? };
        decl.nullable = schema.nullable();
        Some(decl)
    }
}

fn int_or_string(schema: &dyn Schema) -> Decl {
    let max = schema.max_length().map_or(MAX_REQUEST_BYTES - 2, four_bytes_each);
    Decl::sized(Type::Dyn, max, 1, Reading::IntOrString)
}

fn by_kind(schema: &dyn Schema, root: bool, name: &str) -> Option<Decl> {
    match schema.kind() {
        "array" => {
            let items = schema.items()?;
            let items = Decl::from_schema(items, items.embedded_resource(), &format!("{name}.@idx"))?;
            let max = limit(schema.max_items()).unwrap_or((MAX_REQUEST_BYTES - 2) / (items.min_bytes + 1));
            let list = schema.list_kind();
            Some(Decl { max: Some(max), list, ..items.list_of() })
        }
        "object" => match schema.additional_properties() {
            Some(values) if !root => {
                let values = Decl::from_schema(values, values.embedded_resource(), &format!("{name}.@elem"))?;
                let max = limit(schema.max_properties())
                    .unwrap_or((MAX_REQUEST_BYTES - 2) / (values.min_bytes + 6));
                let mut map = Decl::sized(Type::map(Type::String, values.ty.clone()), max, 2, Reading::Plain);
                map.items = Some(Arc::new(values));
                Some(map)
            }
            _ => Some(object(schema, root, name)),
        },
        "string" => Some(string(schema)),
        "boolean" => Some(Type::Bool.into()),
        "number" => Some(Decl { reading: Reading::Double, ..Type::Double.into() }),
        "integer" => Some(Type::Int.into()),
        _ => None,
    }
}

fn object(schema: &dyn Schema, root: bool, name: &str) -> Decl {
    let required = schema.required();
    let mut fields = Vec::new();
    // An object is written as `{}` at least.
    let mut min_bytes = 2;
    for (property, value) in schema.properties() {
        if root && matches!(property, "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let below = format!("{name}.{property}");
        let Some(decl) = Decl::from_schema(value, value.embedded_resource(), &below) else { continue };
        let required = required.contains(&property);
        if required && !value.has_default() {
            min_bytes += property.len() as u64 + decl.min_bytes + 4;
        }
        fields.extend(Field::new(property, Arc::new(decl), required));
    }
    if root {
        fields.extend(of_every_object(name));
    }
    Decl { min_bytes, ..Type::Object(Arc::new(Object::new(name, fields))).into() }
}

/// Of a whole object, these can always be used, whatever the schema says.
fn of_every_object(name: &str) -> impl Iterator<Item = (Arc<str>, Field)> {
    let text = Arc::new(Decl::sized(Type::String, MAX_REQUEST_BYTES - 2, MIN_STRING, Reading::Plain));
    let named =
        ["name", "generateName"].iter().filter_map(|field| Field::new(field, text.clone(), false)).collect();
    let metadata = Type::Object(Arc::new(Object::new(&format!("{name}.metadata"), named)));
    [("apiVersion", text.clone()), ("kind", text), ("metadata", Arc::new(metadata.into()))]
        .into_iter()
        .filter_map(|(field, decl)| Field::new(field, decl, false))
}

fn string(schema: &dyn Schema) -> Decl {
    let whole_request = MAX_REQUEST_BYTES - 2;
    match schema.format() {
        "byte" => {
            let max = limit(schema.max_length()).unwrap_or(whole_request);
            Decl::sized(Type::Bytes, max, MIN_STRING, Reading::Bytes)
        }
        "duration" => Decl::sized(Type::Duration, 32, 3, Reading::Duration),
        "date" => Decl::sized(Type::Timestamp, 12, 12, Reading::Date),
        "date-time" => Decl::sized(Type::Timestamp, 32, 21, Reading::DateTime),
        _ => {
            let longest = schema.enum_strings().iter().map(|text| text.len() as u64).max();
            let max = schema.max_length().map(four_bytes_each).or(longest).unwrap_or(whole_request);
            Decl::sized(Type::String, max, MIN_STRING, Reading::Plain)
        }
    }
}

fn limit(given: Option<i64>) -> Option<u64> {
    given.map(|given| u64::try_from(given).unwrap_or(0))
}

/// `maxLength` counts characters, and one can take four bytes.
fn four_bytes_each(characters: i64) -> u64 {
    u64::try_from(characters).unwrap_or(0).saturating_mul(4)
}

/// The JSON form of a schema, `spec.versions[].schema.openAPIV3Schema` and below.
impl Schema for Value {
    fn kind(&self) -> &str {
        self.get("type").and_then(Value::as_str).unwrap_or_default()
    }
    fn format(&self) -> &str {
        self.get("format").and_then(Value::as_str).unwrap_or_default()
    }
    fn items(&self) -> Option<&dyn Schema> {
        self.get("items").map(|items| items as &dyn Schema)
    }
    fn properties(&self) -> Vec<(&str, &dyn Schema)> {
        let properties = self.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema as &dyn Schema))
            .collect()
    }
    fn additional_properties(&self) -> Option<&dyn Schema> {
        self.get("additionalProperties")
            .filter(|schema| schema.is_object())
            .map(|schema| schema as &dyn Schema)
    }
    fn required(&self) -> Vec<&str> {
        strings(self.get("required"))
    }
    fn enum_strings(&self) -> Vec<&str> {
        strings(self.get("enum"))
    }
    fn max_length(&self) -> Option<i64> {
        self.get("maxLength").and_then(Value::as_i64)
    }
    fn max_items(&self) -> Option<i64> {
        self.get("maxItems").and_then(Value::as_i64)
    }
    fn max_properties(&self) -> Option<i64> {
        self.get("maxProperties").and_then(Value::as_i64)
    }
    fn has_default(&self) -> bool {
        self.get("default").is_some()
    }
    fn nullable(&self) -> bool {
        is_true(self.get("nullable"))
    }
    fn int_or_string(&self) -> bool {
        is_true(self.get("x-kubernetes-int-or-string"))
    }
    fn embedded_resource(&self) -> bool {
        is_true(self.get("x-kubernetes-embedded-resource"))
    }
    fn list_kind(&self) -> ListKind {
        match self.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListKind::Set,
            Some("map") => ListKind::Map(
                strings(self.get("x-kubernetes-list-map-keys")).into_iter().map(Arc::from).collect(),
            ),
            _ => ListKind::Atomic,
        }
    }
}

fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool).unwrap_or(false)
}
