//! What is in the tables, and what is not: only what packets of this node's pods are to be asked.

use super::*;

fn deny() -> Value {
    policy("x", json!({"podSelector": {}}))
}

fn isolated(cluster: &Cluster) -> Vec<String> {
    cluster
        .compiled()
        .isolated
        .keys()
        .map(|(direction, address)| format!("{direction:?} {address}"))
        .collect()
}

#[test]
fn only_this_nodes_own() {
    let mut cluster = Cluster::with([deny()]);
    assert_eq!(
        isolated(&cluster),
        ["In 10.0.1.1", "In 10.0.1.2", "In 10.0.1.3", "In fd00::1:1", "In fd00::1:2", "In fd00::1:3"]
    );
    cluster.pod("x", "a")["spec"]["nodeName"] = json!("another");
    cluster.pod("x", "b")["spec"]["hostNetwork"] = json!(true);
    cluster.pod("x", "c")["status"]["podIPs"] = json!([{"ip": "10.0.1.3"}]);
    assert_eq!(isolated(&cluster), ["In 10.0.1.3"]);
    cluster.pod("x", "c")["status"]["phase"] = json!("Failed");
    assert_eq!(cluster.compiled(), Wanted::default());
    cluster.pod("x", "c")["status"] = json!({"phase": "Pending"});
    assert_eq!(cluster.compiled(), Wanted::default());
}

#[test]
fn nothing_where_nobody_is_isolated() {
    for (case, policies) in [
        ("no policies", vec![]),
        ("of a namespace without pods", vec![policy("nowhere", json!({"podSelector": {}}))]),
        ("of pods that are not there", vec![policy("x", json!({"podSelector": pod("d")}))]),
        ("all is allowed", vec![deny(), policy("x", json!({"podSelector": {}, "ingress": [{}]}))]),
        ("it says nothing", vec![json!({"metadata": {"namespace": "x", "name": "p"}})]),
    ] {
        assert_eq!(Cluster::with(policies).compiled(), Wanted::default(), "{case}");
    }
}

#[test]
fn what_is_the_same_is_there_once() {
    let peers = || json!([{"namespaceSelector": ns("y"), "podSelector": pod("b")}]);
    let wanted = Cluster::with([
        policy("x", json!({"podSelector": {}, "ingress": [{"from": peers(), "ports": [{"port": 80}]}]})),
        policy("z", json!({"podSelector": {}, "ingress": [{"from": peers()}]})),
        policy("z", json!({"podSelector": {}, "ingress": [{"from": peers()}]})),
    ])
    .compiled();
    // Two families, each: one chain for all pods of x, one for all of z, one set of peers for both.
    assert_eq!((wanted.isolated.len(), wanted.chains.len(), wanted.sets.len()), (12, 4, 2));
    assert!(wanted.chains.values().all(|chain| chain.lines.len() == 1));
    let names: Vec<_> = wanted.chains.keys().map(|name| name.as_str().split_once('-').unwrap().0).collect();
    assert_eq!(names, ["in4", "in4", "in6", "in6"]);
}

#[test]
fn peers_come_and_go_under_the_same_names() {
    let from_b = policy(
        "x",
        json!({"podSelector": pod("a"), "ingress": [{"from": [{"namespaceSelector": {}, "podSelector": pod("b")}]}]}),
    );
    let mut cluster = Cluster::with([from_b]);
    let before = cluster.compiled();
    cluster.pods.retain(|pod| pod["metadata"]["name"] != "b");
    let after = cluster.compiled();
    assert_eq!(before.chains, after.chains);
    assert_eq!(before.isolated, after.isolated);
    assert!(
        after.sets.keys().eq(before.sets.keys()) && after.sets.values().all(|set| set.elements.is_empty())
    );
}

#[test]
fn a_pod_is_known_before_the_api_shows_its_address() {
    let mut cluster = Cluster::with([policy(
        "x",
        json!({"podSelector": {}, "ingress": [{"from": [{"podSelector": pod("b")}]}]}),
    )]);
    cluster.pods.retain(|pod| pod["metadata"]["namespace"] == "x");
    for pod in &mut cluster.pods {
        pod["status"] = json!({"phase": "Pending"});
    }
    assert!(cluster.compiled().is_empty());
    cluster.places.put(Key::new("x", "a"), Some("a".to_owned()), vec!["10.0.1.1".parse().unwrap()]);
    cluster.places.put(Key::new("x", "b"), Some("b".to_owned()), vec!["10.0.1.2".parse().unwrap()]);
    assert_eq!(isolated(&cluster), ["In 10.0.1.1", "In 10.0.1.2"]);
    let (a, b) = ("10.0.1.1".parse().unwrap(), "10.0.1.2".parse().unwrap());
    let wanted = cluster.compiled();
    assert!(passes(&wanted, b, a, Protocol::Tcp, 80) && !passes(&wanted, a, b, Protocol::Tcp, 80));
    cluster.places.put(
        Key::new("x", "c"),
        Some("the one before".to_owned()),
        vec!["10.0.1.3".parse().unwrap()],
    );
    assert_eq!(isolated(&cluster).len(), 2, "the API shows another pod of that name");

    cluster.policies = vec![policy("x", json!({"podSelector": pod("b")}))];
    cluster.pod("x", "b")["status"]["podIPs"] = json!([{"ip": "10.0.1.9"}]);
    cluster.places = Places::default();
    assert_eq!(isolated(&cluster), ["In 10.0.1.9"]);
    cluster.places.put(Key::new("x", "a"), Some("a".to_owned()), vec!["10.0.1.9".parse().unwrap()]);
    assert!(cluster.compiled().is_empty(), "the address is another pod's by now");
}
