use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use kedge_children::testing::{hold, object};
use kedge_engine::World;
use serde_json::{Value, json};

use super::*;
use crate::node::Node;
use crate::plugin::{Change, Filter};
use crate::plugins::testing::*;

const UNEVEN: &str = "node(s) didn't match pod topology spread constraints";

fn plugin(arguments: Value) -> PodTopologySpread {
    PodTopologySpread::new(serde_json::from_value(arguments).unwrap())
}

fn usual() -> PodTopologySpread {
    plugin(json!({}))
}

/// Spread over zones by at most one, among pods of the app `web`.
fn constraint(edit: impl FnOnce(&mut Value)) -> Value {
    let mut constraint = json!({
        "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    edit(&mut constraint);
    constraint
}

fn spreading(constraints: Value, edit: impl FnOnce(&mut Value)) -> PodView {
    pod("p", |pod| {
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["spec"]["topologySpreadConstraints"] = constraints;
        edit(pod);
    })
}

/// Zones `x` with nodes `xa` and `xb`, `y` with `ya`, and so on for all nodes in the list.
fn zones(nodes: &[&str], pods: &[(&str, &str)]) -> Cluster {
    let nodes: Vec<_> = nodes.iter().map(|name| node_in(&name[..1], name)).collect();
    let pods =
        pods.iter().enumerate().map(|(number, (node, kind))| on(node, &app(&format!("q{number}"), kind)));
    cluster(nodes, pods.collect::<Vec<_>>())
}

#[test]
fn no_domain_gets_too_far_ahead() {
    let one = |edit: fn(&mut Value)| spreading(json!([constraint(edit)]), |_| ());
    let three = ["xa", "xb", "ya"];
    for (case, nodes, pods, pod, passes) in [
        ("nothing there", &three[..], &[][..], one(|_| ()), "xa xb ya"),
        ("one ahead", &three, &[("xa", "web")], one(|_| ()), "ya"),
        ("even again", &three, &[("xa", "web"), ("ya", "web")], one(|_| ()), "xa xb ya"),
        ("others don't count", &three, &[("xa", "db"), ("xb", "db")], one(|_| ()), "xa xb ya"),
        ("two may be ahead", &three, &[("xa", "web")], one(|c| c["maxSkew"] = 2.into()), "xa xb ya"),
        ("by node", &three, &[("xa", "web")], one(|c| c["topologyKey"] = HOSTNAME.into()), "xb ya"),
        (
            "the pod itself is not counted by its constraint",
            &three,
            &[("xa", "db")],
            one(|c| c["labelSelector"] = json!({"matchLabels": {"app": "db"}})),
            "xa xb ya",
        ),
        (
            "and yet it must stay within",
            &three,
            &[("xa", "db"), ("xa", "db")],
            one(|c| c["labelSelector"] = json!({"matchLabels": {"app": "db"}})),
            "ya",
        ),
        (
            "enough domains",
            &three,
            &[("xa", "web"), ("ya", "web")],
            one(|c| c["minDomains"] = 2.into()),
            "xa xb ya",
        ),
        (
            "too few domains: the missing one is empty",
            &three,
            &[("xa", "web"), ("ya", "web")],
            one(|c| c["minDomains"] = 3.into()),
            "",
        ),
        ("too few domains, but room", &three, &[("xa", "web")], one(|c| c["minDomains"] = 3.into()), "ya"),
        (
            "a wish forbids nothing",
            &three,
            &[("xa", "web")],
            one(|c| c["whenUnsatisfiable"] = "ScheduleAnyway".into()),
            "xa xb ya",
        ),
        (
            "an absent selector counts nobody",
            &three,
            &[("xa", "web")],
            one(|c| drop(c.as_object_mut().unwrap().remove("labelSelector"))),
            "xa xb ya",
        ),
    ] {
        assert_eq!(passing(&usual(), &pod, &zones(nodes, pods)), passes, "{case}");
    }
}

#[test]
fn reasons_tell_a_missing_label_from_unevenness() {
    let mut cluster = zones(&["xa", "ya"], &[("xa", "web")]);
    cluster.put_node(node("z", |_| ()));
    let pod = spreading(json!([constraint(|_| ())]), |_| ());
    assert_eq!(
        rejected(&usual(), &pod, &cluster),
        [format!("xa: {UNEVEN}"), format!("z: ! {UNEVEN} (missing required label)")]
    );
}

#[test]
fn leaving_pods_and_those_of_other_namespaces_do_not_count() {
    let leaving = pod("l", |pod| {
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
    });
    let foreign = pod("f", |pod| {
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["metadata"]["namespace"] = "other".into();
    });
    let cluster = cluster([node_in("x", "xa"), node_in("y", "ya")], [on("xa", &leaving), on("xa", &foreign)]);
    assert_eq!(passing(&usual(), &spreading(json!([constraint(|_| ())]), |_| ()), &cluster), "xa ya");
}

#[test]
fn nodes_that_the_pod_could_not_use_count_only_if_asked() {
    let select = |pod: &mut Value| pod["spec"]["nodeSelector"] = json!({ZONE: "x"});
    let tainted_and_empty = || {
        let tainted = node("yb", |node| {
            node["metadata"]["labels"][ZONE] = "y".into();
            node["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
        });
        let web = app("q", "web");
        cluster([node_in("x", "xa"), tainted], [on("xa", &web)])
    };
    for (case, pod, passes) in [
        (
            "its selector leaves out y: x is the only domain",
            spreading(json!([constraint(|_| ())]), select),
            "xa yb",
        ),
        (
            "y counts all the same",
            spreading(json!([constraint(|c| c["nodeAffinityPolicy"] = "Ignore".into())]), select),
            "yb",
        ),
        ("taints are not looked at", spreading(json!([constraint(|_| ())]), |_| ()), "yb"),
        (
            "taints leave out y",
            spreading(json!([constraint(|c| c["nodeTaintsPolicy"] = "Honor".into())]), |_| ()),
            "xa yb",
        ),
    ] {
        assert_eq!(passing(&usual(), &pod, &tainted_and_empty()), passes, "{case}");
    }
}

#[test]
fn nodes_must_have_the_labels_of_all_constraints_to_count() {
    let by_rack = constraint(|c| c["topologyKey"] = "rack".into());
    let pod = spreading(json!([constraint(|_| ()), by_rack]), |_| ());
    let racked = |zone: &str, name: &str, rack: &str| {
        node(name, |node| {
            node["metadata"]["labels"][ZONE] = zone.into();
            node["metadata"]["labels"]["rack"] = rack.into();
        })
    };
    // The pods on the node without a rack are not counted, so that x is not ahead.
    let nodes = [racked("x", "xa", "r1"), racked("y", "ya", "r2"), node_in("x", "xb")];
    let cluster = cluster(nodes, [on("xb", &app("q", "web")), on("xb", &app("r", "web"))]);
    assert_eq!(passing(&usual(), &pod, &cluster), "xa ya");
}

#[test]
fn pods_are_told_apart_by_the_values_of_their_own_keys() {
    let keyed = constraint(|c| c["matchLabelKeys"] = json!(["version"]));
    let of = |version: &str| {
        let version = version.to_owned();
        spreading(json!([keyed]), move |pod| pod["metadata"]["labels"]["version"] = version.into())
    };
    let cluster = cluster(
        [node_in("x", "xa"), node_in("y", "ya")],
        [on("xa", &PodView { uid: "old".into(), ..of("1") })],
    );
    assert_eq!(passing(&usual(), &of("1"), &cluster), "ya");
    assert_eq!(passing(&usual(), &of("2"), &cluster), "xa ya");
}

#[test]
fn removing_a_pod_makes_room_and_adding_it_takes_it() {
    let cluster = zones(&["xa", "ya"], &[("xa", "web")]);
    let pod = spreading(json!([constraint(|_| ())]), |_| ());
    let plugin = usual();
    let mut prepared = Filter::prepare(&plugin, &pod, &cluster).ok().unwrap();
    let node = cluster.node("xa").unwrap();
    let there = node.pods[0].clone();
    let full = vec![format!("xa: {UNEVEN}")];
    assert_eq!(rejected_by(&*prepared, &cluster), full);
    prepared.remove(&there, node);
    assert!(rejected_by(&*prepared, &cluster).is_empty());
    prepared.add(&there, node);
    assert_eq!(rejected_by(&*prepared, &cluster), full);
    prepared.add(&there, cluster.node("ya").unwrap());
    assert!(rejected_by(&*prepared, &cluster).is_empty());
}

#[test]
fn emptier_domains_are_better() {
    let wish = |edit: fn(&mut Value)| {
        let wish = constraint(|c| {
            c["whenUnsatisfiable"] = "ScheduleAnyway".into();
            edit(c);
        });
        spreading(json!([wish]), |_| ())
    };
    let three = ["xa", "xb", "ya"];
    for (case, pods, pod, wanted) in [
        ("nothing there", &[][..], wish(|_| ()), "xa=100 xb=100 ya=100"),
        ("a zone that has some", &[("xa", "web"), ("xa", "web")], wish(|_| ()), "xa=0 xb=0 ya=100"),
        ("two and one", &[("xa", "web"), ("xa", "web"), ("ya", "web")], wish(|_| ()), "xa=33 xb=33 ya=100"),
        (
            "by node",
            &[("xa", "web"), ("xa", "web")],
            wish(|c| c["topologyKey"] = HOSTNAME.into()),
            "xa=0 xb=100 ya=100",
        ),
        (
            "what is required is no wish",
            &[("xa", "web")],
            wish(|c| c["whenUnsatisfiable"] = "DoNotSchedule".into()),
            "-",
        ),
    ] {
        assert_eq!(scored(&usual(), &pod, &zones(&three, pods)), wanted, "{case}");
    }
}

#[test]
fn nodes_without_the_label_are_the_last_choice() {
    let wish = constraint(|c| c["whenUnsatisfiable"] = "ScheduleAnyway".into());
    let mut cluster = zones(&["xa", "ya"], &[("xa", "web")]);
    cluster.put_node(node("z", |_| ()));
    assert_eq!(scored(&usual(), &spreading(json!([wish]), |_| ()), &cluster), "xa=0 ya=100 z=0");
}

fn world_with(service: bool) -> World {
    let world = World::by_hand();
    let services: Vec<Service> = match service {
        true => vec![object(json!({
            "metadata": {"name": "web", "namespace": "n"},
            "spec": {"selector": {"app": "web"}},
        }))],
        false => Vec::new(),
    };
    hold::<Service>(&world, services);
    hold::<ReplicationController>(&world, vec![]);
    hold::<StatefulSet>(&world, vec![]);
    hold::<ReplicaSet>(
        &world,
        vec![object(json!({
            "metadata": {"name": "web", "namespace": "n"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
        }))],
    );
    world
}

fn owned(pod: &mut Value) {
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}]);
}

#[test]
fn pods_of_a_service_or_an_owner_spread_by_themselves() {
    let web = |pod: &mut Value| pod["metadata"]["labels"] = json!({"app": "web"});
    for (case, service, pod, has_opinion) in [
        ("a pod of a service", true, pod("p", web), true),
        ("a pod of a set", false, pod("p", owned), true),
        ("a pod of nobody", false, pod("p", web), false),
        ("a pod that the service does not select", true, app("p", "db"), false),
    ] {
        let cluster = cluster_in(
            world_with(service),
            [node_in("x", "xa"), node_in("y", "ya"), node("z", |_| ())],
            [on("xa", &app("q", "web"))],
        );
        let scores = scores(&usual(), &pod, &cluster);
        assert_eq!(scores.is_some(), has_opinion, "{case}");
        if let Some(scores) = scores {
            let of = |name: &str| scores.iter().find(|(node, _)| node == name).unwrap().1;
            assert!(of("xa") < of("ya") && of("xa") < of("z"), "{case}: {scores:?}");
        }
        assert!(rejected(&usual(), &pod, &cluster).is_empty(), "{case}");
    }
}

#[test]
fn the_configuration_can_require_spreading() {
    let plugin = plugin(json!({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
    ]}));
    let cluster =
        cluster_in(world_with(true), [node_in("x", "xa"), node_in("y", "ya")], [on("xa", &app("q", "web"))]);
    assert_eq!(passing(&plugin, &app("p", "web"), &cluster), "ya");
    assert_eq!(passing(&plugin, &app("p", "db"), &cluster), "xa ya");
}

