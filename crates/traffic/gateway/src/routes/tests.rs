//! Tables of objects and of where requests then go.

use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kedge_children::testing::{hold, object};
use kedge_client::World;
use kedge_facts::{Service, Slice};
use serde_json::{Value, json};

use super::*;
use crate::record::DnsRecord;
use crate::secret::TlsSecret;

/// An Ingress with rules of `host path type service`.
fn ingress(name: &str, minute: u8, rules: &[&str]) -> Value {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            let words: Vec<&str> = rule.split(' ').collect();
            let host = if words[0] == "-" { Value::Null } else { words[0].into() };
            json!({"host": host, "http": {"paths": [{
                "path": words[1], "pathType": words[2],
                "backend": {"service": {"name": words[3], "port": {"number": 80}}},
            }]}})
        })
        .collect();
    json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "creationTimestamp": format!("2030-01-01T11:{minute:02}:00Z"),
        },
        "spec": {"ingressClassName": "kedge", "rules": rules},
    })
}

/// A DNSRecord with paths of `pathName service`.
fn record(name: &str, minute: u8, host: &str, paths: &[&str]) -> Value {
    let paths: Vec<Value> = paths
        .iter()
        .filter_map(|path| path.split_once(' '))
        .map(|(path, service)| json!({"pathName": path, "service": service, "port": 80}))
        .collect();
    json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "creationTimestamp": format!("2030-01-01T11:{minute:02}:00Z"),
        },
        "spec": {"host": host, "paths": paths},
    })
}

fn world(ingresses: Vec<Value>, records: Vec<Value>) -> World {
    let world = World::by_hand();
    let all = |values: Vec<Value>| -> Value { values.into() };
    hold::<Ingress>(&world, serde_json::from_value(all(ingresses)).unwrap());
    hold::<DnsRecord>(&world, serde_json::from_value(all(records)).unwrap());
    hold::<IngressClass>(
        &world,
        vec![object(
            json!({"metadata": {"name": "kedge"}, "spec": {"controller": crate::class::CONTROLLER}}),
        )],
    );
    hold::<Service>(&world, vec![]);
    hold::<Slice>(&world, vec![]);
    hold::<TlsSecret>(&world, vec![]);
    world
}

fn routes(ingresses: Vec<Value>, records: Vec<Value>) -> Routes {
    Routes::of(&world(ingresses, records), None).unwrap()
}

/// `service path`, or why not.
fn found(routes: &Routes, host: &str, whole: &str) -> String {
    let path = whole.split('?').next().unwrap();
    match routes.find(host, path) {
        Found::NoHost => "no host".to_owned(),
        Found::NoPath => "no path".to_owned(),
        Found::Target(target) => match &target.to {
            To::Resource(resource) => resource.clone(),
            To::Service(backend) => {
                format!("{} {}", backend.service.name, stripped(whole, target.strip).concat())
            }
        },
    }
}

#[test]
fn paths_match_as_kubernetes_says() {
    // The table of the documentation of Ingress, row by row.
    for (rules, path, expected) in [
        (vec!["x.io / Prefix a"], "/any/thing", "a"),
        (vec!["x.io /foo Exact a"], "/foo", "a"),
        (vec!["x.io /foo Exact a"], "/bar", "-"),
        (vec!["x.io /foo Exact a"], "/foo/", "-"),
        (vec!["x.io /foo/ Exact a"], "/foo", "-"),
        (vec!["x.io /foo Prefix a"], "/foo", "a"),
        (vec!["x.io /foo Prefix a"], "/foo/", "a"),
        (vec!["x.io /foo/ Prefix a"], "/foo", "a"),
        (vec!["x.io /foo/ Prefix a"], "/foo/", "a"),
        (vec!["x.io /aaa/bb Prefix a"], "/aaa/bbb", "-"),
        (vec!["x.io /aaa/bbb Prefix a"], "/aaa/bbb", "a"),
        (vec!["x.io /aaa/bbb/ Prefix a"], "/aaa/bbb", "a"),
        (vec!["x.io /aaa/bbb Prefix a"], "/aaa/bbb/", "a"),
        (vec!["x.io /aaa/bbb Prefix a"], "/aaa/bbb/ccc", "a"),
        (vec!["x.io /aaa/bbb Prefix a"], "/aaa/bbbxyz", "-"),
        (vec!["x.io / Prefix a", "x.io /aaa Prefix b"], "/aaa/ccc", "b"),
        (vec!["x.io / Prefix a", "x.io /aaa Prefix b"], "/aaa", "b"),
        (vec!["x.io / Prefix a", "x.io /aaa Prefix b"], "/ccc", "a"),
        (vec!["x.io /foo Prefix a", "x.io /foo Exact b"], "/foo", "b"),
        (vec!["x.io /foo Prefix a", "x.io /foo Exact b"], "/foo/", "a"),
        (vec!["x.io /foo ImplementationSpecific a"], "/foo/bar", "a"),
        (vec!["x.io /foo ImplementationSpecific a"], "/foobar", "-"),
        (vec!["x.io / Prefix a"], "*", "a"),
        (vec!["x.io /a/b/c/d Prefix a", "x.io /a Prefix b"], "/a/b/c/x", "b"),
        (vec!["x.io /a/b/c/d Prefix a", "x.io /a Prefix b"], "/a/b/c/d/e/f", "a"),
    ] {
        let table = routes(vec![ingress("i", 1, &rules)], vec![]);
        let seen = found(&table, "x.io", path);
        let expected = if expected == "-" { "no path".to_owned() } else { format!("{expected} {path}") };
        assert_eq!(seen, expected, "{rules:?} {path}");
    }
}

