use kedge_children::testing::{hold, noon, object, pod, status, summary};
use serde_json::{Value, json};

use super::*;
use crate::testing::{node, noon_and, taint};

fn tolerating(tolerations: Value) -> Pod {
    pod("p", "", |pod| pod["spec"]["tolerations"] = tolerations)
}

fn planned(evictions: &Evictions, pod: &Pod, node: Node, now: Timestamp) -> Plan {
    let world = World::by_hand();
    hold(&world, vec![node]);
    hold(&world, vec![pod.clone()]);
    evictions.plan(pod, &world, now).unwrap()
}

#[test]
fn patience_with_taints_ends() {
    let for_seconds =
        |key: &str, seconds: i64| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
    let for_ever = |key: &str| json!({"key": key, "operator": "Exists"});
    let expelling = |key: &str| taint(key, "NoExecute", 0);
    // When the pod goes, in seconds after noon, if it is looked at ten seconds after noon.
    for (case, taints, tolerations, goes) in [
        ("no taints", vec![], json!([]), None),
        ("another effect", vec![taint("a", "NoSchedule", 0)], json!([]), None),
        ("not tolerated", vec![expelling("a")], json!([]), Some(10)),
        ("tolerated for ever", vec![expelling("a")], json!([for_ever("a")]), None),
        ("tolerated for a while", vec![expelling("a")], json!([for_seconds("a", 30)]), Some(30)),
        ("time is up", vec![expelling("a")], json!([for_seconds("a", 5)]), Some(5)),
        ("for no time at all", vec![expelling("a")], json!([for_seconds("a", 0)]), Some(0)),
        ("for less than that", vec![expelling("a")], json!([for_seconds("a", -5)]), Some(0)),
        (
            "the shortest of several counts",
            vec![expelling("a"), taint("b", "NoExecute", 5)],
            json!([for_seconds("a", 60), for_seconds("b", 30)]),
            Some(35),
        ),
        (
            "one of two is not tolerated",
            vec![expelling("a"), expelling("b")],
            json!([for_ever("a")]),
            Some(10),
        ),
    ] {
        let pod = tolerating(tolerations);
        let node = node("n1", "True", |node| node["spec"]["taints"] = json!(taints));
        let plan = planned(&Evictions::default(), &pod, node, noon_and(10));
        match goes {
            Some(second) if second <= 10 => assert_eq!(summary(&plan), "-Pod/p", "{case}"),
            later => {
                assert_eq!(summary(&plan), "", "{case}");
                assert_eq!(plan.look_again, later.map(noon_and), "{case}");
            }
        }
    }
}

#[test]
fn a_pod_says_why_it_goes() {
    let node = || node("n1", "True", |node| node["spec"]["taints"] = json!([taint("a", "NoExecute", 0)]));
    let pod = tolerating(json!([]));
    let plan = planned(&Evictions::default(), &pod, node(), noon());
    let kinds: Vec<String> = plan.actions.iter().map(|action| action.to_string()).collect();
    assert!(kinds[0].starts_with("change Pod/status n/p"), "{kinds:?}");
    assert_eq!(&kinds[1..], ["delete Pod n/p", "Normal TaintManagerEviction: Marking for deletion Pod n/p"]);
    let said = &status(&plan)["conditions"][1];
    assert_eq!(
        (&said["type"], &said["status"], &said["reason"]),
        (&json!("DisruptionTarget"), &json!("True"), &json!("DeletionByTaintManager"))
    );
    let leaving = pod_with(|pod| pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z"));
    assert_eq!(planned(&Evictions::default(), &leaving, node(), noon()), Plan::default(), "it goes already");
}

fn pod_with(edit: impl FnOnce(&mut Value)) -> Pod {
    pod("p", "", edit)
}

#[test]
fn patience_begins_with_the_later_of_pod_and_taint() {
    let tolerations = json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}]);
    let pod = pod_with(|pod| {
        pod["spec"]["tolerations"] = tolerations;
        pod["status"]["conditions"] = json!([
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2030-01-01T12:00:20Z"},
        ]);
    });
    let tainted = node("n1", "True", |node| node["spec"]["taints"] = json!([taint("a", "NoExecute", 0)]));
    let plan = planned(&Evictions::default(), &pod, tainted, noon_and(25));
    assert_eq!(plan.look_again, Some(noon_and(50)));
}

