use kedge_children::testing::{hold, noon, summary};
use serde_json::{Value, json};

use super::*;
use crate::testing::{carry_out, node, noon_and, taint, taints};

fn in_zone(zone: &'static str) -> impl Fn(&mut Value) {
    move |node| node["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": zone})
}

fn many(zone: &'static str, ready: usize, unready: usize) -> Vec<Node> {
    let ready = (0..ready).map(|index| node(&format!("{zone}-r{index:02}"), "True", in_zone(zone)));
    let unready = (0..unready).map(|index| node(&format!("{zone}-u{index:02}"), "Unknown", in_zone(zone)));
    ready.chain(unready).collect()
}

fn world(nodes: Vec<Node>) -> World {
    let world = World::by_hand();
    hold(&world, nodes);
    world
}

#[test]
fn zones_lose_nodes_at_their_pace() {
    // How many are tainted at once, and after how many seconds the next one comes.
    for (case, nodes, at_once, next) in [
        ("all well", many("a", 3, 0), 0, None),
        ("one at a time", many("a", 9, 2), 1, Some(10)),
        ("a small zone half down stops", many("a", 2, 3), 0, None),
        ("two of three are no disruption", many("a", 1, 2), 1, Some(10)),
        ("a large zone half down is slow", many("a", 20, 40), 1, Some(100)),
        ("where all are down, nothing helps", many("a", 0, 3), 0, None),
        ("one zone down of two", [many("a", 0, 3), many("b", 3, 0)].concat(), 1, Some(10)),
        ("each zone has its own pace", [many("a", 9, 2), many("b", 9, 1)].concat(), 2, Some(10)),
        ("the only node", many("a", 0, 1), 0, None),
    ] {
        let world = world(nodes);
        let planned = plan(&world, noon()).unwrap();
        assert_eq!(planned.actions.len(), at_once, "{case}");
        assert_eq!(planned.look_again, next.map(noon_and), "{case}");
        carry_out(&world, &planned);
        let again = plan(&world, noon()).unwrap();
        assert_eq!(
            (again.actions.len(), again.look_again),
            (0, next.map(noon_and)),
            "{case}: nothing more for now"
        );
    }
}

#[test]
fn one_node_after_the_other() {
    let world = world(many("a", 9, 3));
    let mut tainted = Vec::new();
    for second in 0..40 {
        let planned = plan(&world, noon_and(second)).unwrap();
        if !planned.actions.is_empty() {
            tainted.push((second, summary(&planned)));
        }
        carry_out(&world, &planned);
    }
    let expected = [(0, "~Node/a-u00"), (10, "~Node/a-u01"), (20, "~Node/a-u02")];
    assert_eq!(tainted, expected.map(|(second, words)| (second, words.to_owned())));
}

#[test]
fn taints_follow_readiness() {
    let not_ready = || taint(NOT_READY, NO_EXECUTE, -100);
    let unreachable = || taint(UNREACHABLE, NO_EXECUTE, -100);
    let own = json!({"key": "mine", "effect": "NoExecute"});
    for (case, readiness, had, expected) in [
        ("falls silent", "Unknown", vec![], "unreachable:NoExecute"),
        ("says that it isn't ready", "False", vec![], "not-ready:NoExecute"),
        ("goes from unready to silent at once", "Unknown", vec![not_ready()], "unreachable:NoExecute"),
        ("is heard and isn't ready", "False", vec![unreachable()], "not-ready:NoExecute"),
        ("heals", "True", vec![unreachable(), own.clone()], "mine:NoExecute"),
        ("others' taints stay", "Unknown", vec![own.clone()], "mine:NoExecute unreachable:NoExecute"),
        ("was never heard of", "-", vec![not_ready()], "not-ready:NoExecute"),
    ] {
        let one = node("n", readiness, |node| node["spec"]["taints"] = json!(had));
        let world = world([many("", 5, 0), vec![one]].concat());
        carry_out(&world, &plan(&world, noon()).unwrap());
        let found = world.get::<Node>(&Key::new("", "n")).unwrap().unwrap();
        assert_eq!(taints(&found), expected, "{case}");
        assert_eq!(plan(&world, noon()).unwrap(), Plan::default(), "{case}: and stays so");
    }
}

#[test]
fn where_nobody_is_ready_nobody_is_driven_away() {
    let tainted = |node: &mut Value| node["spec"]["taints"] = json!([taint(UNREACHABLE, NO_EXECUTE, -100)]);
    let world = world(vec![node("a", "Unknown", tainted), node("b", "False", |_| {})]);
    let planned = plan(&world, noon()).unwrap();
    assert_eq!(summary(&planned), "~Node/a");
    carry_out(&world, &planned);
    assert_eq!(taints(&world.get::<Node>(&Key::new("", "a")).unwrap().unwrap()), "");
    world.feed::<Node>().put(node("b", "True", |_| {}));
    assert_eq!(summary(&plan(&world, noon()).unwrap()), "~Node/a", "one is ready again");
}

#[test]
fn excluded_nodes_have_no_say() {
    let excluded =
        |node: &mut Value| node["metadata"]["labels"] = json!({"node.kubernetes.io/exclude-disruption": ""});
    let only_them = world(vec![node("a", "Unknown", excluded)]);
    assert_eq!(summary(&plan(&only_them, noon()).unwrap()), "~Node/a", "but are tainted as others are");
    let others = world(vec![node("a", "True", excluded), node("b", "Unknown", |_| {})]);
    assert_eq!(summary(&plan(&others, noon()).unwrap()), "", "of those that count, all are down");
}
