//! Schemas that a definition may not have.

use serde_json::{Value, json};

use super::{said, with};

/// Complaints about the schema of `spec`'s fields, without what they all begin with.
pub(super) fn about(fields: Value) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
    let definition = with(&[("/spec/versions/0/schema/openAPIV3Schema", schema)]);
    let common = "spec.validation.openAPIV3Schema.properties[spec].properties";
    let stripped = |text: String| text.replacen(common, "", 1);
    said(&definition, None).into_iter().map(stripped).collect()
}

#[test]
fn fields_say_what_they_are() {
    for (case, fields, expected) in [
        (
            "no types",
            json!({"a": {}, "b": {"type": "array"}, "c": {"type": "array", "items": {}}, "d": {"type": "foo"}}),
            vec![
                "[a].type: Required value: must not be empty for specified object fields",
                "[b].items: Required value: must be specified",
                "[c].items.type: Required value: must not be empty for specified array items",
                "[d].type: Unsupported value: \"foo\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ],
        ),
        (
            "what is not supported",
            json!({"a": {"type": "string", "$ref": "x", "id": "i", "definitions": {"a": {"type": "string"}},
                   "dependencies": {"a": ["b"]}, "patternProperties": {"a": {"type": "string"}}, "additionalItems": true,
                   "uniqueItems": true}}),
            vec![
                "[a].id: Forbidden: id is not supported",
                "[a].additionalItems: Forbidden: additionalItems is not supported",
                "[a].patternProperties: Forbidden: patternProperties is not supported",
                "[a].definitions: Forbidden: definitions is not supported",
                "[a].dependencies: Forbidden: dependencies is not supported",
                "[a].$ref: Forbidden: $ref is not supported",
                "[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            "items are one schema",
            json!({"a": {"type": "array", "items": [{"type": "string"}]}}),
            vec!["[a].items: Forbidden: items must be a schema object and not an array"],
        ),
        (
            "under a junctor only values",
            json!({"a": {"type": "object", "allOf": [{"type": "object", "properties": {"b": {"description": "x"}},
                   "nullable": true, "title": "t", "default": {}, "x-kubernetes-preserve-unknown-fields": true}]}}),
            vec![
                "[a].allOf[0].default: Forbidden: must be undefined to be structural",
                "[a].allOf[0].nullable: Forbidden: must be false to be structural",
                "[a].allOf[0].properties[b].description: Forbidden: must be empty to be structural",
                "[a].allOf[0].title: Forbidden: must be empty to be structural",
                "[a].allOf[0].type: Forbidden: must be empty to be structural",
                "[a].allOf[0].x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural",
            ],
        ),
        (
            "struct or map",
            json!({"a": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}}),
            vec![
                "[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            "keeping fields is on or unsaid",
            json!({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": false}}),
            vec!["[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        (
            "embedded objects",
            json!({"a": {"type": "string", "x-kubernetes-embedded-resource": true},
                   "c": {"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true}}),
            vec![
                "[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
                "[a].type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
                "[c].type: Required value: must be object if x-kubernetes-embedded-resource is true",
                "[c].x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
                "[c].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ],
        ),
        (
            "int or string, spelt out",
            json!({"a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}}),
            vec![],
        ),
        (
            "patterns compile",
            json!({"a": {"type": "string", "pattern": "[a"}}),
            vec![
                "[a].pattern: Invalid value: \"[a\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[a`",
            ],
        ),
        (
            "defaults fulfil the schema",
            json!({"a": {"type": "string", "default": 5},
                   "b": {"type": "object", "properties": {"c": {"type": "string"}}, "default": {"d": 1}},
                   "f": {"type": "integer", "maximum": 3, "default": 5}}),
            vec![
                "[a].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
                "[b].default: Invalid value: {\"d\":1}: must not have unknown fields",
                "[f].default: Invalid value: 5:  in body should be less than or equal to 3",
            ],
        ),
    ] {
        assert_eq!(about(fields), expected, "{case}");
    }
}

#[test]
fn lists_say_what_tells_their_items_apart() {
    for (fields, expected) in [
        (
            json!({"a": {"type": "string", "x-kubernetes-list-type": "set"}}),
            vec!["[a].type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified"],
        ),
        (
            json!({"b": {"type": "array", "x-kubernetes-list-type": "foo", "items": {"type": "string"}}}),
            vec![
                "[b].x-kubernetes-list-type: Unsupported value: \"foo\": supported values: \"atomic\", \"set\", \"map\"",
            ],
        ),
        (
            json!({"c": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object", "properties": {"k": {"type": "string"}}}}}),
            vec![
                "[c].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        ),
        (
            json!({"d": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "z"],
                   "items": {"type": "object", "nullable": true, "properties": {"k": {"type": "string", "nullable": true}}}}}),
            vec![
                "[d].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"z\"]: entries must all be names of item properties",
                "[d].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
                "[d].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
                "[d].items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ],
        ),
        (
            json!({"e": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}}),
            vec![
                "[e].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ],
        ),
        (
            json!({"f": {"type": "array", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "string"}}}),
            vec![
                "[f].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
            ],
        ),
        (
            json!({"g": {"type": "string", "x-kubernetes-map-type": "atomic"}, "h": {"type": "object", "x-kubernetes-map-type": "zz"}}),
            vec![
                "[g].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
                "[h].x-kubernetes-map-type: Unsupported value: \"zz\": supported values: \"atomic\", \"granular\"",
            ],
        ),
    ] {
        assert_eq!(about(fields.clone()), expected, "{fields}");
    }
}

#[test]
fn the_root_is_an_object_with_metadata() {
    let schema = |schema: Value| {
        let definition = with(&[("/spec/versions/0/schema/openAPIV3Schema", schema)]);
        let stripped = |text: String| text.replacen("spec.validation.openAPIV3Schema", "", 1);
        said(&definition, None).into_iter().map(stripped).collect::<Vec<_>>()
    };
    for (case, given, expected) in [
        ("nothing", json!({}), vec![".type: Required value: must not be empty at the root"]),
        (
            "no object",
            json!({"type": "string", "nullable": true, "additionalProperties": {"type": "string"}}),
            vec![
                ".nullable: Forbidden: nullable cannot be true at the root",
                ".additionalProperties: Forbidden: must not be used at the root",
                ".type: Invalid value: \"string\": must be object at the root",
            ],
        ),
        (
            "odd metadata",
            json!({"type": "object", "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "labels": {"type": "object"}}},
                "kind": {"type": "integer"}, "apiVersion": {"type": "string", "default": "x"}}}),
            vec![
                ".properties[kind].type: Invalid value: \"integer\": must be string",
                ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
                ".properties[apiVersion].default: Forbidden: must not be set in top-level apiVersion",
            ],
        ),
        (
            "what only a junctor speaks about",
            json!({"type": "object", "oneOf": [{"required": ["a"], "properties": {"a": {"minimum": 1}}}]}),
            vec![
                ".properties[a]: Required value: because it is defined in spec.validation.openAPIV3Schema.oneOf[0].properties[a]",
            ],
        ),
    ] {
        assert_eq!(schema(given), expected, "{case}");
    }
}