#[test]
fn hosts_match_as_kubernetes_says() {
    let rules = ["a.io / Prefix exact", "*.a.io / Prefix star", "B.io / Prefix upper", "- /any Prefix any"];
    let table = routes(vec![ingress("i", 1, &rules)], vec![]);
    for (host, path, expected) in [
        ("a.io", "/", "exact /"),
        ("x.a.io", "/", "star /"),
        ("x.y.a.io", "/", "no host"),
        (".a.io", "/", "no host"),
        ("b.io", "/", "upper /"),
        ("c.io", "/any", "any /any"),
        ("c.io", "/", "no host"),
        ("", "/any", "any /any"),
        ("", "/", "no host"),
        ("a.io", "/any", "exact /any"),
    ] {
        assert_eq!(found(&table, host, path), expected, "{host} {path}");
    }
}

#[test]
fn records_lead_below_their_paths() {
    let table =
        routes(vec![], vec![record("r", 1, "minik8s.com", &["path1 one", "path2 two", "path1/deep three"])]);
    for (host, path, expected) in [
        ("minik8s.com", "/path1/x", "one /x"),
        ("minik8s.com", "/path1", "one /"),
        ("minik8s.com", "/path1/", "one /"),
        ("minik8s.com", "/path1?a=/b", "one /?a=/b"),
        ("minik8s.com", "/path1/?a", "one /?a"),
        ("minik8s.com", "/path1//x", "one //x"),
        ("minik8s.com", "/path1/../x", "one /../x"),
        ("minik8s.com", "/path2/x/y?z", "two /x/y?z"),
        ("minik8s.com", "/path1/deep/x", "three /x"),
        ("minik8s.com", "/path1/deeper", "one /deeper"),
        ("minik8s.com", "/path10", "no path"),
        ("minik8s.com", "/", "no path"),
        ("other.com", "/path1/x", "no host"),
    ] {
        assert_eq!(found(&table, host, path), expected, "{host}{path}");
    }
}

#[test]
fn who_came_first_is_served() {
    for (case, ingresses, records, host, path, expected) in [
        (
            "two Ingresses share a host",
            vec![ingress("a", 1, &["x.io /a Prefix a"]), ingress("b", 2, &["x.io /b Prefix b"])],
            vec![],
            "x.io",
            "/b",
            "b /b",
        ),
        (
            "the older one has the path",
            vec![ingress("a", 2, &["x.io /a Prefix late"]), ingress("b", 1, &["x.io /a Prefix early"])],
            vec![],
            "x.io",
            "/a",
            "early /a",
        ),
        (
            "an older record has the host alone",
            vec![ingress("a", 2, &["x.io /a Prefix a"])],
            vec![record("r", 1, "x.io", &["p r"])],
            "x.io",
            "/a",
            "no path",
        ),
        (
            "an older Ingress has the host",
            vec![ingress("a", 1, &["x.io /a Prefix a"])],
            vec![record("r", 2, "x.io", &["p r"])],
            "x.io",
            "/p",
            "no path",
        ),
        (
            "of two records the older one",
            vec![],
            vec![record("a", 2, "x.io", &["p late"]), record("b", 1, "x.io", &["p early"])],
            "x.io",
            "/p",
            "early /",
        ),
    ] {
        assert_eq!(found(&routes(ingresses, records), host, path), expected, "{case}");
    }
}

