//! How upstream prints parts of a definition in its complaints: in the form in which it holds them, with every field.

use serde_json::Value;

use crate::read::{at, flag, list, map, text};

/// What a version has of its own; the rest stands at the top.
pub(super) struct Kept {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable: bool,
}

pub(super) fn versions(versions: &[Value], kept: &Kept) -> String {
    escaped(&all_versions(versions, kept))
}

/// A rule of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    escaped(&rule_fields(rule))
}

pub(super) fn schema(schema: &Value) -> String {
    escaped(&schema_fields(schema))
}

/// Go's JSON can stand in a web page.
fn escaped(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn all_versions(versions: &[Value], kept: &Kept) -> String {
    if versions.is_empty() {
        return "null".to_owned();
    }
    let own = |keeps: bool, version: &Value, field: &str| {
        if keeps { at(version, field).to_string() } else { "null".to_owned() }
    };
    let shown = versions.iter().map(|version| {
        let source = at(version, "schema");
        let schema = match kept.schema && !source.is_null() {
            true => struct_of([("OpenAPIV3Schema", schema_fields(at(source, "openAPIV3Schema")))]),
            false => "null".to_owned(),
        };
        struct_of([
            ("Name", quoted(version, "name")),
            ("Served", flag(version, "served").to_string()),
            ("Storage", flag(version, "storage").to_string()),
            ("Deprecated", flag(version, "deprecated").to_string()),
            ("DeprecationWarning", at(version, "deprecationWarning").to_string()),
            ("Schema", schema),
            ("Subresources", own(kept.subresources, version, "subresources")),
            ("AdditionalPrinterColumns", own(kept.columns, version, "additionalPrinterColumns")),
            ("SelectableFields", own(kept.selectable, version, "selectableFields")),
        ])
    });
    list_of(shown)
}

fn quoted(of: &Value, field: &str) -> String {
    Value::from(text(of, field)).to_string()
}

fn struct_of<'f>(fields: impl IntoIterator<Item = (&'f str, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{}:{value}", Value::from(name))).collect();
    format!("{{{}}}", fields.join(","))
}

fn list_of(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "null".to_owned() } else { format!("[{}]", items.join(",")) }
}

fn rule_fields(rule: &Value) -> String {
    struct_of([
        ("Rule", quoted(rule, "rule")),
        ("Message", quoted(rule, "message")),
        ("MessageExpression", quoted(rule, "messageExpression")),
        ("Reason", at(rule, "reason").to_string()),
        ("FieldPath", quoted(rule, "fieldPath")),
        ("OptionalOldSelf", at(rule, "optionalOldSelf").to_string()),
    ])
}

enum Form {
    Text,
    Flag,
    /// As it is, or null.
    Plain,
    Schema,
    Schemas,
    Named,
    Rules,
    SchemaOrBool,
    SchemaOrSeveral,
}

const FIELDS: &[(&str, &str, Form)] = &[
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Plain),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Plain),
    ("Maximum", "maximum", Form::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Plain),
    ("MinLength", "minLength", Form::Plain),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Plain),
    ("MinItems", "minItems", Form::Plain),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Plain),
    ("Enum", "enum", Form::Plain),
    ("MaxProperties", "maxProperties", Form::Plain),
    ("MinProperties", "minProperties", Form::Plain),
    ("Required", "required", Form::Plain),
    ("Items", "items", Form::SchemaOrSeveral),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::Named),
    ("AdditionalProperties", "additionalProperties", Form::SchemaOrBool),
    ("PatternProperties", "patternProperties", Form::Named),
    ("Dependencies", "dependencies", Form::Plain),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::Named),
    ("ExternalDocs", "externalDocs", Form::Plain),
    ("Example", "example", Form::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Plain),
    ("XListType", "x-kubernetes-list-type", Form::Plain),
    ("XMapType", "x-kubernetes-map-type", Form::Plain),
    ("XValidations", "x-kubernetes-validations", Form::Rules),
];

/// The fields of a schema that are set, by upstream's names, in upstream's order.
pub(super) fn set_fields(schema: &Value) -> impl Iterator<Item = &'static str> {
    FIELDS
        .iter()
        .filter(|(_, field, form)| match form {
            Form::Text => !text(schema, field).is_empty(),
            Form::Flag => flag(schema, field),
            _ => match at(schema, field) {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                _ => true,
            },
        })
        .map(|(name, _, _)| *name)
}

fn schema_fields(source: &Value) -> String {
    if !source.is_object() {
        return "null".to_owned();
    }
    struct_of(FIELDS.iter().map(|(name, field, form)| {
        let value = at(source, field);
        let shown = match form {
            Form::Text => quoted(source, field),
            Form::Flag => flag(source, field).to_string(),
            Form::Plain => value.to_string(),
            Form::Schema => schema_fields(value),
            Form::Schemas => list_of(list(source, field).iter().map(schema_fields)),
            Form::Rules => list_of(list(source, field).iter().map(rule_fields)),
            Form::Named | Form::SchemaOrBool | Form::SchemaOrSeveral if value.is_null() => "null".to_owned(),
            Form::Named => struct_of(
                map(source, field).iter().map(|(name, below)| (name.as_str(), schema_fields(below))),
            ),
            Form::SchemaOrBool => struct_of([
                ("Allows", value.as_bool().unwrap_or(true).to_string()),
                ("Schema", schema_fields(value)),
            ]),
            Form::SchemaOrSeveral => struct_of([
                ("Schema", schema_fields(value)),
                ("JSONSchemas", list_of(list(source, field).iter().map(schema_fields))),
            ]),
        };
        (*name, shown)
    }))
}
