//! Compares with what a Kubernetes 1.36 API server answers: `answers.jsonl` holds an expression and its value (`= …`, formatted
//! with `%s`), its failure (`! …`) or its mistakes (`? …`) in each line, recorded with a ValidatingAdmissionPolicy.

use kedge_cel::{Budget, Env, Issue, PER_CALL_LIMIT, Type, Value};
use serde_json::json;

fn outcome(env: &Env, source: &str, object: &serde_json::Value) -> Result<String, String> {
    let program = env.compile(source).map_err(|issues| format!("? {}", Issue::join(&issues)))?;
    let mut budget = Budget::new(PER_CALL_LIMIT);
    let value = program
        .eval(&[("object", Value::json(object))], &mut budget)
        .map_err(|error| format!("! {error}"))?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

#[test]
fn expressions_mean_what_they_mean_upstream() {
    let object = json!({"apiVersion": "celtest.example.com/v1", "kind": "Thing",
        "metadata": {"name": "web", "labels": {"app": "x", "tier": "front"}},
        "spec": {"replicas": 3, "ratio": 1.5, "items": ["a", "b", "c"], "nothing": null,
            "containers": [{"name": "c1", "image": "i:1", "ports": [80, 443]}, {"name": "c2", "image": "i:2"}]},
        "n": [1, 2, 3]});
    let env = Env::new().variable("object", Type::Dyn).variable("oldObject", Type::Dyn);
    let mut wrong = Vec::new();
    for line in include_str!("answers.jsonl").lines() {
        let [source, expected]: [String; 2] = serde_json::from_str(line).unwrap();
        let found = match outcome(&env, &source, &object) {
            Err(failure) => failure,
            Ok(_) => match outcome(&env, &format!("'%s'.format([dyn({source})])"), &object) {
                Ok(text) | Err(text) => format!("= {text}"),
            },
        };
        if found != expected {
            wrong.push(format!("{source}\n  upstream: {expected}\n  here:     {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
