//! The schema of a custom kind as OpenAPI publishes it: what the definition says, with what every object has. Version 2 of
//! OpenAPI can say less, and its readers trip over more; what they cannot read is left out.

use serde_json::{Map, Value, json};

use crate::read::{flag, text};

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More \
    info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    V2,
    V3,
}

/// What stands in the published schema besides the definition's own.
pub(crate) struct About<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    /// `spec.colour`
    pub(crate) selectable: Vec<&'a str>,
}

/// `com.example.stable.v1.CronTab`: the name under which a kind's schema is published.
pub fn name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    format!("{}.{version}.{kind}", parts.join("."))
}

pub(crate) fn published(schema: Option<Value>, about: &About<'_>, dialect: Dialect) -> Value {
    let mut schema = match schema {
        // Readers of version 2 would refuse unknown fields where any field is named.
        Some(schema) if dialect == Dialect::V2 && keeps_unknown(&schema) => json!({"type": "object"}),
        None => json!({"type": "object"}),
        Some(mut schema) => {
            adapt(&mut schema, dialect);
            name_meta(&mut schema, API_VERSION, KIND, dialect);
            schema
        }
    };
    if let Some(fields) = schema.as_object_mut() {
        let gvk = json!([{"group": about.group, "version": about.version, "kind": about.kind}]);
        fields.insert("x-kubernetes-group-version-kind".into(), gvk);
        if !about.selectable.is_empty() {
            let paths = about.selectable.iter().map(|path| json!({"fieldPath": path}));
            fields.insert("x-kubernetes-selectable-fields".into(), paths.collect());
        }
    }
    schema
}

fn keeps_unknown(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
}

fn name_meta(schema: &mut Value, api_version: &str, kind: &str, dialect: Dialect) {
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let Some(properties) = properties.as_object_mut() else { return };
    properties.insert("apiVersion".into(), json!({"description": api_version, "type": "string"}));
    properties.insert("kind".into(), json!({"description": kind, "type": "string"}));
    let metadata = match dialect {
        Dialect::V2 => json!({"description": METADATA, "$ref": format!("#/definitions/{OBJECT_META}")}),
        Dialect::V3 => json!({
            "description": METADATA,
            "allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}],
        }),
    };
    properties.insert("metadata".into(), metadata);
}

/// One node and everything below it.
fn adapt(schema: &mut Value, dialect: Dialect) {
    match dialect {
        Dialect::V2 => simplify(schema),
        Dialect::V3 => spell_out_int_or_string(schema),
    }
    for field in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(field).filter(|below| below.is_object()) {
            adapt(below, dialect);
        }
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|below| adapt(below, dialect));
    }
    let tolerant = dialect == Dialect::V2 && keeps_unknown(schema);
    if flag(schema, "x-kubernetes-embedded-resource") && !tolerant {
        name_meta(schema, EMBEDDED_API_VERSION, EMBEDDED_KIND, dialect);
        require(schema, &["kind", "apiVersion"]);
    }
}

fn require(schema: &mut Value, names: &[&str]) {
    let Some(fields) = schema.as_object_mut() else { return };
    let required = fields.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(required) = required.as_array_mut() {
        for name in names {
            if !required.iter().any(|known| known == name) {
                required.push((*name).into());
            }
        }
    }
}

/// Adds the `anyOf` that readers of plain OpenAPI need, unless the definition wrote it itself.
fn spell_out_int_or_string(schema: &mut Value) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let spelt = schema.get("anyOf") == Some(&either) || schema.pointer("/allOf/0/anyOf") == Some(&either);
    let Some(fields) = schema.as_object_mut().filter(|_| !spelt) else { return };
    if !fields.contains_key("anyOf") {
        fields.insert("anyOf".into(), either);
        return;
    }
    let all = fields.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(all) = all.as_array_mut() {
        all.insert(0, json!({"anyOf": either}));
    }
}

/// Leaves out what version 2 or its readers do not know.
fn simplify(schema: &mut Value) {
    let (keeps, nullable) = (keeps_unknown(schema), flag(schema, "nullable"));
    let nullable_fields: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, field)| flag(field, "nullable"))
        .map(|(name, _)| name.clone())
        .collect();
    let entries_nullable = schema.get("additionalProperties").is_some_and(|entry| flag(entry, "nullable"));
    let kind = text(schema, "type").to_owned();
    let Some(fields) = schema.as_object_mut() else { return };
    for field in ["allOf", "anyOf", "oneOf", "not", "nullable", "default"] {
        fields.remove(field);
    }
    if nullable || keeps {
        fields.remove("items");
        fields.remove("properties");
    }
    let untyped =
        nullable || (kind == "array" && !fields.contains_key("items")) || (kind == "object" && keeps);
    if untyped {
        fields.remove("type");
    }
    if entries_nullable {
        fields.remove("required");
    } else if let Some(required) = fields.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !nullable_fields.iter().any(|nullable| name == nullable));
        if required.is_empty() {
            fields.remove("required");
        }
    }
}

#[cfg(test)]
mod tests;
