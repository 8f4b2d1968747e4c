use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

fn tainted(taints: Value) -> impl FnOnce(&mut Value) {
    move |node| node["spec"]["taints"] = taints
}

fn cluster_of_three() -> Cluster {
    let strict = tainted(json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]));
    let gentle = tainted(json!([
        {"key": "slow", "effect": "PreferNoSchedule"},
        {"key": "old", "effect": "PreferNoSchedule"},
    ]));
    cluster([node("free", |_| ()), node("gentle", gentle), node("strict", strict)], [])
}

fn tolerating(tolerations: Value) -> PodView {
    pod("p", |pod| pod["spec"]["tolerations"] = tolerations)
}

#[test]
fn taints_keep_away_those_who_do_not_tolerate_them() {
    let out = vec!["strict: ! node(s) had untolerated taint(s)"];
    for (case, tolerations, rejected_nodes) in [
        ("nothing tolerated", json!([]), out.clone()),
        ("the taint", json!([{"key": "gpu", "value": "yes"}]), vec![]),
        ("another value of it", json!([{"key": "gpu", "value": "no"}]), out.clone()),
        ("only its eviction", json!([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]), out),
    ] {
        assert_eq!(
            rejected(&TaintToleration, &tolerating(tolerations), &cluster_of_three()),
            rejected_nodes,
            "{case}"
        );
    }
}

#[test]
fn fewer_taints_that_ask_to_stay_away_are_better() {
    for (case, tolerations, wanted) in [
        ("none tolerated", json!([]), "free=100 gentle=0 strict=100"),
        (
            "one tolerated, the other still the most",
            json!([{"key": "old", "operator": "Exists"}]),
            "free=100 gentle=0 strict=100",
        ),
        (
            "both",
            json!([{"operator": "Exists", "effect": "PreferNoSchedule"}]),
            "free=100 gentle=100 strict=100",
        ),
        (
            "a toleration of another effect",
            json!([{"operator": "Exists", "effect": "NoSchedule"}]),
            "free=100 gentle=0 strict=100",
        ),
    ] {
        assert_eq!(scored(&TaintToleration, &tolerating(tolerations), &cluster_of_three()), wanted, "{case}");
    }
}

#[test]
fn a_taint_taken_away_helps() {
    let strict = || node("a", tainted(json!([{"key": "gpu", "effect": "NoSchedule"}])));
    let (before, free, still) = (strict(), Node::new(0, node("a", |_| ())), Node::new(0, strict()));
    let pod = pod("p", |_| ());
    assert!(TaintToleration.helped_by(&pod, &Change::NodeChanged { before: &before, now: &free }));
    assert!(!TaintToleration.helped_by(&pod, &Change::NodeChanged { before: &before, now: &still }));
    assert!(!TaintToleration.helped_by(&pod, &Change::NodeChanged { before: &free, now: &free }));
    assert!(!TaintToleration.helped_by(&pod, &Change::NodeAdded(&still)));
}
