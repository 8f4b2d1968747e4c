use kedge_store::{Draft, Expect, Store, Txn};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_port_goes_by_its_name_or_its_number() {
    let store = Store::memory();
    let slice = |service: &str, endpoint: Value, ports: Value| json!({"metadata": {"labels": {"kubernetes.io/service-name": service}}, "endpoints": [endpoint], "ports": ports});
    let of_pod = |pod: &str, address: &str| json!({"addresses": [address], "targetRef": {"kind": "Pod", "namespace": "default", "name": pod}});
    for (key, object) in [
        ("pods/default/web-0", json!({"status": {"podIPs": [{"ip": "10.0.0.1"}]}})),
        ("pods/default/moved", json!({"status": {"podIPs": [{"ip": "10.0.0.9"}]}})),
        (
            "endpointslices/default/web-1",
            slice(
                "web",
                of_pod("web-0", "10.0.0.1"),
                json!([{"name": "http", "port": 8080}, {"name": "tls", "port": 8443}]),
            ),
        ),
        (
            "endpointslices/default/lone-1",
            slice("lone", of_pod("web-0", "10.0.0.1"), json!([{"port": 9000}])),
        ),
        (
            "endpointslices/default/moved-1",
            slice("moved", of_pod("moved", "10.0.0.2"), json!([{"port": 9000}])),
        ),
        (
            "endpointslices/default/kubernetes",
            slice("kubernetes", json!({"addresses": ["10.0.0.3"]}), json!([{"name": "https", "port": 6443}])),
        ),
    ] {
        let draft = Draft::new(object.to_string());
        store.commit(Txn::new().put(format!("/registry/{key}"), Expect::Any, draft)).await.unwrap();
    }
    let web = json!({"spec": {"ports": [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]}});
    let lone = json!({"spec": {"ports": [{"port": 80}]}});
    let kubernetes = json!({"spec": {"ports": [{"name": "https", "port": 443}]}});
    for (service, id, wanted) in [
        (&web, "web:80", "10.0.0.1:8080"),
        (&web, "web:http", "10.0.0.1:8080"),
        (&web, "https:web:443", "10.0.0.1:8443"),
        (&web, "https:web:tls", "10.0.0.1:8443"),
        (&web, "web:8080", "no service port 8080 found for service \"web\""),
        (&web, "web", "none of some"),
        (&lone, "lone:80", "10.0.0.1:9000"),
        (&lone, "lone", "10.0.0.1:9000"),
        (&lone, "moved", "none of some"),
        (&lone, "silent:80", "none"),
        (&kubernetes, "https:kubernetes:443", "none of some"),
    ] {
        let named = Named::read(id).unwrap();
        let found =
            port_name(service, &named).map(|port| known(&store.snapshot(), "default", named.name, port));
        let told = match found {
            Err(status) => status.message,
            Ok(Known { any, ready }) => match ready.as_slice() {
                [(host, port)] => format!("{host}:{port}"),
                _ => if any { "none of some" } else { "none" }.to_owned(),
            },
        };
        assert_eq!(told, wanted, "{id}");
    }
}
