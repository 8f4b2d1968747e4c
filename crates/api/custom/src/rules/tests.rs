//! Objects and what rules say about them, as a stock server says it.

use std::sync::Arc;

use kedge_kinds::Rules;
use kedge_kinds::field::Errors;
use serde_json::{Value, json};

fn gauge() -> Arc<dyn Rules> {
    let spec = json!({"type": "object", "properties": {
        "a": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self < 3"}, {"rule": "self != 7", "message": "no seven"},
            {"rule": "self != 8", "messageExpression": "self > 0 ? 'got eight' : 'no'"},
            {"rule": "self != 9", "messageExpression": "''", "message": "nine"}]},
        "b": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "immutable"}]},
        "c": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [
            {"rule": "!oldSelf.hasValue() || self == oldSelf.value()", "optionalOldSelf": true, "message": "fixed once set"}]},
        "d": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "x-kubernetes-validations": [
            {"rule": "self.x < self.y", "fieldPath": ".x", "reason": "FieldValueForbidden", "message": "x below y"}]},
        "e": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
              "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 10},
                        "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}},
        "f": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self > 0", "reason": "FieldValueDuplicate"}]}},
        "g": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": "self > 3"}]},
        "h": {"type": "object", "properties": {"k": {"type": "integer"}}, "x-kubernetes-validations": [
            {"rule": "self.k / 0 == 1"}, {"rule": "self.k > 0", "reason": "FieldValueRequired", "message": "need k"},
            {"rule": "self.k > 1", "reason": "FieldValueDuplicate"}]},
        "w": {"type": "string", "format": "date-time", "x-kubernetes-validations": [{"rule": "self > timestamp('2020-01-01T00:00:00Z')"}]},
    }});
    let schema = json!({"type": "object", "properties": {"spec": spec}, "x-kubernetes-validations": [
        {"rule": "self.metadata.name != 'bad'", "message": "bad name"},
        {"rule": "!has(self.spec.a) || self.spec.a != 2", "fieldPath": ".spec.a"}]});
    let definition = json!({"spec": {"group": "example.com", "names": {"plural": "gauges", "kind": "Gauge"}, "versions": [
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    crate::compile(&definition)[0].rules.clone().unwrap()
}

fn object(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": {"name": name}, "spec": spec})
}

fn said(rules: &dyn Rules, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut errors = Errors::default();
    rules.validate(new, old, &mut errors);
    errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn new_objects_fulfil_the_rules() {
    let rules = gauge();
    for (spec, expected) in [
        (json!({"a": 1, "b": "x", "c": "y", "e": [{"name": "a", "v": 1}], "g": 5}), vec![]),
        (
            json!({"a": 7}),
            vec!["spec.a: Invalid value: 7: failed rule: self < 3", "spec.a: Invalid value: 7: no seven"],
        ),
        (
            json!({"a": 8}),
            vec!["spec.a: Invalid value: 8: failed rule: self < 3", "spec.a: Invalid value: 8: got eight"],
        ),
        (
            json!({"a": 9}),
            vec!["spec.a: Invalid value: 9: failed rule: self < 3", "spec.a: Invalid value: 9: nine"],
        ),
        (json!({"a": 2}), vec!["spec.a: Invalid value: failed rule: !has(self.spec.a) || self.spec.a != 2"]),
        (json!({"d": {"x": 3, "y": 2}}), vec!["spec.d.x: Forbidden: x below y"]),
        (
            json!({"d": {"x": 3}}),
            vec!["spec.d: Invalid value: \"object\": no such key: y evaluating rule: x below y"],
        ),
        (json!({"f": {"k": 0}}), vec!["spec.f[k]: Duplicate value: 0"]),
        (
            json!({"g": "5"}),
            vec![
                "spec.g: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, \
                 function or macro signature for rule: self > 3",
            ],
        ),
        (
            json!({"h": {"k": 0}}),
            vec![
                "spec.h: Invalid value: \"object\": division by zero evaluating rule: self.k / 0 == 1",
                "spec.h: Required value: need k",
                "spec.h: Duplicate value",
            ],
        ),
        (
            json!({"w": "2019-01-01T00:00:00Z"}),
            vec![
                "spec.w: Invalid value: \"2019-01-01T00:00:00Z\": failed rule: self > timestamp('2020-01-01T00:00:00Z')",
            ],
        ),
        (
            json!({"w": "zz"}),
            vec![
                "spec.w: Invalid value: \"zz\": spec.w in body must be of type date-time: \"zz\"",
                "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct \
                 the existing errors to complete validation",
            ],
        ),
    ] {
        assert_eq!(said(&*rules, &object("a", spec.clone()), None), expected, "{spec}");
    }
    assert_eq!(said(&*rules, &object("bad", json!({})), None), ["<nil>: Invalid value: bad name"]);
}

#[test]
fn changes_fulfil_the_rules_too() {
    let rules = gauge();
    let old =
        object("u", json!({"a": 9, "b": "x", "c": "y", "e": [{"name": "a", "v": 5}, {"name": "b", "v": 5}]}));
    for (spec, expected) in [
        (json!({"b": "z", "c": "y", "e": []}), vec!["spec.b: Invalid value: \"z\": immutable"]),
        (json!({"b": "x", "c": "z"}), vec!["spec.c: Invalid value: \"z\": fixed once set"]),
        (json!({"c": "y"}), vec![]),
        (
            json!({"e": [{"name": "b", "v": 4}, {"name": "a", "v": 6}, {"name": "c", "v": 0}]}),
            vec!["spec.e[0].v: Invalid value: 4: failed rule: self >= oldSelf"],
        ),
        (json!({"a": 9, "f": {"k": 1}}), vec![]),
    ] {
        assert_eq!(said(&*rules, &object("u", spec.clone()), Some(&old)), expected, "{spec}");
    }
}

#[test]
fn a_costly_rule_ends_the_asking() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
            {"rule": "self.all(x, self.all(y, x == y))", "message": "pairs"}]}}}}});
    let definition = json!({"spec": {"group": "example.com", "names": {"plural": "gauges", "kind": "Gauge"}, "versions": [
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let rules = crate::compile(&definition)[0].rules.clone().unwrap();
    let long = object("a", json!({"list": vec![1; 2000]}));
    assert_eq!(
        said(&*rules, &long, None),
        [
            "spec.list: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation \
             rules will be run due to call cost exceeds limit for rule: pairs"
        ]
    );
}
