use serde_json::{Value, json};

use super::*;
use kedge_children::testing::{Stage, hold, noon, object, pod, status, summary};

fn set(wanted: u32) -> ReplicaSet {
    edited(wanted, |_| {})
}

fn edited(wanted: u32, edit: impl FnOnce(&mut Value)) -> ReplicaSet {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "set", "resourceVersion": "5", "generation": 1},
        "spec": {
            "replicas": wanted,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    edit(&mut value);
    object(value)
}

fn planned(set: &ReplicaSet, pods: Vec<Pod>) -> Plan {
    let world = World::by_hand();
    hold(&world, pods);
    hold(&world, vec![set.clone()]);
    ReplicaSets.plan(set, &world, noon()).unwrap()
}

fn ready(name: &str) -> Pod {
    pod(name, "set", |_| {})
}

fn starting(name: &str) -> Pod {
    pod(name, "set", |pod| pod["status"] = json!({"phase": "Pending"}))
}

fn with(name: &str, pointer: &str, value: Value) -> Pod {
    pod(name, "set", |pod| {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        pod.pointer_mut(parent).unwrap()[field] = value;
    })
}

#[test]
fn keeps_the_wanted_number_of_pods() {
    let gone = json!("2030-01-01T11:59:00Z");
    for (case, wanted, pods, expected) in [
        ("nothing there yet", 2, vec![], "+Pod +Pod"),
        ("enough", 2, vec![ready("a"), ready("b")], ""),
        ("a leaving pod does not count", 1, vec![with("a", "/metadata/deletionTimestamp", gone)], "+Pod"),
        ("an ended pod does not count", 1, vec![with("a", "/status/phase", json!("Failed"))], "+Pod"),
        ("the unready one goes first", 1, vec![ready("a"), starting("b")], "-Pod/b"),
        (
            "the unplaced one goes first",
            1,
            vec![starting("a"), with("b", "/spec/nodeName", json!(""))],
            "-Pod/b",
        ),
        (
            "the cheap one goes first",
            1,
            vec![ready("b"), with("a", "/metadata/annotations", json!({COST: "-1"}))],
            "-Pod/a",
        ),
        (
            "the crowded node loses one",
            2,
            vec![with("a", "/spec/nodeName", json!("n2")), ready("b"), ready("c")],
            "-Pod/b",
        ),
        (
            "the one with more restarts goes first",
            1,
            vec![
                ready("a"),
                with(
                    "b",
                    "/status/containerStatuses",
                    json!([{"name": "c", "restartCount": 3, "image": "i", "imageID": "", "ready": true}]),
                ),
            ],
            "-Pod/b",
        ),
        (
            "the younger goes first",
            1,
            vec![ready("a"), with("b", "/metadata/creationTimestamp", json!("2030-01-01T11:30:00Z"))],
            "-Pod/b",
        ),
        ("none wanted", 0, vec![ready("a")], "-Pod/a"),
        ("an orphan is taken in", 1, vec![pod("a", "", |_| {})], "~Pod/a"),
        ("another's is left alone", 1, vec![pod("a", "other", |_| {})], "+Pod"),
        (
            "one with other labels is let go",
            1,
            vec![with("a", "/metadata/labels", json!({"app": "x"}))],
            "~Pod/a +Pod",
        ),
    ] {
        assert_eq!(summary(&planned(&set(wanted), pods)), expected, "{case}");
    }
}

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

#[test]
fn a_leaving_set_changes_nothing() {
    let set = edited(3, |set| set["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z"));
    assert_eq!(summary(&planned(&set, vec![ready("a"), pod("b", "", |_| {})])), "");
}

#[test]
fn says_how_its_pods_are() {
    let set = edited(3, |set| set["spec"]["minReadySeconds"] = json!(10));
    let young = pod("b", "set", |pod| {
        pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2030-01-01T11:59:55Z");
    });
    let plan = planned(&set, vec![ready("a"), young, starting("c")]);
    assert_eq!(
        status(&plan),
        json!({
            "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 2, "availableReplicas": 1,
            "terminatingReplicas": 0, "observedGeneration": 1,
        })
    );
    assert_eq!(plan.look_again, Some("2030-01-01T12:00:05Z".parse().unwrap()));
}

