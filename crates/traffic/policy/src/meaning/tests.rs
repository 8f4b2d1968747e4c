use serde_json::{Value, json};

use super::*;

fn policy(spec: Value) -> Policy {
    let object = json!({"metadata": {"name": "p", "namespace": "x"}, "spec": spec});
    Policy::of(&serde_json::from_value(object).unwrap()).unwrap()
}

/// `in` and `out` with the number of rules of each.
fn directions(policy: &Policy) -> String {
    let one = |name: &str, rules: &Option<Vec<Allowed>>| {
        rules.as_ref().map(|rules| format!("{name} {}", rules.len()))
    };
    [one("in", &policy.ingress), one("out", &policy.egress)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn what_it_speaks_of() {
    let ns = json!({});
    for (case, spec, expected) in [
        ("nothing but pods", json!({"podSelector": {}}), "in 0"),
        ("not even pods", json!({}), "in 0"),
        ("rules for in", json!({"ingress": [{}]}), "in 1"),
        ("rules for out isolate both ways", json!({"egress": [{}]}), "in 0, out 1"),
        ("an empty list for out is none", json!({"egress": []}), "in 0"),
        ("told: in", json!({"policyTypes": ["Ingress"], "egress": [{}]}), "in 0"),
        ("told: out", json!({"policyTypes": ["Egress"]}), "out 0"),
        ("told: both", json!({"policyTypes": ["Ingress", "Egress"], "ingress": [{}, {}]}), "in 2, out 0"),
    ] {
        assert_eq!(directions(&policy(spec)), expected, "{case}");
    }
    assert!(Policy::of(&serde_json::from_value(json!({"metadata": ns})).unwrap()).is_none());
}

#[test]
fn who_is_meant() {
    let peers = |from: Value| {
        let mut read = policy(json!({"ingress": [{"from": from}]})).ingress.unwrap();
        read.remove(0).peers
    };
    assert_eq!(peers(json!(null)), None);
    assert_eq!(peers(json!([])), None, "an empty list is no limit");
    assert_eq!(peers(json!([{}])), Some(vec![]), "somebody who is nobody is a limit");

    let web: Selector =
        Selector::new(&serde_json::from_value(json!({"matchLabels": {"app": "web"}})).unwrap());
    let one = |from: Value| peers(json!([from])).unwrap().remove(0);
    let pods = |namespaces, pods: &Selector| Peer::Pods(Pods { namespaces, pods: pods.clone() });
    for (case, from, expected) in [
        (
            "pods of its own namespace",
            json!({"podSelector": {"matchLabels": {"app": "web"}}}),
            pods(Namespaces::One("x".to_owned()), &web),
        ),
        (
            "all pods of some namespaces",
            json!({"namespaceSelector": {"matchLabels": {"app": "web"}}}),
            pods(Namespaces::Selected(web.clone()), &Selector::everything()),
        ),
        (
            "some pods of all namespaces",
            json!({"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "web"}}}),
            pods(Namespaces::Selected(Selector::everything()), &web),
        ),
        (
            "a range without a part",
            json!({"ipBlock": {"cidr": "10.0.0.0/30", "except": ["10.0.0.0/31"]}}),
            Peer::Block(vec![Span::of_range("10.0.0.2/31").unwrap()]),
        ),
    ] {
        assert_eq!(one(from), expected, "{case}");
    }
    for (case, block) in [
        ("no range", json!({"cidr": "10.0.0.0"})),
        ("an exception that is none", json!({"cidr": "10.0.0.0/8", "except": ["?"]})),
    ] {
        assert_eq!(peers(json!([{"ipBlock": block}])), Some(vec![]), "{case}");
    }
}

#[test]
fn which_doors_are_meant() {
    let doors = |ports: Value| {
        let mut read = policy(json!({"ingress": [{"ports": ports}]})).ingress.unwrap();
        read.remove(0).doors
    };
    assert_eq!(doors(json!(null)), None);
    assert_eq!(doors(json!([])), None, "an empty list is no limit");
    for (case, port, expected) in [
        ("a number", json!({"port": 80}), vec![Door::Numbers(Protocol::Tcp, 80, 80)]),
        (
            "a range",
            json!({"port": 80, "endPort": 90, "protocol": "UDP"}),
            vec![Door::Numbers(Protocol::Udp, 80, 90)],
        ),
        ("a protocol", json!({"protocol": "SCTP"}), vec![Door::Numbers(Protocol::Sctp, 0, 65535)]),
        ("nothing is TCP", json!({}), vec![Door::Numbers(Protocol::Tcp, 0, 65535)]),
        ("a name", json!({"port": "web"}), vec![Door::Named(Protocol::Tcp, "web".to_owned())]),
        ("a protocol that is none", json!({"protocol": "ICMP", "port": 80}), vec![]),
        ("a number that is none", json!({"port": 70000}), vec![]),
        ("an end that is none", json!({"port": 80, "endPort": 70000}), vec![]),
    ] {
        assert_eq!(doors(json!([port])), Some(expected), "{case}");
    }
}

#[test]
fn selectors_are_one_if_they_are_written_alike() {
    let read = |text: Value| Selector::new(&serde_json::from_value(text).unwrap());
    let web = || json!({"matchLabels": {"app": "web", "tier": "front"}});
    assert_eq!(read(web()), read(web()));
    assert_ne!(read(web()), Selector::everything());
    let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
    assert!(!read(web()).matches(Some(&labels)));
    assert!(Selector::everything().matches(None));
    let odd = read(json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}));
    assert!(!odd.matches(Some(&labels)) && !odd.matches(None), "what cannot be read selects nobody");
}