#[test]
fn what_fits_nowhere_goes_to_the_default() {
    let mut own = ingress("own", 1, &["x.io /a Prefix a"]);
    own["spec"]["defaultBackend"] = json!({"service": {"name": "rest", "port": {"name": "http"}}});
    let mut all = ingress("all", 2, &[]);
    all["spec"]["defaultBackend"] = json!({"resource": {"kind": "Bucket", "name": "b"}});
    let table = routes(vec![own.clone(), ingress("y", 1, &["y.io /a Prefix y"])], vec![]);
    assert_eq!(found(&table, "x.io", "/b"), "rest /b");
    assert_eq!(found(&table, "y.io", "/b"), "no path");
    assert_eq!(found(&table, "z.io", "/b"), "no host");
    let table = routes(vec![own, all, ingress("y", 1, &["y.io /a Prefix y"])], vec![]);
    assert_eq!(found(&table, "x.io", "/b"), "rest /b");
    assert_eq!(found(&table, "y.io", "/b"), "Bucket n/b");
    assert_eq!(found(&table, "z.io", "/b"), "Bucket n/b");
}

#[test]
fn requests_go_to_pods_that_answer() {
    let service = |ports: Value| {
        object::<Service>(json!({"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": ports}}))
    };
    let slice = |conditions: &[(&str, Value)]| {
        let endpoints: Vec<Value> = conditions
            .iter()
            .map(|(address, conditions)| json!({"addresses": [address], "conditions": conditions}))
            .collect();
        Arc::new(object::<Slice>(json!({
            "metadata": {}, "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}, {"name": "x", "port": 9}],
            "endpoints": endpoints,
        })))
    };
    let ready = json!({"ready": true});
    let unready = json!({"ready": false});
    let ending = json!({"ready": false, "serving": true, "terminating": true});
    let usual = json!([{"name": "http", "port": 80, "targetPort": "web"}]);
    for (case, port, ports, slices, expected) in [
        (
            "ready ones",
            Named::Number(80),
            usual.clone(),
            vec![slice(&[
                ("10.0.0.2", ready.clone()),
                ("10.0.0.1", ready.clone()),
                ("10.0.0.3", unready.clone()),
            ])],
            "10.0.0.1:8080 10.0.0.2:8080",
        ),
        (
            "by name",
            Named::Name("http".to_owned()),
            usual.clone(),
            vec![slice(&[("10.0.0.1", ready.clone())])],
            "10.0.0.1:8080",
        ),
        (
            "one twice",
            Named::Number(80),
            usual.clone(),
            vec![slice(&[("10.0.0.1", ready.clone())]), slice(&[("10.0.0.1", ready.clone())])],
            "10.0.0.1:8080",
        ),
        (
            "ready before ending",
            Named::Number(80),
            usual.clone(),
            vec![slice(&[("10.0.0.1", ready), ("10.0.0.2", ending.clone())])],
            "10.0.0.1:8080",
        ),
        (
            "only ending ones",
            Named::Number(80),
            usual.clone(),
            vec![slice(&[("10.0.0.1", unready), ("10.0.0.2", ending)])],
            "10.0.0.2:8080",
        ),
        ("none", Named::Number(80), usual.clone(), vec![], "NoEndpoints"),
        ("no such port", Named::Number(81), usual, vec![], "NoPort"),
    ] {
        let made = backend(Key::new("n", "s"), port, Some(&service(ports)), &slices);
        let shown = match made.fault {
            Some(fault) => format!("{fault:?}"),
            None => made.endpoints.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        };
        assert_eq!(shown, expected, "{case}");
    }
    assert_eq!(backend(Key::new("n", "s"), Named::Number(80), None, &[]).fault, Some(Fault::NoService));
    for (protocol, expected) in
        [("kubernetes.io/h2c", Protocol::Http2), ("grpc", Protocol::Http2), ("http", Protocol::Http1)]
    {
        let service = service(json!([{"port": 80, "appProtocol": protocol}]));
        assert_eq!(backend(Key::new("n", "s"), Named::Number(80), Some(&service), &[]).protocol, expected);
    }
}