#[test]
fn a_carried_out_plan_leaves_nothing_to_do() {
    let mut set = set(1);
    set.status = Some(object_status());
    let plan = planned(&set, vec![ready("a")]);
    assert_eq!(plan, Plan::default());
}

fn object_status() -> k8s_openapi::api::apps::v1::ReplicaSetStatus {
    serde_json::from_value(json!({
        "replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "terminatingReplicas": 0, "observedGeneration": 1,
    }))
    .unwrap()
}

#[test]
fn the_same_situation_gives_the_same_names() {
    let first = planned(&set(3), vec![]);
    assert_eq!(first, planned(&set(3), vec![]));
    let later = edited(3, |set| set["metadata"]["resourceVersion"] = json!("6"));
    assert_ne!(first.actions.first(), planned(&later, vec![]).actions.first());
}

#[test]
fn a_refusal_is_said_and_kept() {
    let action = planned(&set(1), vec![]).actions.into_iter().find(Action::is_creation).unwrap();
    let refusal = Refusal { action, code: 403, reason: "Forbidden".into(), message: "exceeded quota".into() };
    let actions = ReplicaSets.refused(&set(1), std::slice::from_ref(&refusal), noon());
    let plan = Plan::from(actions.clone());
    assert_eq!(status(&plan)["conditions"][0]["reason"], "FailedCreate");
    assert_eq!(actions[1].to_string(), "Warning FailedCreate: Error creating: exceeded quota");
    let mut failed = set(1);
    failed.status = Some(serde_json::from_value(status(&plan)).unwrap());
    let again = Refusal { message: "exceeded quota by another pod".into(), ..refusal };
    assert_eq!(ReplicaSets.refused(&failed, &[again], noon()).len(), 1, "an event and no write");
    let plan = planned(&failed, vec![ready("a")]);
    assert!(status(&plan)["conditions"].is_null(), "the failure is over");
    assert!(plan.actions.iter().any(|action| action.to_string().contains("\"conditions\":null")), "{plan:?}");
}

#[test]
fn what_is_refused_keeps_nothing_from_being_said() {
    let mut failed = set(3);
    failed.fail("FailedCreate", "exceeded quota", noon());
    let plan = planned(&failed, vec![ready("a"), ready("b")]);
    assert_eq!(status(&plan)["readyReplicas"], 2);
    assert!(status(&plan)["conditions"].is_null(), "the failure is not over before the pod is made");
    let order: Vec<bool> = plan.actions.iter().map(Action::is_creation).collect();
    assert_eq!(
        order,
        [true, false, false],
        "pod, event, status: a pod is named by the revision before the status"
    );
}

#[test]
fn a_set_that_does_not_select_its_pods_makes_none() {
    let strange = edited(3, |set| set["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"}));
    assert_eq!(summary(&planned(&strange, vec![])), "");
}

#[test]
fn two_sets_that_select_the_same_share_and_come_to_rest() {
    for writes in [1, usize::MAX] {
        let mut stage = Stage::breaking_off_after(writes).with::<ReplicaSet>().with::<Pod>();
        for (name, wanted) in [("a", 2), ("b", 3)] {
            stage.put(&edited(wanted, |set| {
                set["metadata"] = json!({"name": name, "namespace": "n"});
            }));
        }
        for name in ["x", "y", "z"] {
            stage.put(&pod(name, "", |_| {}));
        }
        let act = |stage: &mut Stage| stage.nodes_act(|_| true);
        for name in ["a", "b", "a", "b"] {
            stage.settle(&ReplicaSets, name, act);
        }
        let quiet = stage.revision();
        for name in ["a", "b"] {
            stage.settle(&ReplicaSets, name, act);
        }
        assert_eq!(stage.revision(), quiet, "neither has anything left to do");
        let mut owners: Vec<String> =
            stage.all::<Pod>().iter().map(|pod| claim::controller(pod).unwrap().name.clone()).collect();
        owners.sort();
        assert_eq!(owners, ["a", "a", "b", "b", "b"]);
    }
}
