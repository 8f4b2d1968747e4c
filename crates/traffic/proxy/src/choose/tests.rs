use kedge_facts::ServicePort;
use serde_json::{Value, json};

use super::*;

fn endpoint(address: &str, node: &str, edit: Value) -> Value {
    let mut value = json!({"addresses": [address], "nodeName": node});
    for (key, field) in edit.as_object().unwrap() {
        value[key] = field.clone();
    }
    value
}

fn slice(endpoints: Vec<Value>) -> Slice {
    serde_json::from_value(json!({
        "metadata": {"name": "web-1", "namespace": "n"}, "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}],
        "endpoints": endpoints,
    }))
    .unwrap()
}

fn port(name: &str) -> ServicePort {
    ServicePort { name: name.into(), port: 80, ..ServicePort::default() }
}

fn here() -> Here {
    Here { node: "here".to_owned(), zone: Some("z1".to_owned()) }
}

fn shown(targets: &[Target]) -> String {
    let shown = targets.iter().map(|target| target.address.to_string().replace("10.0.0.", ""));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn who_is_called() {
    let unready = || json!({"conditions": {"ready": false}});
    let ending = || json!({"conditions": {"ready": false, "serving": true, "terminating": true}});
    let ended = || json!({"conditions": {"ready": false, "serving": false, "terminating": true}});
    let zone = |zone: &str| json!({"hints": {"forZones": [{"name": zone}]}});
    let node = |node: &str, zone: &str| json!({"hints": {"forNodes": [{"name": node}], "forZones": [{"name": zone}]}});
    for (case, endpoints, wide, local, anywhere) in [
        ("nobody", vec![], "", "", false),
        (
            "here and there",
            vec![endpoint("10.0.0.1", "here", json!({})), endpoint("10.0.0.2", "there", json!({}))],
            "1 2",
            "1",
            true,
        ),
        (
            "one is not ready",
            vec![endpoint("10.0.0.1", "here", unready()), endpoint("10.0.0.2", "there", json!({}))],
            "2",
            "",
            true,
        ),
        ("nobody is ready", vec![endpoint("10.0.0.1", "here", unready())], "", "", false),
        (
            "those that end answer if nobody else does",
            vec![endpoint("10.0.0.1", "here", ending()), endpoint("10.0.0.2", "there", ended())],
            "1",
            "1",
            true,
        ),
        (
            "here only one that ends, elsewhere a ready one",
            vec![endpoint("10.0.0.1", "here", ending()), endpoint("10.0.0.2", "there", json!({}))],
            "2",
            "1",
            true,
        ),
        (
            "the zone's own",
            vec![endpoint("10.0.0.1", "there", zone("z1")), endpoint("10.0.0.2", "there", zone("z2"))],
            "1",
            "",
            true,
        ),
        (
            "one without a hint: hints do not count",
            vec![endpoint("10.0.0.1", "there", zone("z1")), endpoint("10.0.0.2", "there", json!({}))],
            "1 2",
            "",
            true,
        ),
        (
            "nobody for our zone",
            vec![endpoint("10.0.0.1", "there", zone("z3")), endpoint("10.0.0.2", "there", zone("z2"))],
            "1 2",
            "",
            true,
        ),
        (
            "the node's own before the zone's",
            vec![
                endpoint("10.0.0.1", "here", node("here", "z1")),
                endpoint("10.0.0.2", "x", node("x", "z1")),
            ],
            "1",
            "1",
            true,
        ),
        (
            "no hint for the node: the zone",
            vec![endpoint("10.0.0.1", "y", node("y", "z1")), endpoint("10.0.0.2", "x", node("x", "z2"))],
            "1",
            "",
            true,
        ),
        (
            "the same twice, ready once",
            vec![endpoint("10.0.0.1", "here", unready()), endpoint("10.0.0.1", "here", json!({}))],
            "1",
            "1",
            true,
        ),
    ] {
        let slice = slice(endpoints);
        let chosen = choose(&[&slice], Family::V4, &port("http"), &here());
        let read = (shown(&chosen.wide), shown(&chosen.local), chosen.is_anywhere);
        assert_eq!(read, (wide.to_owned(), local.to_owned(), anywhere), "{case}");
    }
}

#[test]
fn ports_are_found_by_name_and_protocol() {
    let slice = slice(vec![endpoint("10.0.0.1", "here", json!({}))]);
    for (case, family, name, expected) in [
        ("by its name", Family::V4, "http", Some(8080)),
        ("another name", Family::V4, "https", None),
        ("another protocol", Family::V4, "dns", None),
        ("another family", Family::V6, "http", None),
    ] {
        let chosen = choose(&[&slice], family, &port(name), &here());
        assert_eq!(chosen.wide.first().map(|target| target.port), expected, "{case}");
    }
}
