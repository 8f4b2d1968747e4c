//! Addresses and ports are given once, kept, and given back.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Range;
use crate::testing::{api, with};
use crate::{ListQuery, Options};

fn service(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec.get("ports").is_none() {
        spec["ports"] = json!([{"port": 80}]);
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn each_gets_what_its_type_needs() {
    let api = api().await;
    for (name, spec, families, policy) in [
        ("plain", json!({}), json!(["IPv4"]), "SingleStack"),
        ("headless", json!({"clusterIP": "None"}), json!(["IPv4", "IPv6"]), "RequireDualStack"),
        ("chosen", json!({"clusterIP": "None", "selector": {"a": "b"}}), json!(["IPv4"]), "SingleStack"),
        ("node", json!({"type": "NodePort"}), json!(["IPv4"]), "SingleStack"),
        (
            "local",
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
            json!(["IPv4"]),
            "SingleStack",
        ),
    ] {
        let spec = &api.create("services", "default", service(name, spec)).await.unwrap()["spec"];
        assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&families, &json!(policy)), "{name}");
        assert_eq!(spec["clusterIP"], spec["clusterIPs"][0], "{name}");
        assert_eq!(spec["clusterIP"] == "None", name == "headless" || name == "chosen", "{name}");
        assert_eq!(spec["ports"][0].get("nodePort").is_some(), name == "node" || name == "local", "{name}");
        assert_eq!(spec.get("healthCheckNodePort").is_some(), name == "local", "{name}");
    }
    let external = json!({"type": "ExternalName", "externalName": "example.test"});
    let spec = &api.create("services", "default", service("ext", external)).await.unwrap()["spec"];
    assert_eq!((spec.get("clusterIP"), spec.get("ipFamilies")), (None, None));
}

#[tokio::test]
async fn what_is_named_must_be_free_and_within_the_range() {
    let api = api().await;
    api.create("services", "default", service("a", json!({"clusterIP": "10.96.0.9"}))).await.unwrap();
    api.create(
        "services",
        "default",
        service("p", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]})),
    )
    .await
    .unwrap();
    for (spec, message) in [
        (
            json!({"clusterIP": "10.96.0.9"}),
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.9\"]: failed to allocate IP 10.96.0.9: provided IP is already allocated",
        ),
        (
            json!({"clusterIP": "1.2.3.4"}),
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range",
        ),
        (
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}),
            "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated",
        ),
        (
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
            "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
    ] {
        let status = api.create("services", "default", service("b", spec)).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (422, message));
    }
}

#[tokio::test]
async fn what_is_given_back_can_be_had_again() {
    let api = api().await;
    let addresses =
        async || api.names("networking.k8s.io/v1/ipaddresses", "", ListQuery::default()).await.unwrap().len();
    let fixed =
        json!({"type": "NodePort", "clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30080}]});
    api.create("services", "default", service("a", fixed.clone())).await.unwrap();
    assert_eq!(addresses().await, 2);
    let kept = api.update("services", "default", service("a", json!({"type": "NodePort"}))).await.unwrap();
    assert_eq!(
        (&kept["spec"]["clusterIP"], &kept["spec"]["ports"][0]["nodePort"]),
        (&json!("10.96.0.9"), &json!(30080))
    );
    let back = api.merge("services", "default", "a", json!({"spec": {"type": "ClusterIP"}})).await.unwrap();
    assert_eq!(back["spec"]["ports"][0].get("nodePort"), None);
    let external = json!({"spec": {"type": "ExternalName", "externalName": "example.test", "clusterIP": null, "clusterIPs": null}});
    let external = api.merge("services", "default", "a", external).await.unwrap();
    assert_eq!(external["spec"].get("clusterIP"), None);
    assert_eq!(addresses().await, 1);
    api.create("services", "default", service("b", fixed.clone())).await.unwrap();
    api.delete("services", "default", "b").await.unwrap();
    api.create("services", "default", service("c", fixed)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_never_get_the_same() {
    let options = Options {
        service_cidrs: vec![("10.0.0.0".parse().unwrap(), 26)],
        node_ports: 30000..=30063,
        namespace_worker: false,
        ..Options::default()
    };
    let api = Arc::new(with(options).await);
    let tasks: Vec<_> = (0..60)
        .map(|at| {
            let api = api.clone();
            tokio::spawn(async move {
                let made = api
                    .create("services", "default", service(&format!("s{at}"), json!({"type": "NodePort"})))
                    .await
                    .unwrap();
                (
                    made["spec"]["clusterIP"].as_str().unwrap().to_owned(),
                    made["spec"]["ports"][0]["nodePort"].as_u64().unwrap(),
                )
            })
        })
        .collect();
    let (mut addresses, mut ports) = (HashSet::new(), HashSet::new());
    for task in tasks {
        let (address, port) = task.await.unwrap();
        assert!(addresses.insert(address) && ports.insert(port));
    }
    // 62 usable addresses: 60 and `kubernetes` are taken, so one is left.
    api.create("services", "default", service("last", json!({}))).await.unwrap();
    let status = api.create("services", "default", service("more", json!({}))).await.unwrap_err();
    assert!(status.message.contains("range is full"), "{}", status.message);
}

#[test]
fn ranges_know_what_is_theirs() {
    let range = Range::new("10.96.0.0".parse().unwrap(), 30);
    for (address, inside) in
        [("10.96.0.0", false), ("10.96.0.1", true), ("10.96.0.2", true), ("10.96.0.3", false), ("::1", false)]
    {
        assert_eq!(range.contains(address.parse::<IpAddr>().unwrap()), inside, "{address}");
    }
    let wide = Range::new("10.0.0.0".parse().unwrap(), 8);
    assert!(
        wide.contains("10.200.0.1".parse().unwrap()) && !wide.contains("10.255.255.255".parse().unwrap())
    );
    let six = Range::new("fd00::".parse().unwrap(), 112);
    assert_eq!((six.first().to_string(), six.to_string()), ("fd00::1".to_owned(), "fd00::/112".to_owned()));
    let free: Option<IpAddr> = range.free(|address| address.to_string() == "10.96.0.2");
    assert_eq!(free.unwrap().to_string(), "10.96.0.2");
}

#[tokio::test]
async fn a_cluster_of_both_families_gives_both() {
    let options = Options {
        service_cidrs: vec![("10.0.0.0".parse().unwrap(), 24), ("fd00::".parse().unwrap(), 112)],
        namespace_worker: false,
        ..Options::default()
    };
    let api = with(options).await;
    let made = api
        .create("services", "default", service("s", json!({"ipFamilyPolicy": "PreferDualStack"})))
        .await
        .unwrap();
    assert_eq!(made["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert!(made["spec"]["clusterIPs"][1].as_str().unwrap().starts_with("fd00::"));
}
