//! Situations that every implementation of policies must get right, each with its whole truth.

use super::*;

#[test]
fn isolation_of_a_namespace() {
    let both = json!(["Ingress", "Egress"]);
    check("no policy", &Cluster::new(), |_| true);
    check("nobody comes in", &Cluster::with([policy("x", json!({"podSelector": {}}))]), |p| p.to.ns != "x");
    check(
        "nobody comes in or goes out",
        &Cluster::with([policy("x", json!({"podSelector": {}, "policyTypes": both}))]),
        |p| p.to.ns != "x" && p.from.ns != "x",
    );
    check(
        "nobody goes out",
        &Cluster::with([policy("x", json!({"podSelector": {}, "policyTypes": ["Egress"]}))]),
        |p| p.from.ns != "x",
    );
    check(
        "one pod goes nowhere",
        &Cluster::with([policy("x", json!({"podSelector": pod("a"), "policyTypes": ["Egress"]}))]),
        |p| (p.from.ns, p.from.pod) != ("x", "a"),
    );
    check(
        "everybody may",
        &Cluster::with([policy(
            "x",
            json!({"podSelector": {}, "policyTypes": both, "ingress": [{}], "egress": [{}]}),
        )]),
        |_| true,
    );
}

#[test]
fn by_pods_and_namespaces() {
    let from = |peers: Value| {
        Cluster::with([policy("x", json!({"podSelector": pod("a"), "ingress": [{"from": peers}]}))])
    };
    let on_a = |p: Probe| (p.to.ns, p.to.pod) == ("x", "a");
    let some_pods = json!({"matchExpressions": [{"key": "pod", "operator": "In", "values": ["b", "c"]}]});
    let other_pods = json!({"matchExpressions": [{"key": "pod", "operator": "NotIn", "values": ["b"]}]});
    let other_namespaces = json!({"matchExpressions": [{"key": "ns", "operator": "NotIn", "values": ["x"]}]});
    type Truth = fn(Probe) -> bool;
    let table: [(&str, Value, Truth); 11] = [
        ("a pod of the same namespace", json!([{"podSelector": pod("b")}]), |p| {
            (p.from.ns, p.from.pod) == ("x", "b")
        }),
        ("some pods by what they are", json!([{"podSelector": some_pods}]), |p| p.from.ns == "x"),
        ("some pods by what they are not", json!([{"podSelector": other_pods}]), |p| {
            p.from.ns == "x" && p.from.pod != "b"
        }),
        ("all of the namespace", json!([{"podSelector": {}}]), |p| p.from.ns == "x"),
        ("all of another namespace", json!([{"namespaceSelector": ns("y")}]), |p| p.from.ns == "y"),
        (
            "a namespace by its name",
            json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "z"}}}]),
            |p| p.from.ns == "z",
        ),
        ("namespaces by what they are not", json!([{"namespaceSelector": other_namespaces}]), |p| {
            p.from.ns != "x"
        }),
        ("all namespaces", json!([{"namespaceSelector": {}}]), |_| true),
        (
            "a pod here or anybody there",
            json!([{"podSelector": pod("b")}, {"namespaceSelector": ns("y")}]),
            |p| (p.from.ns, p.from.pod) == ("x", "b") || p.from.ns == "y",
        ),
        ("a pod there", json!([{"namespaceSelector": ns("y"), "podSelector": pod("b")}]), |p| {
            (p.from.ns, p.from.pod) == ("y", "b")
        }),
        ("pods that nobody is", json!([{"podSelector": pod("nobody")}]), |_| false),
    ];
    for (case, peers, truth) in table {
        check(case, &from(peers.clone()), |p| !on_a(p) || truth(p));
        // The same peers of whoever goes out, seen from the other end.
        let out = json!({"podSelector": pod("a"), "policyTypes": ["Egress"], "egress": [{"to": peers}]});
        let turned = |p: Probe| Probe { from: p.to, to: p.from, ..p };
        check(case, &Cluster::with([policy("x", out)]), |p| !on_a(turned(p)) || truth(turned(p)));
    }
}

