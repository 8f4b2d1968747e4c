use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

fn cordoned(node: &mut Value) {
    node["spec"]["unschedulable"] = true.into();
}

#[test]
fn a_cordoned_node_takes_only_pods_that_tolerate_it() {
    let cluster = cluster([node("a", |_| ()), node("b", cordoned)], []);
    let tolerating = |toleration: Value| pod("p", |pod| pod["spec"]["tolerations"] = json!([toleration]));
    for (case, pod, out) in [
        ("a usual pod", pod("p", |_| ()), vec!["b: ! node(s) were unschedulable"]),
        (
            "one that tolerates the taint",
            tolerating(json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})),
            vec![],
        ),
        ("one that tolerates everything", tolerating(json!({"operator": "Exists"})), vec![]),
        (
            "another taint",
            tolerating(json!({"key": "x", "operator": "Exists"})),
            vec!["b: ! node(s) were unschedulable"],
        ),
    ] {
        assert_eq!(rejected(&NodeUnschedulable, &pod, &cluster), out, "{case}");
    }
}

#[test]
fn uncordoning_helps() {
    let before = node("a", cordoned);
    let open = Node::new(0, node("a", |_| ()));
    let closed = Node::new(0, node("a", cordoned));
    let pod = pod("p", |_| ());
    assert!(NodeUnschedulable.helped_by(&pod, &Change::NodeChanged { before: &before, now: &open }));
    assert!(NodeUnschedulable.helped_by(&pod, &Change::NodeAdded(&open)));
    assert!(!NodeUnschedulable.helped_by(&pod, &Change::NodeAdded(&closed)));
    assert!(!NodeUnschedulable.helped_by(&pod, &Change::NodeChanged { before: &open, now: &open }));
}
