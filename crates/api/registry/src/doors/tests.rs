use serde_json::json;

use super::*;
use crate::testing::api;

fn slice(name: &str, service: &str, address: &str, ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4", "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": ready}}],
    })
}

#[tokio::test]
async fn finds_what_is_ready_behind_a_service() {
    let api = api().await;
    let ports = json!([{"name": "https", "port": 443, "targetPort": 8443}]);
    for (name, spec) in [
        ("sliced", json!({"ports": ports})),
        ("unready", json!({"ports": ports})),
        ("old", json!({"ports": ports})),
        ("routed", json!({"ports": ports, "clusterIP": "10.96.0.77"})),
        ("elsewhere", json!({"type": "ExternalName", "externalName": "hook.example.com"})),
    ] {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        api.create("services", "default", service).await.unwrap();
    }
    for object in [
        slice("a", "sliced", "10.1.0.1", true),
        slice("b", "sliced", "10.1.0.2", false),
        slice("c", "unready", "10.1.0.3", false),
    ] {
        api.create("discovery.k8s.io/v1/endpointslices", "default", object).await.unwrap();
    }
    let endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "old"},
        "subsets": [{"addresses": [{"ip": "10.1.0.9"}], "ports": [{"name": "https", "port": 9443}]}],
    });
    api.create("endpoints", "default", endpoints).await.unwrap();

    let doors = Doors::new(api.registry.store().clone());
    for (service, port, found) in [
        ("sliced", 443, "Address(10.1.0.1:8443)"),
        ("old", 443, "Address(10.1.0.9:9443)"),
        ("routed", 443, "Address(10.96.0.77:443)"),
        ("elsewhere", 8443, "Host(\"hook.example.com\", 8443)"),
        ("unready", 443, "no endpoints available for service \"unready\""),
        ("sliced", 80, "no service port 80 found for service \"sliced\""),
        ("absent", 443, "service \"absent\" not found"),
    ] {
        for _ in 0..3 {
            let door = doors.resolve("default", service, port);
            let shown = door.map_or_else(|error| error.to_string(), |door| format!("{door:?}"));
            assert_eq!(shown, found, "{service}:{port}");
        }
    }
}