#[test]
fn by_doors() {
    let tcp = Protocol::Tcp;
    let cluster = |ports: Value| {
        Cluster::with([policy("x", json!({"podSelector": {}, "ingress": [{"ports": ports}]}))])
    };
    let to_x = |p: Probe| p.to.ns == "x";
    check("a number", &cluster(json!([{"port": 80}])), |p| !to_x(p) || (p.protocol, p.port) == (tcp, 80));
    check("two", &cluster(json!([{"port": 80}, {"port": 81, "protocol": "UDP"}])), |p| {
        !to_x(p) || (p.protocol, p.port) == (tcp, 80) || (p.protocol, p.port) == (Protocol::Udp, 81)
    });
    check("a range", &cluster(json!([{"port": 79, "endPort": 80}])), |p| {
        !to_x(p) || (p.protocol, p.port) == (tcp, 80)
    });
    check("far apart", &cluster(json!([{"port": 81}, {"port": 8000, "endPort": 9000}])), |p| {
        !to_x(p) || (p.protocol, p.port) == (tcp, 81)
    });
    check("all of a protocol", &cluster(json!([{"protocol": "UDP"}])), |p| {
        !to_x(p) || p.protocol == Protocol::Udp
    });
    check("a protocol that nobody speaks here", &cluster(json!([{"protocol": "SCTP", "port": 80}])), |p| {
        !to_x(p)
    });
    // 80 of a, 81 of b, nothing of c.
    check("a name", &cluster(json!([{"port": "web"}])), |p| {
        !to_x(p) || (p.protocol == tcp && matches!((p.to.pod, p.port), ("a", 80) | ("b", 81)))
    });
    check("a name of another protocol", &cluster(json!([{"port": "web", "protocol": "UDP"}])), |p| {
        !to_x(p) || (p.protocol, p.to.pod, p.port) == (Protocol::Udp, "b", 80)
    });
    check("a name that nobody has", &cluster(json!([{"port": "none"}])), |p| !to_x(p));
}

#[test]
fn by_named_doors_of_others() {
    let out = |rule: Value| {
        let spec = json!({"podSelector": {}, "policyTypes": ["Egress"], "egress": [rule]});
        Cluster::with([policy("x", spec)])
    };
    let is_web =
        |p: Probe| p.protocol == Protocol::Tcp && matches!((p.to.pod, p.port), ("a", 80) | ("b", 81));
    let ports = json!([{"port": "web"}]);
    check("of anybody", &out(json!({"ports": ports})), |p| p.from.ns != "x" || is_web(p));
    check("of a namespace", &out(json!({"ports": ports, "to": [{"namespaceSelector": ns("y")}]})), |p| {
        p.from.ns != "x" || (p.to.ns == "y" && is_web(p))
    });
    let block = json!([{"ipBlock": {"cidr": "10.0.2.0/24"}}, {"ipBlock": {"cidr": "fd00::2:0/112"}}]);
    check("of a block", &out(json!({"ports": ports, "to": block})), |p| {
        p.from.ns != "x" || (p.to.ns == "y" && is_web(p))
    });
}

#[test]
fn by_blocks() {
    let both = |v4: Value, v6: Value| json!([{"ipBlock": v4}, {"ipBlock": v6}]);
    let out = |to: Value| {
        policy("x", json!({"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": to}]}))
    };
    let y = both(json!({"cidr": "10.0.2.0/24"}), json!({"cidr": "fd00::2:0/112"}));
    check("a block", &Cluster::with([out(y.clone())]), |p| p.from.ns != "x" || p.to.ns == "y");
    let but_a = both(
        json!({"cidr": "10.0.2.0/24", "except": ["10.0.2.1/32"]}),
        json!({"cidr": "fd00::2:0/112", "except": ["fd00::2:1/128"]}),
    );
    check("but one", &Cluster::with([out(but_a.clone())]), |p| {
        p.from.ns != "x" || (p.to.ns == "y" && p.to.pod != "a")
    });
    let a = both(json!({"cidr": "10.0.2.1/32"}), json!({"cidr": "fd00::2:1/128"}));
    check("what one excepts another allows", &Cluster::with([out(but_a), out(a)]), |p| {
        p.from.ns != "x" || p.to.ns == "y"
    });
    let v4_only = json!([{"ipBlock": {"cidr": "0.0.0.0/0"}}]);
    let wanted = Cluster::with([out(v4_only)]).compiled();
    let (from, to) = (At { ns: "x", pod: "a" }, At { ns: "y", pod: "a" });
    let found = [Family::V4, Family::V6]
        .map(|family| passes(&wanted, address(from, family), address(to, family), Protocol::Tcp, 80));
    assert_eq!(found, [true, false], "a block is of one family");
    let beyond = passes(&wanted, address(from, Family::V4), "192.0.2.1".parse().unwrap(), Protocol::Tcp, 80);
    assert!(beyond, "everybody is more than all pods");
}

