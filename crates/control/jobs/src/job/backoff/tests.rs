use kedge_children::testing::{noon, object};
use serde_json::{Value, json};

use super::*;

fn pod(phase: &str, ended: &str) -> Arc<Pod> {
    Arc::new(object(json!({
        "metadata": {"name": "p", "creationTimestamp": "2030-01-01T10:00:00Z"},
        "status": {"phase": phase, "containerStatuses": [
            {"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": 1, "finishedAt": format!("2030-01-01T{ended}Z")}}},
        ]},
    })))
}

#[test]
fn waits_by_what_failed_since_the_last_success() {
    let failed = |at: &str| pod("Failed", at);
    for (case, pods, counted, succeeded, expected) in [
        ("nothing failed", vec![], 0, false, None),
        ("once", vec![failed("12:00:00")], 1, false, Some(10)),
        ("twice", vec![failed("11:00:00"), failed("12:00:00")], 2, false, Some(20)),
        ("six times", vec![failed("12:00:00"); 6], 6, false, Some(320)),
        ("at most ten minutes", vec![failed("12:00:00"); 60], 60, false, Some(600)),
        ("also of pods that are gone", vec![failed("12:00:00")], 3, false, Some(40)),
        ("all are gone", vec![], 3, false, None),
        ("ignored ones too", vec![failed("12:00:00"); 2], 0, false, Some(20)),
        (
            "a success between",
            vec![failed("10:00:00"), failed("11:00:00"), pod("Succeeded", "11:30:00"), failed("12:00:00")],
            3,
            true,
            Some(10),
        ),
        ("a success after", vec![failed("11:00:00"), pod("Succeeded", "12:00:00")], 1, true, None),
    ] {
        let wait = due(&pods, counted, succeeded).map(|due| due.duration_since(noon()).as_secs());
        assert_eq!(wait, expected, "{case}");
    }
}

#[test]
fn an_end_is_told_by_the_best_sign() {
    let created = "2030-01-01T10:00:00Z";
    let ran = |at: &str| {
        json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 1, "finishedAt": at}}})
    };
    let runs = json!({"name": "d", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
        "state": {"running": {}}});
    let unready = json!([{"type": "Ready", "status": "False", "lastTransitionTime": "2030-01-01T10:20:00Z"}]);
    for (case, meta, status, expected) in [
        ("no sign", json!({}), json!({}), created),
        (
            "its containers",
            json!({}),
            json!({"containerStatuses": [ran("2030-01-01T10:10:00Z")]}),
            "2030-01-01T10:10:00Z",
        ),
        (
            "one still runs",
            json!({}),
            json!({"containerStatuses": [ran("2030-01-01T10:10:00Z"), runs], "conditions": unready}),
            "2030-01-01T10:20:00Z",
        ),
        (
            "told to go",
            json!({"deletionTimestamp": "2030-01-01T10:40:00Z", "deletionGracePeriodSeconds": 600}),
            json!({}),
            "2030-01-01T10:30:00Z",
        ),
    ] {
        let mut value: Value =
            json!({"metadata": {"name": "p", "creationTimestamp": created}, "status": status});
        json_patch::merge(&mut value["metadata"], &meta);
        assert_eq!(ended_at(&object(value)).to_string(), expected, "{case}");
    }
}
