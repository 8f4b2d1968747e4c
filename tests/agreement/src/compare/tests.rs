use serde_json::json;

use super::*;

fn answer(status: u16, body: Value) -> Vec<Answer> {
    vec![Answer { name: "s".into(), status, warnings: Vec::new(), body }]
}

#[test]
fn names_the_smallest_place_that_differs() {
    for (case, expected, got, found) in [
        ("equal", json!({"a": 1}), json!({"a": 1}), ""),
        ("another value", json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), "body.a.b: expected 1, got 2"),
        ("a missing field", json!({"a": 1}), json!({}), "body.a: expected 1, got (absent)"),
        ("a field too many", json!({}), json!({"a": 1}), "body.a: expected (absent), got 1"),
        ("null is not absent", json!({"a": null}), json!({}), "body.a: expected null, got (absent)"),
        ("a shorter list", json!([1, 2]), json!([1]), "body[1]: expected 2, got (absent)"),
        ("a dotted key", json!({"a.b/c": 1}), json!({"a.b/c": 2}), "body[\"a.b/c\"]: expected 1, got 2"),
    ] {
        let all = differences("t", &answer(200, expected), &answer(200, got));
        let shown: Vec<String> = all.iter().map(Difference::to_string).collect();
        assert_eq!(shown.join("; "), found, "{case}");
    }
}

#[test]
fn a_step_that_was_not_run_is_a_difference() {
    let all = differences("t", &answer(200, json!({})), &[]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].path, "step");
}

#[test]
fn another_status_is_a_difference() {
    let all = differences("t", &answer(200, json!({})), &answer(201, json!({})));
    assert_eq!(all[0].to_string(), "status: expected 200, got 201");
}
