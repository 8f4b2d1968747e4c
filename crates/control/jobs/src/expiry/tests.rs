use kedge_children::testing::{noon, object};
use serde_json::{Value, json};

use super::*;

fn job(edit: impl FnOnce(&mut Value)) -> Job {
    let mut value = json!({
        "metadata": {"name": "work", "namespace": "n", "uid": "job", "resourceVersion": "7"},
        "spec": {"template": {}, "ttlSecondsAfterFinished": 60},
        "status": {"conditions": [
            {"type": "FailureTarget", "status": "True", "lastTransitionTime": "2030-01-01T11:00:00Z"},
            {"type": "Failed", "status": "True", "lastTransitionTime": "2030-01-01T11:59:00Z"},
        ]},
    });
    edit(&mut value);
    object(value)
}

#[test]
fn what_has_ended_goes_in_time() {
    let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
    for (case, job, deletes, again) in [
        ("its time is up", job(|_| {}), true, None),
        (
            "not yet",
            job(|job| job["spec"]["ttlSecondsAfterFinished"] = json!(90)),
            false,
            at("2030-01-01T12:00:30Z"),
        ),
        ("at once", job(|job| job["spec"]["ttlSecondsAfterFinished"] = json!(0)), true, None),
        ("nobody asks", job(|job| job["spec"]["ttlSecondsAfterFinished"] = Value::Null), false, None),
        ("it runs", job(|job| job["status"]["conditions"][1]["status"] = json!("False")), false, None),
        (
            "it goes already",
            job(|job| job["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z")),
            false,
            None,
        ),
    ] {
        let plan = FinishedJobs.plan(&job, &World::by_hand(), noon()).unwrap();
        assert_eq!((plan.actions.len(), plan.look_again), (usize::from(deletes), again), "{case}");
        for action in plan.actions {
            let Action::Delete { target, propagation, unchanged, .. } = action else { panic!("{action}") };
            assert_eq!(
                (target.revision.as_str(), propagation, unchanged),
                ("7", "Foreground", true),
                "{case}"
            );
        }
    }
}