#[test]
fn nobody_is_made_and_expelled_without_a_pause() {
    let new = pod_with(|pod| pod["metadata"]["creationTimestamp"] = json!("2030-01-01T12:00:00Z"));
    let tainted = || node("n1", "True", |node| node["spec"]["taints"] = json!([taint("a", "NoExecute", 0)]));
    let plan = planned(&Evictions::default(), &new, tainted(), noon());
    assert_eq!((plan.actions.len(), plan.look_again), (0, Some(noon_and(1))));
    assert_eq!(summary(&planned(&Evictions::default(), &new, tainted(), noon_and(1))), "-Pod/p");
}

#[test]
fn a_taint_without_a_time_counts_from_its_first_sight() {
    let pod = tolerating(json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}]));
    let by_hand =
        || node("n1", "True", |node| node["spec"]["taints"] = json!([{"key": "a", "effect": "NoExecute"}]));
    let evictions = Evictions::default();
    let at = |node: Node, second| planned(&evictions, &pod, node, noon_and(second));
    assert_eq!(at(by_hand(), 5).look_again, Some(noon_and(35)));
    assert_eq!(at(by_hand(), 15).look_again, Some(noon_and(35)));
    let clean = || node("n1", "True", |_| {});
    evictions.undated.keep_only("n1", Some(&clean()));
    let told: Vec<String> = at(clean(), 20).actions.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["Normal TaintManagerEviction: Cancelling deletion of Pod n/p"]);
    assert_eq!(at(clean(), 20), Plan::default(), "once");
    assert_eq!(at(by_hand(), 30).look_again, Some(noon_and(60)), "it is back, and counts anew");
    evictions.undated.keep_only("n1", Some(&by_hand()));
    assert_eq!(summary(&at(by_hand(), 60)), "-Pod/p");
}

#[test]
fn a_pod_that_has_not_begun_moves() {
    let silent = || node("n1", "Unknown", |_| {});
    let well = || node("n2", "True", |_| {});
    let waiting = |edit: fn(&mut Value)| {
        pod("p", "set", |pod| {
            pod["status"] = json!({"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2030-01-01T10:59:59Z"},
            ]});
            pod["spec"]["tolerations"] = json!([
                {"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ]);
            edit(pod);
        })
    };
    for (case, pod, nodes, expected) in [
        ("its node is silent", waiting(|_| {}), vec![silent(), well()], "-Pod/p"),
        ("its node is not ready", waiting(|_| {}), vec![node("n1", "False", |_| {}), well()], "-Pod/p"),
        ("its node is well", waiting(|_| {}), vec![node("n1", "True", |_| {}), well()], ""),
        ("nowhere is better", waiting(|_| {}), vec![silent()], ""),
        (
            "it has begun",
            waiting(|pod| pod["status"]["startTime"] = json!("2030-01-01T11:59:59Z")),
            vec![silent(), well()],
            "",
        ),
        ("it runs", waiting(|pod| pod["status"]["phase"] = json!("Running")), vec![silent(), well()], ""),
        (
            "it belongs to nobody",
            waiting(|pod| drop(pod["metadata"].as_object_mut().unwrap().remove("ownerReferences"))),
            vec![silent(), well()],
            "",
        ),
        (
            "its owner waits until it is gone",
            waiting(|pod| pod["metadata"]["ownerReferences"][0]["kind"] = json!("StatefulSet")),
            vec![silent(), well()],
            "",
        ),
        (
            "its node was unready before",
            waiting(|pod| {
                pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2030-01-01T11:00:02Z")
            }),
            vec![silent(), well()],
            "",
        ),
        (
            "its template names the node",
            waiting(|pod| pod["status"]["conditions"] = json!([])),
            vec![silent(), well()],
            "",
        ),
        (
            "it stays whatever happens",
            waiting(|pod| pod["spec"]["tolerations"] = json!([{"operator": "Exists"}])),
            vec![silent(), well()],
            "",
        ),
    ] {
        let world = World::by_hand();
        hold(&world, nodes);
        hold(&world, vec![pod.clone()]);
        assert_eq!(summary(&Evictions::default().plan(&pod, &world, noon()).unwrap()), expected, "{case}");
    }
}

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

#[test]
fn a_node_that_is_not_there_expels_nobody() {
    let world = World::by_hand();
    hold(&world, Vec::<Node>::new());
    let pod: Pod = object(
        json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "x", "containers": []}}),
    );
    assert_eq!(Evictions::default().plan(&pod, &world, noon()).unwrap(), Plan::default());
}
