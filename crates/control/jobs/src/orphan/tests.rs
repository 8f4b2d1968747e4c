use kedge_children::testing::object;
use serde_json::{Value, json};

use super::*;

fn pod(owner: Option<(&str, &str)>, tracked: bool) -> Pod {
    let mut value = json!({"metadata": {"name": "p", "namespace": "n", "finalizers": ["other/one"]}});
    if tracked {
        value["metadata"]["finalizers"] = json!(["other/one", "batch.kubernetes.io/job-tracking"]);
    }
    if let Some((version, kind)) = owner {
        value["metadata"]["ownerReferences"] =
            json!([{"apiVersion": version, "kind": kind, "name": "work", "uid": "job", "controller": true}]);
    }
    object(value)
}

fn job(uid: &str, edit: Value) -> Job {
    let mut value =
        json!({"metadata": {"name": "work", "namespace": "n", "uid": uid}, "spec": {"template": {}}});
    json_patch::merge(&mut value, &edit);
    object(value)
}

#[test]
fn only_what_nobody_will_count_is_freed() {
    let ours = Some(("batch/v1", "Job"));
    let ended = json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}});
    let mut elsewhere = ended.clone();
    elsewhere["spec"] = json!({"managedBy": "example.com/queue"});
    for (case, pod, known, expected) in [
        ("not counted by anybody", pod(ours, false), None, "Leave"),
        ("nobody's", pod(None, true), None, "Free"),
        ("another kind's", pod(Some(("apps/v1", "ReplicaSet")), true), None, "Leave"),
        ("another group's job", pod(Some(("batch.example.com/v1", "Job")), true), None, "Leave"),
        ("its job works", pod(ours, true), Some(job("job", json!({}))), "Leave"),
        ("its job has ended", pod(ours, true), Some(job("job", ended)), "Free"),
        ("its job is somebody else's work", pod(ours, true), Some(job("job", elsewhere)), "Leave"),
        ("its job is not seen", pod(ours, true), None, "Find"),
        ("a new job of that name", pod(ours, true), Some(job("other", json!({}))), "Find"),
    ] {
        let found = verdict(&pod, |_| known.clone());
        let word = format!("{found:?}");
        assert!(word.starts_with(expected), "{case}: {word}");
    }
}

#[test]
fn other_finalizers_stay() {
    let action = pod(None, true).let_go().unwrap();
    assert_eq!(action.to_string(), r#"change Pod n/p {"metadata":{"finalizers":["other/one"]}}"#);
}
