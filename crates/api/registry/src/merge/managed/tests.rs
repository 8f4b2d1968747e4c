use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::*;

const NOON: &str = "2026-01-01T12:00:00Z";
const LATER: &str = "2026-01-01T13:00:00Z";

fn who<'a>(manager: &'a str, operation: Operation, now: &str) -> Who<'a> {
    Who { manager, operation, api_version: "v1", subresource: "", now: now.parse().unwrap() }
}

fn config_map() -> &'static Kind {
    builtin().kind("", "v1", "configmaps").unwrap()
}

fn put(kind: &Kind, old: Option<&Value>, mut new: Value, who: &Who<'_>) -> Value {
    update(kind.node().unwrap(), old, &mut new, who);
    new
}

fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries =
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| {
            let sub = entry["subresource"].as_str().map(|sub| format!("/{sub}")).unwrap_or_default();
            let name = format!(
                "{}{sub} {}",
                entry["manager"].as_str().unwrap(),
                entry["operation"].as_str().unwrap()
            );
            (name, entry["fieldsV1"].clone())
        })
        .collect()
}

fn owned(list: &[(&str, Value)]) -> Vec<(String, Value)> {
    list.iter().map(|(name, fields)| (name.to_string(), fields.clone())).collect()
}

#[test]
fn a_writer_owns_what_it_changes_and_others_lose_it() {
    let first = put(
        config_map(),
        None,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "u"}, "data": {"a": "1", "b": "2"}}),
        &who("one", Operation::Update, NOON),
    );
    assert_eq!(owners(&first), owned(&[("one Update", json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}))]));
    assert_eq!(first["metadata"]["managedFields"][0]["time"], NOON);

    let mut changed = first.clone();
    changed["data"] = json!({"a": "x", "c": "3"});
    let second = put(config_map(), Some(&first), changed, &who("two", Operation::Update, LATER));
    assert_eq!(
        owners(&second),
        owned(&[
            ("one Update", json!({"f:data": {}})),
            ("two Update", json!({"f:data": {"f:a": {}, "f:c": {}}}))
        ])
    );

    let same = put(config_map(), Some(&second), second.clone(), &who("three", Operation::Update, LATER));
    assert_eq!(same, second, "a write that changes nothing changes no owner and no time");
}

#[test]
fn sent_managed_fields_count_as_kubernetes_counts_them() {
    let first = put(
        config_map(),
        None,
        json!({"metadata": {"name": "c"}, "data": {"a": "1"}}),
        &who("one", Operation::Update, NOON),
    );
    for (case, sent, expected) in [
        ("none", Value::Null, vec!["one Update"]),
        ("an empty list resets", json!([]), vec![]),
        ("one empty entry resets", json!([{}]), vec![]),
        ("broken ones are ignored", json!([{"manager": "x"}]), vec!["one Update"]),
        (
            "good ones replace",
            json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]),
            vec!["x Apply"],
        ),
    ] {
        let mut new = first.clone();
        new["metadata"]["managedFields"] = sent;
        let result = put(config_map(), Some(&first), new, &who("two", Operation::Update, LATER));
        let names: Vec<String> = owners(&result).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, expected, "{case}");
    }
}

#[test]
fn a_status_write_owns_no_spec_and_the_other_way_round() {
    let kind = builtin().kind("apps", "v1", "deployments").unwrap();
    let object = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
    for (subresource, fields) in
        [("", json!({"f:spec": {"f:replicas": {}}})), ("status", json!({"f:status": {"f:replicas": {}}}))]
    {
        let who = Who { subresource, api_version: "apps/v1", ..who("m", Operation::Update, NOON) };
        let written = put(kind, None, object.clone(), &who);
        assert_eq!(written["metadata"]["managedFields"][0]["fieldsV1"], fields, "{subresource:?}");
    }
}

#[test]
fn old_updaters_are_folded_together() {
    let mut object = put(
        config_map(),
        None,
        json!({"metadata": {"name": "c"}, "data": {}}),
        &who("maker", Operation::Update, NOON),
    );
    for n in 0..12 {
        let mut next = object.clone();
        next["data"][format!("k{n}")] = json!("v");
        let manager = format!("m{n:02}");
        let now = format!("2026-01-01T12:{n:02}:30Z");
        object = put(config_map(), Some(&object), next, &who(&manager, Operation::Update, &now));
    }
    let names: Vec<String> = owners(&object).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!(names[0], "ancient-changes Update");
    assert_eq!(owners(&object)[0].1, json!({"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}}));
}

mod applying;
mod recorded;
