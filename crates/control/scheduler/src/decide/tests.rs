use super::*;
use crate::config::Config;
use crate::plugins::testing::{app, cluster, node, node_in, on, pod};

fn profile() -> Profile {
    Config::default().made().unwrap().remove(0)
}

/// The name of the node, or why there is none.
fn said(pod: &PodView, cluster: &Cluster) -> String {
    match decide(&profile(), pod, cluster, &mut 0, 7) {
        Decision::Place(slot) => cluster.at(slot).unwrap().name.to_string(),
        Decision::Nowhere(nowhere) => nowhere.text(),
        Decision::NotReady(error) => error.to_string(),
    }
}

fn asking(name: &str, cpu: &str) -> PodView {
    pod(name, |pod| pod["spec"]["containers"][0]["resources"] = serde_json::json!({"requests": {"cpu": cpu}}))
}

#[test]
fn places_pods_and_says_why_not() {
    let cordoned = || node("c", |node| node["spec"]["unschedulable"] = true.into());
    let tainted = || {
        node("t", |node| {
            node["spec"]["taints"] = serde_json::json!([{"key": "a", "value": "b", "effect": "NoSchedule"}]);
        })
    };
    for (case, nodes, placed, pod, wanted) in [
        ("no node", vec![], vec![], app("p", "a"), "no nodes available to schedule pods"),
        ("the only one", vec![node("a", |_| ())], vec![], asking("p", "1"), "a"),
        (
            "the emptier one",
            vec![node("a", |_| ()), node("b", |_| ())],
            vec![on("a", &asking("x", "2"))],
            asking("p", "1"),
            "b",
        ),
        (
            "too big",
            vec![node("a", |_| ()), node("b", |_| ())],
            vec![],
            asking("p", "5"),
            "0/2 nodes are available: 2 Insufficient cpu.",
        ),
        (
            "each for its own reason",
            vec![cordoned(), tainted(), node("a", |_| ())],
            vec![on("a", &asking("x", "4"))],
            asking("p", "1"),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were \
             unschedulable.",
        ),
    ] {
        assert_eq!(said(&pod, &cluster(nodes, placed)), wanted, "{case}");
    }
}

#[test]
fn room_is_kept_for_those_who_matter_as_much() {
    let nominated = |priority: i32| {
        let mut other = asking("other", "3");
        other.priority = priority;
        other.nominated = Some("a".into());
        Arc::new(other)
    };
    for (case, other, wanted) in [
        ("less important", nominated(-1), "a"),
        ("as important", nominated(0), "0/1 nodes are available: 1 Insufficient cpu."),
        ("more important", nominated(9), "0/1 nodes are available: 1 Insufficient cpu."),
    ] {
        let cluster = cluster([node("a", |_| ())], [other]);
        assert_eq!(said(&asking("p", "2"), &cluster), wanted, "{case}");
    }
}

#[test]
fn goes_where_room_was_made_for_it() {
    let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [on("b", &asking("x", "2"))]);
    let mut nominated = asking("p", "1");
    nominated.nominated = Some("b".into());
    assert_eq!(said(&nominated, &cluster), "b");
    nominated.nominated = Some("gone".into());
    assert_eq!(said(&nominated, &cluster), "a");
}

#[test]
fn the_seed_alone_tells_equals_apart() {
    let cluster = cluster((0..9).map(|number| node(&format!("n{number}"), |_| ())), []);
    let choose = |seed| match decide(&profile(), &app("p", "a"), &cluster, &mut 0, seed) {
        Decision::Place(slot) => slot,
        other => panic!("{other:?}"),
    };
    assert_eq!(choose(1), choose(1));
    let all: BTreeSet<usize> = (0..100).map(choose).collect();
    assert_eq!(all.len(), 9, "every one of the equals can be chosen");
}

#[test]
fn looks_at_a_part_of_many_nodes_and_goes_on_there() {
    for (nodes, percentage, wanted) in [
        (99, 0, 99),
        (100, 0, 100),
        (200, 0, 100),
        (1000, 0, 420),
        (5000, 0, 500),
        (20_000, 0, 1000),
        (1000, 30, 300),
        (1000, 100, 1000),
        (1000, 1, 100),
    ] {
        assert_eq!(enough(nodes, percentage), wanted, "{nodes} nodes, {percentage} %");
    }
    let cluster = cluster((0..300).map(|number| node(&format!("n{number:03}"), |_| ())), []);
    let mut start = 0;
    decide(&profile(), &app("p", "a"), &cluster, &mut start, 0);
    assert_eq!(start, enough(300, 0));
    decide(&profile(), &app("q", "a"), &cluster, &mut start, 0);
    assert_eq!(start, 2 * enough(300, 0));
}

#[test]
fn neighbours_in_the_order_are_in_different_zones() {
    let cluster = cluster(
        [node_in("z1", "a"), node_in("z1", "b"), node_in("z1", "c"), node_in("z2", "d"), node_in("z3", "e")],
        [],
    );
    let names: Vec<&str> = cluster.nodes().map(|node| &*node.name).collect();
    assert_eq!(names, ["a", "d", "e", "b", "c"]);
}