#[test]
fn several_policies_are_one_that_allows_more() {
    let into_a = |rules: Value| policy("x", json!({"podSelector": pod("a"), "ingress": rules}));
    let on_a = |p: Probe| (p.to.ns, p.to.pod) == ("x", "a");
    check(
        "one for each of two ports, from two namespaces",
        &Cluster::with([
            into_a(json!([{"from": [{"namespaceSelector": ns("y")}], "ports": [{"port": 80}]}])),
            into_a(json!([{"from": [{"namespaceSelector": ns("z")}], "ports": [{"port": 81}]}])),
        ]),
        |p| !on_a(p) || (p.protocol == Protocol::Tcp && matches!((p.from.ns, p.port), ("y", 80) | ("z", 81))),
    );
    check(
        "nobody, and everybody",
        &Cluster::with([
            policy("x", json!({"podSelector": {}})),
            policy("x", json!({"podSelector": {}, "ingress": [{}]})),
        ]),
        |_| true,
    );
    check(
        "nobody of all, and one of one",
        &Cluster::with([
            policy("x", json!({"podSelector": {}})),
            into_a(json!([{"from": [{"podSelector": pod("b")}]}])),
        ]),
        |p| p.to.ns != "x" || (on_a(p) && (p.from.ns, p.from.pod) == ("x", "b")),
    );
    check(
        "who may be reached, and may not go there",
        &Cluster::with([
            policy("x", json!({"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": ns("y")}]}]})),
            policy("y", json!({"podSelector": pod("a"), "policyTypes": ["Egress"]})),
        ]),
        |p| {
            let leaves = (p.from.ns, p.from.pod) != ("y", "a");
            leaves && (p.to.ns != "x" || p.from.ns == "y")
        },
    );
    check(
        "in and out of one policy",
        &Cluster::with([policy(
            "x",
            json!({"podSelector": pod("a"), "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"ports": [{"port": 80}]}], "egress": [{"ports": [{"port": 81}]}]}),
        )]),
        |p| {
            let tcp = p.protocol == Protocol::Tcp;
            let is_a = |at: At| (at.ns, at.pod) == ("x", "a");
            (!is_a(p.to) || (tcp && p.port == 80)) && (!is_a(p.from) || (tcp && p.port == 81))
        },
    );
}

#[test]
fn who_changes_is_judged_anew() {
    let from_b =
        || policy("x", json!({"podSelector": pod("a"), "ingress": [{"from": [{"podSelector": pod("b")}]}]}));
    let on_a = |p: Probe| (p.to.ns, p.to.pod) == ("x", "a");
    let mut cluster = Cluster::with([from_b()]);
    cluster.pod("x", "c")["metadata"]["labels"] = json!({"pod": "b"});
    check("a pod gets the label", &cluster, |p| !on_a(p) || (p.from.ns == "x" && p.from.pod != "a"));
    cluster.pod("x", "a")["metadata"]["labels"] = json!({});
    check("a pod loses the label", &cluster, |_| true);

    let from_new = policy(
        "x",
        json!({"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"new": "yes"}}}]}]}),
    );
    let mut cluster = Cluster::with([from_new]);
    check("no namespace has the label", &cluster, |p| p.to.ns != "x");
    cluster.namespaces[1]["metadata"]["labels"]["new"] = json!("yes");
    check("one gets it", &cluster, |p| p.to.ns != "x" || p.from.ns == "y");
}
