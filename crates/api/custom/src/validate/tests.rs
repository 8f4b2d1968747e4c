//! Objects and what a stock server says about them, held against the same definition.

use kedge_kinds::Kind;
use kedge_kinds::field::Errors;
use serde_json::{Value, json};
use std::sync::Arc;

fn widget() -> Arc<Kind> {
    let spec = json!({"type": "object", "required": ["colour", "nul"], "properties": {
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "nul": {"type": "string", "nullable": true},
        "replicas": {"type": "integer", "format": "int32", "minimum": 0},
        "ratio": {"type": "number", "exclusiveMinimum": true, "minimum": 0.5, "maximum": 2, "multipleOf": 0.5},
        "ios": {"x-kubernetes-int-or-string": true},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "x-kubernetes-list-type": "map",
                 "x-kubernetes-list-map-keys": ["name"],
                 "items": {"type": "object", "required": ["name"],
                           "properties": {"name": {"type": "string", "minLength": 2, "pattern": "^a"}}}},
        "one": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        "some": {"type": "integer", "anyOf": [{"maximum": 2}, {"minimum": 10}]},
        "all": {"type": "integer", "allOf": [{"maximum": 2}, {"minimum": 10}]},
        "not": {"type": "integer", "not": {"minimum": 10}},
        "map": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string", "maxLength": 3}},
        "when": {"type": "string", "format": "date-time"},
    }});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": spec}});
    let definition = json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}],
    }});
    crate::compile(&definition).remove(0)
}

fn said(spec: Value, old: Option<Value>) -> Vec<String> {
    let kind = widget();
    let whole = |spec| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    let mut errors = Errors::default();
    let (new, old) = (whole(spec), old.map(whole));
    kind.rules.as_ref().unwrap().validate(&new, old.as_ref(), &mut errors);
    errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn with(field: &str, value: Value) -> Value {
    json!({"colour": "red", "nul": null, field: value})
}

#[test]
fn values_are_judged_as_a_stock_server_judges_them() {
    for (field, value, expected) in [
        ("colour", json!("red"), vec![]),
        (
            "colour",
            json!("green"),
            vec![r#"spec.colour: Unsupported value: "green": supported values: "red", "blue""#],
        ),
        (
            "colour",
            json!(5),
            vec![
                r#"spec.colour: Invalid value: "integer": spec.colour in body must be of type string: "integer""#,
                r#"spec.colour: Unsupported value: 5: supported values: "red", "blue""#,
            ],
        ),
        (
            "replicas",
            json!("3"),
            vec![
                r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type string, expected int64",
            ],
        ),
        (
            "replicas",
            json!(1.5),
            vec![
                r#"spec.replicas: Invalid value: "float64": spec.replicas in body must be of type int32: "float64""#,
                r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas"#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64",
            ],
        ),
        (
            "replicas",
            json!(-1),
            vec![
                "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
                ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ],
        ),
        (
            "replicas",
            json!(true),
            vec![
                r#"spec.replicas: Invalid value: "": spec.replicas in body must be of type int32: """#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: true is of the type bool, expected int64",
            ],
        ),
        ("ratio", json!(1.5), vec![]),
        (
            "ratio",
            json!(0.5),
            vec!["spec.ratio: Invalid value: 0.5: spec.ratio in body should be greater than 0.5"],
        ),
        (
            "ratio",
            json!(2.25),
            vec![
                "spec.ratio: Invalid value: 2.25: spec.ratio in body should be a multiple of 0.5",
                "spec.ratio: Invalid value: 2.25: spec.ratio in body should be less than or equal to 2",
            ],
        ),
        ("ios", json!("50%"), vec![]),
        (
            "ios",
            json!(true),
            vec![
                r#"spec.ios: Invalid value: "boolean": spec.ios in body must be of type integer,string: "boolean""#,
            ],
        ),
        (
            "one",
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid"#,
                "spec.one.a: Required value",
            ],
        ),
        (
            "one",
            json!({"a": "1", "b": "2"}),
            vec![
                r#"<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ],
        ),
        (
            "some",
            json!(5),
            vec![
                r#"<nil>: Invalid value: "": "spec.some" must validate at least one schema (anyOf)"#,
                "spec.some: Invalid value: 5: spec.some in body should be less than or equal to 2",
            ],
        ),
        (
            "all",
            json!(5),
            vec![
                "spec.all: Invalid value: 5: spec.all in body should be less than or equal to 2",
                "spec.all: Invalid value: 5: spec.all in body should be greater than or equal to 10",
                r#"<nil>: Invalid value: "": "spec.all" must validate all the schemas (allOf). None validated"#,
            ],
        ),
        (
            "not",
            json!(11),
            vec![r#"<nil>: Invalid value: "": "spec.not" must not validate the schema (not)"#],
        ),
        ("map", json!({"k": "long"}), vec!["spec.map.k: Too long: may not be more than 3 bytes"]),
        ("map", json!({"k": "", "l": ""}), vec!["spec.map: Too many: 2: must have at most 1 items"]),
        (
            "list",
            json!([]),
            vec!["spec.list: Invalid value: 0: spec.list in body should have at least 1 items"],
        ),
        (
            "list",
            json!([{"name": "a"}, {"name": "bb"}, {}]),
            vec![
                r#"spec.list[0].name: Invalid value: "a": spec.list[0].name in body should be at least 2 chars long"#,
                r#"spec.list[1].name: Invalid value: "bb": spec.list[1].name in body should match '^a'"#,
                "spec.list[2].name: Required value",
                "spec.list: Too many: 3: must have at most 2 items",
            ],
        ),
        (
            "when",
            json!("soon"),
            vec![r#"spec.when: Invalid value: "soon": spec.when in body must be of type date-time: "soon""#],
        ),
    ] {
        assert_eq!(said(with(field, value.clone()), None), expected, "{field}: {value}");
    }
    assert_eq!(said(json!({}), None), ["spec.colour: Required value", "spec.nul: Required value"]);
}

#[test]
fn what_was_wrong_before_may_stay() {
    let wrong = |name: &str| with("list", json!([{"name": name}, {"name": "ab"}]));
    let moved = with("list", json!([{"name": "ab"}, {"name": "zz"}]));
    assert_eq!(said(wrong("zz"), Some(wrong("zz"))), Vec::<String>::new(), "nothing changed");
    assert_eq!(said(moved, Some(wrong("zz"))), Vec::<String>::new(), "items with keys may move");
    assert_eq!(
        said(wrong("yy"), Some(wrong("zz"))),
        [r#"spec.list[0].name: Invalid value: "yy": spec.list[0].name in body should match '^a'"#],
        "a new item was never there"
    );
}
