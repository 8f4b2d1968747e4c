use kedge_children::testing::{hold, noon, pod, status, summary};
use kedge_engine::Plan;
use serde_json::{Value, json};

use super::*;
use crate::testing::{node, noon_and};

fn world(nodes: Vec<Node>) -> World {
    let world = World::by_hand();
    hold(&world, nodes);
    world
}

fn done(verdict: Verdict) -> Option<(String, Value)> {
    match verdict {
        Verdict::Do(actions) | Verdict::Ask { then: actions, .. } => {
            let plan = Plan::from(actions);
            Some((summary(&plan), status(&plan)))
        }
        Verdict::Leave | Verdict::LookAgain(_) => None,
    }
}

fn leaving(seconds: i64) -> impl Fn(&mut Value) {
    move |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
    }
}

#[test]
fn nobody_waits_for_a_node_that_will_not_answer() {
    let out = |ready: &str| {
        node("n1", ready, |node| {
            node["spec"]["taints"] =
                json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
        })
    };
    let unplaced = |pod: &mut Value| pod["spec"]["nodeName"] = json!("");
    let both = |pod: &mut Value| {
        leaving(30)(pod);
        unplaced(pod);
    };
    for (case, node, pod, goes) in [
        ("lives on its node", node("n1", "True", |_| {}), pod("p", "", |_| {}), false),
        ("leaves its node", node("n1", "True", |_| {}), pod("p", "", leaving(30)), false),
        ("leaves a silent node", node("n1", "Unknown", |_| {}), pod("p", "", leaving(30)), false),
        ("leaves a node out of service", out("Unknown"), pod("p", "", leaving(30)), true),
        ("leaves a node that is ready after all", out("True"), pod("p", "", leaving(30)), false),
        ("stays on a node out of service", out("Unknown"), pod("p", "", |_| {}), false),
        ("waits for a node", out("True"), pod("p", "", unplaced), false),
        ("leaves before it had a node", out("True"), pod("p", "", both), true),
    ] {
        let verdict = verdict(&pod, &world(vec![node]), &Since::default(), noon()).unwrap();
        let found = done(verdict);
        assert_eq!(found.is_some(), goes, "{case}");
        if let Some((words, status)) = found {
            assert_eq!((&*words, &status["phase"]), ("-Pod/p", &json!("Failed")), "{case}");
            assert!(status["conditions"].is_null(), "{case}");
        }
    }
}

#[test]
fn a_missing_node_is_waited_for() {
    let (missing, empty) = (Since::default(), world(vec![]));
    let lost = pod("p", "", |_| {});
    let at = |world: &World, second| verdict(&lost, world, &missing, noon_and(second)).unwrap();
    assert_eq!(at(&empty, 0), Verdict::LookAgain(noon_and(40)));
    assert_eq!(at(&empty, 39), Verdict::LookAgain(noon_and(40)));
    assert_eq!(at(&world(vec![node("n1", "True", |_| {})]), 39), Verdict::Leave, "it has come");
    assert_eq!(at(&empty, 50), Verdict::LookAgain(noon_and(90)), "and gone again");
    let verdict = at(&empty, 90);
    assert!(matches!(&verdict, Verdict::Ask { node, .. } if node == "n1"), "{verdict:?}");
    let (words, status) = done(verdict).unwrap();
    assert_eq!((&*words, &status["phase"]), ("-Pod/p", &json!("Failed")));
    let said = &status["conditions"][1];
    assert_eq!(
        (&said["type"], &said["reason"], &said["message"]),
        (&json!("DisruptionTarget"), &json!("DeletionByPodGC"), &json!("PodGC: node no longer exists"))
    );
}

#[test]
fn whoever_holds_an_ended_pod_is_next() {
    let held = pod("p", "", |pod| {
        leaving(0)(pod);
        pod["metadata"]["finalizers"] = json!(["example.com/held"]);
        pod["status"]["phase"] = json!("Failed");
        pod["spec"]["nodeName"] = json!("");
    });
    assert_eq!(verdict(&held, &world(vec![]), &Since::default(), noon()).unwrap(), Verdict::Leave);
    let ended = pod("p", "", |pod| {
        leaving(30)(pod);
        pod["status"]["phase"] = json!("Succeeded");
        pod["spec"]["nodeName"] = json!("");
    });
    let (words, status) = done(verdict(&ended, &world(vec![]), &Since::default(), noon()).unwrap()).unwrap();
    assert_eq!((&*words, status), ("-Pod/p", Value::Null), "what it came to stays");
}

#[test]
fn ended_pods_go_when_there_are_too_many() {
    let ended = |name: &str, phase: &str, reason: &str, made: &str| {
        pod(name, "", |pod| {
            pod["status"] = json!({"phase": phase, "reason": reason});
            pod["metadata"]["creationTimestamp"] = json!(format!("2030-01-01T{made}:00Z"));
        })
    };
    let world = World::by_hand();
    hold(
        &world,
        vec![
            ended("young", "Succeeded", "", "11:30"),
            ended("old", "Failed", "", "10:00"),
            ended("older", "Failed", "", "09:00"),
            ended("evicted", "Failed", "Evicted", "11:50"),
            ended("running", "Running", "", "08:00"),
            ended("waiting", "Pending", "", "08:00"),
        ],
    );
    for (most, expected) in [
        (6, ""),
        (4, ""),
        (3, "-Pod/evicted"),
        (2, "-Pod/evicted -Pod/older"),
        (0, "-Pod/evicted -Pod/older -Pod/old -Pod/young"),
    ] {
        assert_eq!(summary(&Plan::from(ended::surplus(&world, most).unwrap())), expected, "{most}");
    }
}