#[test]
fn what_is_not_known_yet_keeps_a_requirement_waiting_but_no_wish() {
    let nowhere = cluster([node_in("x", "xa")], []);
    assert_eq!(scored(&usual(), &pod("p", owned), &nowhere), "-");
    let required = plugin(json!({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
    ]}));
    assert!(rejected(&required, &pod("p", owned), &nowhere)[0].starts_with("not ready"));
}

#[test]
fn pods_that_are_counted_help_by_coming_and_going() {
    let waiting = spreading(json!([constraint(|_| ())]), |_| ());
    let (web, db) = (app("q", "web"), app("r", "db"));
    let (zoned, bare) = (Node::new(0, node_in("x", "a")), Node::new(0, node("a", |_| ())));
    let elsewhere = node_in("y", "a");
    for (case, change, helps) in [
        ("one of its kind is placed", Change::PodPlaced(&web), true),
        ("one of its kind is gone", Change::PodGone(&web), true),
        ("another is gone", Change::PodGone(&db), false),
        ("a pod becomes one of its kind", Change::PodChanged { before: &db, now: &web }, true),
        ("a node with the label", Change::NodeAdded(&zoned), true),
        ("a node without", Change::NodeAdded(&bare), false),
        ("a node moves", Change::NodeChanged { before: &elsewhere, now: &zoned }, true),
        ("a node stays", Change::NodeChanged { before: &zoned, now: &zoned }, false),
        ("a node goes", Change::NodeGone("a"), true),
    ] {
        assert_eq!(usual().helped_by(&waiting, &change), helps, "{case}");
    }
}
