use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

fn plugin(arguments: Value) -> NodeResourcesFit {
    NodeResourcesFit::new(serde_json::from_value(arguments).unwrap())
}

fn asking(requests: Value) -> PodView {
    pod("p", |pod| pod["spec"]["containers"][0]["resources"] = json!({"requests": requests}))
}

fn with_devices(name: &str, devices: &str) -> crate::node::NodeFacts {
    node(name, |node| node["status"]["allocatable"]["example.com/gpu"] = devices.into())
}

#[test]
fn a_pod_needs_room_for_what_it_asks_for() {
    let taken = on(
        "a",
        &pod("q", |pod| {
            pod["spec"]["containers"][0]["resources"] =
                json!({"requests": {"cpu": "3", "memory": "6Gi", "example.com/gpu": "1"}});
        }),
    );
    let cluster = cluster([with_devices("a", "2")], [taken]);
    for (case, requests, out) in [
        ("nothing", json!({}), vec![]),
        ("exactly the rest", json!({"cpu": "1", "memory": "2Gi"}), vec![]),
        ("too much of one", json!({"cpu": "1001m"}), vec!["a: Insufficient cpu"]),
        (
            "too much of all",
            json!({"cpu": "2", "memory": "3Gi"}),
            vec!["a: Insufficient cpu, Insufficient memory"],
        ),
        ("more than the node", json!({"cpu": "5"}), vec!["a: ! Insufficient cpu"]),
        (
            "one of two is more than the node",
            json!({"cpu": "2", "memory": "9Gi"}),
            vec!["a: ! Insufficient cpu, Insufficient memory"],
        ),
        (
            "what the node has not",
            json!({"ephemeral-storage": "1Gi"}),
            vec!["a: ! Insufficient ephemeral-storage"],
        ),
        ("a device", json!({"example.com/gpu": "1"}), vec![]),
        ("too many devices", json!({"example.com/gpu": "2"}), vec!["a: Insufficient example.com/gpu"]),
        ("devices of another make", json!({"other.com/gpu": "1"}), vec!["a: ! Insufficient other.com/gpu"]),
        ("none of them", json!({"other.com/gpu": "0"}), vec![]),
    ] {
        assert_eq!(rejected(&plugin(json!({})), &asking(requests), &cluster), out, "{case}");
    }
}

#[test]
fn a_node_has_room_for_so_many_pods() {
    let small = || node("a", |node| node["status"]["allocatable"]["pods"] = "1".into());
    let full = cluster([small()], [on("a", &pod("q", |_| ()))]);
    assert_eq!(rejected(&plugin(json!({})), &asking(json!({})), &full), ["a: Too many pods"]);
    assert_eq!(
        rejected(&plugin(json!({})), &asking(json!({"cpu": "9"})), &full),
        ["a: ! Too many pods, Insufficient cpu"]
    );
    assert!(rejected(&plugin(json!({})), &asking(json!({})), &cluster([small()], [])).is_empty());
}

#[test]
fn the_configuration_can_ignore_resources() {
    let cluster = cluster([node("a", |_| ())], []);
    let asks = asking(json!({"example.com/gpu": "1", "other.com/x": "1"}));
    for (case, arguments, out) in [
        ("one", json!({"ignoredResources": ["example.com/gpu"]}), vec!["a: ! Insufficient other.com/x"]),
        (
            "a group",
            json!({"ignoredResourceGroups": ["other.com"]}),
            vec!["a: ! Insufficient example.com/gpu"],
        ),
        (
            "both",
            json!({"ignoredResources": ["example.com/gpu"], "ignoredResourceGroups": ["other.com"]}),
            vec![],
        ),
    ] {
        assert_eq!(rejected(&plugin(arguments), &asks, &cluster), out, "{case}");
    }
}

#[test]
fn the_strategy_decides_which_node_is_better() {
    let half = on(
        "b",
        &pod("q", |pod| {
            pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "2", "memory": "4Gi"}});
        }),
    );
    let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [half]);
    let asks = asking(json!({"cpu": "1", "memory": "2Gi"}));
    let line = json!({"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]});
    for (case, arguments, wanted) in [
        ("spread out unless told otherwise", json!({}), "a=75 b=25"),
        ("packed", json!({"scoringStrategy": {"type": "MostAllocated"}}), "a=25 b=75"),
        (
            "along a line",
            json!({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": line}}),
            "a=25 b=75",
        ),
        (
            "one resource",
            json!({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 3}]}}),
            "a=75 b=25",
        ),
        (
            "a device that it does not ask for",
            json!({"scoringStrategy": {"resources": [{"name": "x.com/y"}, {"name": "cpu"}]}}),
            "a=75 b=25",
        ),
    ] {
        assert_eq!(scored(&plugin(arguments), &asks, &cluster), wanted, "{case}");
    }
}

#[test]
fn a_pod_that_asks_for_nothing_counts_as_a_small_one() {
    let many = (0..5).map(|number| on("b", &pod(&format!("q{number}"), |_| ())));
    let cluster = cluster([node("a", |_| ()), node("b", |_| ())], many);
    let scores = scores(&plugin(json!({})), &asking(json!({})), &cluster).unwrap();
    assert!(scores[0].1 > scores[1].1, "{scores:?}");
}

#[test]
fn what_frees_room_helps() {
    let plugin = plugin(json!({}));
    let waiting = asking(json!({"cpu": "3"}));
    let sized = |cpu: &str| node("a", |node| node["status"]["allocatable"]["cpu"] = cpu.into());
    let at = |cpu: &str| Node::new(0, sized(cpu));
    let smaller = pod("q", |_| ());
    let larger = asking(json!({"cpu": "1"}));
    for (case, change, helps) in [
        ("a pod is gone", Change::PodGone(&smaller), true),
        ("a pod shrank", Change::PodChanged { before: &larger, now: &smaller }, true),
        ("a pod grew", Change::PodChanged { before: &smaller, now: &larger }, false),
        ("a new node", Change::NodeAdded(&at("4")), true),
        ("a new node, too small", Change::NodeAdded(&at("2")), false),
        ("a node grew", Change::NodeChanged { before: &sized("2"), now: &at("4") }, true),
        ("a node did not grow enough", Change::NodeChanged { before: &sized("1"), now: &at("2") }, false),
        ("a node stayed as it was", Change::NodeChanged { before: &sized("4"), now: &at("4") }, false),
    ] {
        assert_eq!(plugin.helped_by(&waiting, &change), helps, "{case}");
    }
}
