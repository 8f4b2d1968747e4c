//! What a stock server publishes for the same schema.

use serde_json::{Value, json};

use super::{About, Dialect, published};

fn publish(field: Value, dialect: Dialect) -> Value {
    let schema = json!({"type": "object", "properties": {"f": field}});
    let about = About { group: "example.com", version: "v1", kind: "K", selectable: vec!["spec.a"] };
    published(Some(schema), &about, dialect)
}

#[test]
fn says_what_each_dialect_can_say() {
    for (field, v2, v3) in [
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 2}]}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 2}],
                   "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}),
        ),
        (
            json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "integer", "default": 1}}}),
            json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "integer"}}}),
            json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "integer", "default": 1}}}),
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
        ),
    ] {
        assert_eq!(publish(field.clone(), Dialect::V2)["properties"]["f"], v2, "v2 of {field}");
        assert_eq!(publish(field.clone(), Dialect::V3)["properties"]["f"], v3, "v3 of {field}");
    }
}

#[test]
fn every_object_has_a_type_and_metadata() {
    let whole = publish(json!({"type": "object", "x-kubernetes-embedded-resource": true}), Dialect::V3);
    let metadata = json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]);
    assert_eq!(whole["properties"]["metadata"]["allOf"], metadata);
    assert_eq!(whole["properties"]["f"]["properties"]["metadata"]["allOf"], metadata);
    assert_eq!(whole["properties"]["f"]["required"], json!(["kind", "apiVersion"]));
    let gvk = json!([{"group": "example.com", "version": "v1", "kind": "K"}]);
    assert_eq!(whole["x-kubernetes-group-version-kind"], gvk);
    assert_eq!(whole["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.a"}]));
    assert_eq!(super::name("stable.example.com", "v1", "CronTab"), "com.example.stable.v1.CronTab");
}
