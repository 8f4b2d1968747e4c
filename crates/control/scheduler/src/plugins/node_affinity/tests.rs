use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

const UNWANTED: &str = "! node(s) didn't match Pod's node affinity/selector";

fn labelled(name: &str, key: &str, value: &str) -> NodeFacts {
    node(name, |node| node["metadata"]["labels"][key] = value.into())
}

fn three() -> Cluster {
    cluster([labelled("a", "disk", "ssd"), labelled("b", "disk", "hdd"), labelled("c", "cores", "8")], [])
}

fn requiring(terms: Value) -> PodView {
    pod("p", |pod| {
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    })
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

fn named(operator: &str, values: &[&str]) -> Value {
    json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]})
}

#[test]
fn a_pod_runs_only_where_it_wants_to() {
    for (case, wanted, nodes) in [
        ("in", requiring(json!([expression("disk", "In", &["ssd", "nvme"])])), "a"),
        (
            "not in takes nodes without the label",
            requiring(json!([expression("disk", "NotIn", &["ssd"])])),
            "b c",
        ),
        ("exists", requiring(json!([expression("disk", "Exists", &[])])), "a b"),
        ("does not exist", requiring(json!([expression("disk", "DoesNotExist", &[])])), "c"),
        ("greater", requiring(json!([expression("cores", "Gt", &["7"])])), "c"),
        ("not greater than itself", requiring(json!([expression("cores", "Gt", &["8"])])), ""),
        ("less", requiring(json!([expression("cores", "Lt", &["9"])])), "c"),
        ("no number", requiring(json!([expression("cores", "Gt", &["many"])])), ""),
        (
            "one of the terms",
            requiring(json!([expression("disk", "In", &["hdd"]), expression("cores", "Exists", &[])])),
            "b c",
        ),
        ("no term", requiring(json!([])), ""),
        ("an empty term", requiring(json!([{}])), ""),
        ("by name", requiring(json!([named("In", &["b", "x"])])), "b"),
        ("by name, not", requiring(json!([named("NotIn", &["b"])])), "a c"),
        ("a selector", pod("p", |pod| pod["spec"]["nodeSelector"] = json!({"disk": "ssd"})), "a"),
        (
            "a selector that nobody has",
            pod("p", |pod| pod["spec"]["nodeSelector"] = json!({"disk": "ssd", "x": "y"})),
            "",
        ),
    ] {
        assert_eq!(passing(&NodeAffinity::default(), &wanted, &three()), nodes, "{case}");
    }
}

#[test]
fn reasons_are_those_that_people_look_for() {
    let plugin = NodeAffinity::default();
    let selecting = pod("p", |pod| pod["spec"]["nodeSelector"] = json!({"disk": "hdd"}));
    assert_eq!(rejected(&plugin, &selecting, &three()), [format!("a: {UNWANTED}"), format!("c: {UNWANTED}")]);

    let nowhere = requiring(json!([{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["a"]},
        {"key": "metadata.name", "operator": "In", "values": ["b"]},
    ]}]));
    assert_eq!(rejected(&plugin, &nowhere, &three()), ["all: ! pod affinity terms conflict"]);
}

#[test]
fn named_nodes_are_all_that_need_to_be_tried() {
    let plugin = NodeAffinity::default();
    for (case, terms, only) in [
        ("one list", json!([named("In", &["b", "a"])]), Some(vec!["a", "b"])),
        ("either list", json!([named("In", &["a"]), named("In", &["c"])]), Some(vec!["a", "c"])),
        ("a term without names", json!([named("In", &["a"]), expression("disk", "Exists", &[])]), None),
        ("not in says nothing", json!([named("NotIn", &["a"])]), None),
    ] {
        let pod = requiring(terms);
        let cluster = three();
        let found = Filter::prepare(&plugin, &pod, &cluster).ok().and_then(|prepared| prepared.only());
        let only = only.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(found, only, "{case}");
    }
}

#[test]
fn the_configuration_can_add_its_own() {
    let arguments: Arguments = object_of(json!({"addedAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [expression("disk", "Exists", &[])]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": expression("disk", "In", &["hdd"])}],
    }}));
    let plugin = NodeAffinity::new(arguments);
    let reason = "c: ! node(s) didn't match scheduler-enforced node affinity";
    assert_eq!(rejected(&plugin, &pod("p", |_| ()), &three()), [reason]);
    assert_eq!(scored(&plugin, &pod("p", |_| ()), &three()), "a=0 b=100 c=0");
}

fn object_of(value: Value) -> Arguments {
    serde_json::from_value(value).unwrap()
}

#[test]
fn preferences_add_up() {
    let preferring = pod("p", |pod| {
        pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = json!([
            {"weight": 30, "preference": expression("disk", "Exists", &[])},
            {"weight": 10, "preference": expression("disk", "In", &["ssd"])},
            {"weight": 90, "preference": {}},
        ]);
    });
    assert_eq!(scored(&NodeAffinity::default(), &preferring, &three()), "a=100 b=75 c=0");
    assert_eq!(scored(&NodeAffinity::default(), &pod("p", |_| ()), &three()), "-");
}

#[test]
fn a_label_that_was_missing_helps() {
    let pod = pod("p", |pod| pod["spec"]["nodeSelector"] = json!({"disk": "ssd"}));
    let (without, with) = (node("a", |_| ()), Node::new(0, labelled("a", "disk", "ssd")));
    let plugin = NodeAffinity::default();
    assert!(plugin.helped_by(&pod, &Change::NodeChanged { before: &without, now: &with }));
    assert!(!plugin.helped_by(&pod, &Change::NodeChanged { before: &with, now: &with }));
    assert!(!plugin.helped_by(&pod, &Change::NodeAdded(&Node::new(0, without))));
}
