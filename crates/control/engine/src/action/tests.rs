use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::*;

fn pod(value: Value) -> Pod {
    serde_json::from_value(value).unwrap()
}

fn sample() -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"x": "1", "y": "2"}},
        "spec": {"containers": [{"name": "c"}], "nodeName": "n1"},
        "status": {"phase": "Pending"},
    })
}

#[test]
fn a_change_says_only_what_differs() {
    for (case, edit, planned) in [
        ("nothing", json!({}), None),
        (
            "a label",
            json!({"metadata": {"labels": {"x": "3"}}}),
            Some(json!({"metadata": {"labels": {"x": "3"}}})),
        ),
        (
            "a label less",
            json!({"metadata": {"labels": {"x": null}}}),
            Some(json!({"metadata": {"labels": {"x": null}}})),
        ),
        ("a field less", json!({"spec": {"nodeName": null}}), Some(json!({"spec": {"nodeName": null}}))),
        ("the status is another matter", json!({"status": {"phase": "Running"}}), None),
    ] {
        let mut after = sample();
        merge(&mut after, &edit);
        let action = Action::change(&pod(sample()), &pod(after));
        let patch = action.map(|action| match action {
            Action::Change { patch, .. } => patch,
            other => panic!("{case}: {other}"),
        });
        assert_eq!(patch, planned, "{case}");
    }
}

#[test]
fn a_status_is_patched_alone() {
    let mut after = sample();
    merge(&mut after, &json!({"metadata": {"labels": {"x": "3"}}, "status": {"phase": "Running"}}));
    let action = Action::status(&pod(sample()), &pod(after)).unwrap();
    assert_eq!(action.to_string(), r#"change Pod/status n/a {"status":{"phase":"Running"}}"#);
}

#[test]
fn a_creation_names_its_kind() {
    let action = Action::create(&pod(json!({"metadata": {"generateName": "a-", "namespace": "n"}})));
    assert_eq!(action.to_string(), "create Pod n/a-");
    let Action::Create { object, .. } = action else { panic!("no creation") };
    assert_eq!((object["kind"].as_str(), object["apiVersion"].as_str()), (Some("Pod"), Some("v1")));
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else { return *target = patch.clone() };
    for (field, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(field);
        } else {
            merge(&mut target[field], value);
        }
    }
}
