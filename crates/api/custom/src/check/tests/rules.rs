//! Rules that a definition may not have.

use serde_json::{Value, json};

use super::schemas::about;

fn ruled(rules: Value) -> Value {
    json!({"a": {"type": "object", "properties": {"b": {"type": "string"}}, "x-kubernetes-validations": rules}})
}

#[test]
fn texts_of_rules_are_whole() {
    let rules = json!([
        {"rule": ""}, {"rule": "true", "message": " "}, {"rule": "true", "message": "a\nb"}, {"rule": "true ||\ntrue"},
        {"rule": "true", "messageExpression": " "}, {"rule": "true", "reason": "X"}, {"rule": "true", "fieldPath": ".c"},
        {"rule": "true", "fieldPath": ".b"},
    ]);
    let expected = [
        "[0].rule: Required value: rule is not specified",
        "[1].message: Invalid value: \" \": must be non-empty if specified",
        "[2].message: Invalid value: \"a\\nb\": must not contain line breaks",
        "[3].message: Required value: message must be specified if rule contains line breaks",
        "[4].messageExpression: Required value: messageExpression must be non-empty if specified",
        "[5].reason: Unsupported value: \"X\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        "[6].fieldPath: Invalid value: \".c\": must be a valid path",
    ];
    let expected: Vec<String> =
        expected.iter().map(|said| format!("[a].x-kubernetes-validations{said}")).collect();
    assert_eq!(about(ruled(rules)), expected);
}

#[test]
fn rules_compile() {
    for (rule, expected) in [
        (json!({"rule": "self.b == 'x'"}), None),
        (
            json!({"rule": "self.c > 1"}),
            Some(
                "[0].rule: Invalid value: {\"Rule\":\"self.c \\u003e 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\
                 \"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'c'\n \
                 | self.c > 1\n | ....^",
            ),
        ),
        (
            json!({"rule": "size(self.b)"}),
            Some(
                "[0].rule: Invalid value: {\"Rule\":\"size(self.b)\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\
                 \"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate to a bool",
            ),
        ),
        (
            json!({"rule": "true", "messageExpression": "1"}),
            Some(
                "[0].messageExpression: Invalid value: {\"Rule\":\"true\",\"Message\":\"\",\"MessageExpression\":\"1\",\
                 \"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: messageExpression must evaluate to a string",
            ),
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            Some("[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"),
        ),
    ] {
        let expected: Vec<String> =
            expected.iter().map(|said| format!("[a].x-kubernetes-validations{said}")).collect();
        assert_eq!(about(ruled(json!([rule]))), expected, "{rule}");
    }
}

#[test]
fn only_what_can_be_told_apart_has_a_past() {
    let items =
        json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    assert_eq!(
        about(json!({"a": {"type": "array", "maxItems": 3, "items": items}})),
        [
            "[a].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the \
             uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec].properties[a]"
        ]
    );
}

#[test]
fn rules_cost_no_more_than_they_may() {
    const ADVICE: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, \
        and strings are declared)";
    const PAIRS: &str = "self.all(x, self.exists_one(y, x == y))";
    let list = |items: i64, length: i64, times: usize| {
        let rules = vec![json!({"rule": PAIRS}); times];
        json!({"type": "array", "maxItems": items, "items": {"type": "string", "maxLength": length}, "x-kubernetes-validations": rules})
    };
    assert_eq!(about(json!({"a": list(100, 10, 1)})), Vec::<String>::new());
    assert_eq!(
        about(json!({"a": list(1000, 100, 1)})),
        [format!(
            "[a].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 4.4x {ADVICE}"
        )]
    );
    let many = about(
        json!({"a": list(900, 10, 7), "b": list(900, 10, 7), "c": list(900, 10, 7), "d": list(900, 10, 7),
                            "e": list(900, 10, 7), "f": list(900, 10, 7)}),
    );
    assert_eq!(many.len(), 5, "the four most expensive and the sum: {many:#?}");
    assert_eq!(
        many[4],
        format!(
            "spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire \
             OpenAPIv3 schema exceeds budget by factor of 2.7x {ADVICE}"
        )
    );
    let unlimited = json!({"a": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [
        {"rule": "self.contains('a')"}]}}});
    assert_eq!(
        about(unlimited)[0],
        format!(
            "[a].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {ADVICE}"
        )
    );
}

#[test]
fn defaults_fulfil_rules() {
    let below = |limit: i64| json!([{"rule": format!("self < {limit}")}]);
    assert_eq!(
        about(json!({
            "a": {"type": "integer", "default": 5, "x-kubernetes-validations": below(3)},
            "b": {"type": "object", "default": {"c": 1}, "properties": {"c": {"type": "integer", "x-kubernetes-validations": below(1)}}},
        })),
        [
            "[a].default: Invalid value: 5: failed rule: self < 3",
            "[b].default.c: Invalid value: 1: failed rule: self < 1",
        ]
    );
}
