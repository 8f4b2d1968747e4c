use std::collections::BTreeSet;

use kedge_children::testing::hold;
use serde_json::json;

use super::*;
use crate::testing::{carry_out, node};

fn range(text: &str) -> Range {
    text.parse().unwrap()
}

fn given(pods: &[&str], services: &[&str]) -> Given {
    let all = |ranges: &[&str]| ranges.iter().map(|text| range(text)).collect();
    Given::of(&Ranges { pods: all(pods), services: all(services) })
}

fn world(nodes: Vec<Node>) -> World {
    let world = World::by_hand();
    hold(&world, nodes);
    world
}

fn bare(name: &str) -> Node {
    node(name, "True", |_| {})
}

fn having(name: &str, pieces: &[&str]) -> Node {
    node(name, "True", |node| node["spec"] = json!({"podCIDR": pieces[0], "podCIDRs": pieces}))
}

/// What every node has after a turn, in order of names.
fn after_a_turn(given: &mut Given, world: &World) -> Vec<String> {
    let plan = given.plan(world).unwrap();
    carry_out(world, &plan);
    let nodes = world.cache::<Node>().unwrap().all();
    nodes.iter().map(|node| pieces(node).join(",")).collect()
}

#[test]
fn each_node_gets_its_own_piece() {
    for (case, pods, services, nodes, expected) in [
        ("the first", vec!["10.244.0.0/16"], vec![], vec![bare("a")], vec!["10.244.0.0/24"]),
        (
            "two",
            vec!["10.244.0.0/16"],
            vec![],
            vec![bare("a"), bare("b")],
            vec!["10.244.0.0/24", "10.244.1.0/24"],
        ),
        (
            "what a node has is taken",
            vec!["10.244.0.0/16"],
            vec![],
            vec![bare("a"), having("b", &["10.244.0.0/24"])],
            vec!["10.244.1.0/24", "10.244.0.0/24"],
        ),
        (
            "a larger piece takes several",
            vec!["10.244.0.0/16"],
            vec![],
            vec![bare("a"), having("b", &["10.244.0.0/22"])],
            vec!["10.244.4.0/24", "10.244.0.0/22"],
        ),
        (
            "another cluster's piece is nothing of ours",
            vec!["10.244.0.0/16"],
            vec![],
            vec![bare("a"), having("b", &["172.16.0.0/24"])],
            vec!["10.244.0.0/24", "172.16.0.0/24"],
        ),
        (
            "services keep theirs",
            vec!["10.0.0.0/8"],
            vec!["10.0.0.0/16"],
            vec![bare("a")],
            vec!["10.1.0.0/24"],
        ),
        (
            "both families",
            vec!["10.244.0.0/16", "fd00:1::/48"],
            vec![],
            vec![bare("a"), bare("b")],
            vec!["10.244.0.0/24,fd00:1::/64", "10.244.1.0/24,fd00:1:0:1::/64"],
        ),
        ("a range that is one piece", vec!["10.1.2.128/25"], vec![], vec![bare("a")], vec!["10.1.2.128/25"]),
        ("an unclean range", vec!["10.244.7.9/16"], vec![], vec![bare("a")], vec!["10.244.0.0/24"]),
        ("the largest range", vec!["::/0"], vec![], vec![bare("a")], vec!["::/64"]),
    ] {
        let world = world(nodes);
        let mut given = given(&pods, &services);
        assert_eq!(after_a_turn(&mut given, &world), expected, "{case}");
        assert_eq!(given.plan(&world).unwrap(), Plan::default(), "{case}: once");
    }
}

#[test]
fn there_are_only_so_many() {
    let world = world(vec![bare("a"), bare("b"), bare("c")]);
    let mut given = given(&["10.244.0.0/23", "fd00::/48"], &[]);
    assert_eq!(
        after_a_turn(&mut given, &world),
        ["10.244.0.0/24,fd00::/64", "10.244.1.0/24,fd00:0:0:1::/64", ""]
    );
    let told: Vec<String> = given.plan(&world).unwrap().actions.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["Normal CIDRNotAvailable: Node c status is now: CIDRNotAvailable"]);
    world.feed::<Node>().remove(bare("a"));
    assert_eq!(
        after_a_turn(&mut given, &world),
        ["10.244.1.0/24,fd00:0:0:1::/64", "10.244.0.0/24,fd00:0:0:2::/64"],
        "what the deleted node had is free again"
    );
}

#[test]
fn what_can_not_be_seen_yet_is_not_given_twice() {
    let unseen = world(vec![bare("b")]);
    let mut given = given(&["10.244.0.0/16"], &[]);
    let first = given.plan(&unseen).unwrap();
    unseen.feed::<Node>().put(bare("a"));
    let second = given.plan(&unseen).unwrap();
    assert_eq!(second.actions.len(), 2);
    assert_eq!(second.actions[1], first.actions[0], "the same node gets the same piece");
    carry_out(&unseen, &second);
    let nodes = unseen.cache::<Node>().unwrap().all();
    let all: BTreeSet<&String> = nodes.iter().flat_map(|node| pieces(node)).collect();
    assert_eq!(all.len(), 2);
}

#[test]
fn a_piece_that_was_given_back_rests() {
    let world = world(vec![bare("a")]);
    let mut given = given(&["10.244.0.0/16"], &[]);
    after_a_turn(&mut given, &world);
    world.feed::<Node>().remove(bare("a"));
    world.feed::<Node>().put(bare("b"));
    assert_eq!(after_a_turn(&mut given, &world), ["10.244.1.0/24"]);
}

#[test]
fn a_leaving_node_gets_nothing() {
    let leaving =
        node("a", "True", |node| node["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z"));
    assert_eq!(given(&["10.244.0.0/16"], &[]).plan(&world(vec![leaving])).unwrap(), Plan::default());
}
