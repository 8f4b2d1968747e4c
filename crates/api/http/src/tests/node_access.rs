//! Nodes through the router: what they may write, and in which words they are refused.

use serde_json::{Value, json};

use super::{Got, Server, call, user};
use crate::Router;

fn node(server: &Server, name: &str) -> Router {
    let groups = ["system:nodes", "system:authenticated"];
    server.stranger.acting_as(user(&format!("system:node:{name}"), &groups))
}

async fn made(router: &Router, path: &str, object: Value) -> Value {
    let got = call(router, "POST", path, object.to_string()).await;
    assert_eq!(got.code, 201, "{}", got.text());
    got.json()
}

fn refused(got: &Got) -> String {
    let failure = got.failure();
    let (_, why) = failure.split_once("is forbidden: ").unwrap_or_else(|| panic!("{failure}"));
    why.to_owned()
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, node: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i" }] } })
}

#[tokio::test]
async fn a_node_writes_itself_and_its_pods_only() {
    let server = Server::start().await;
    // Without what our own parts need there that carry traffic.
    let ours = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kedge:traffic";
    assert_eq!(call(&server.admin, "DELETE", ours, String::new()).await.code, 200);
    let n1 = node(&server, "n1");
    let labels =
        json!({ "kubernetes.io/os": "linux", "node.kubernetes.io/x": "y", "acme.example/rack": "7" });
    let own = made(&n1, "/api/v1/nodes", json!({ "metadata": { "name": "n1", "labels": labels } })).await;
    made(&server.admin, "/api/v1/nodes", json!({ "metadata": { "name": "n2" } })).await;
    for name in ["here", "there"] {
        made(&server.admin, PODS, pod(name, if name == "here" { "n1" } else { "n2" })).await;
    }
    let status = r#"{"status":{"phase":"Running"}}"#;
    let mirror = |change: &dyn Fn(&mut Value)| {
        let mut mirror = pod("static", "n1");
        mirror["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "x" });
        let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": own["metadata"]["uid"], "controller": true });
        mirror["metadata"]["ownerReferences"] = json!([owner]);
        change(&mut mirror);
        mirror.to_string()
    };
    let eviction = |name: &str| json!({ "metadata": { "name": name } }).to_string();
    for (method, path, body, why) in [
        (
            "POST",
            "/api/v1/nodes",
            json!({ "metadata": { "name": "n3" } }).to_string(),
            "node \"n1\" is not allowed to modify node \"n3\"",
        ),
        ("PATCH", "/api/v1/nodes/n2", "{}".to_owned(), "node \"n1\" is not allowed to modify node \"n2\""),
        (
            "PATCH",
            "/api/v1/nodes/n1",
            r#"{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b","k8s.io/c":"d"}}}"#.to_owned(),
            "is not allowed to modify labels: k8s.io/c, node-restriction.kubernetes.io/a",
        ),
        (
            "PATCH",
            "/api/v1/nodes/n1",
            r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#.to_owned(),
            "node \"n1\" is not allowed to modify taints",
        ),
        (
            "POST",
            PODS,
            pod("p", "n1").to_string(),
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror pods",
        ),
        (
            "POST",
            PODS,
            mirror(&|pod| pod["spec"]["nodeName"] = "n2".into()),
            "node \"n1\" can only create pods with spec.nodeName set to itself",
        ),
        (
            "POST",
            PODS,
            mirror(&|pod| pod["metadata"]["ownerReferences"][0]["uid"] = "7".into()),
            &*format!("node n1 UID mismatch: expected 7 got {}", own["metadata"]["uid"].as_str().unwrap()),
        ),
        (
            "POST",
            PODS,
            mirror(&|pod| pod["spec"]["volumes"] = json!([{ "name": "v", "secret": { "secretName": "s" } }])),
            "node \"n1\" can not create pods that reference secrets (via secret volumes)",
        ),
        (
            "DELETE",
            &*format!("{PODS}/there"),
            String::new(),
            "node \"n1\" can only delete pods with spec.nodeName set to itself",
        ),
        (
            "PATCH",
            &*format!("{PODS}/there/status"),
            status.to_owned(),
            "node \"n1\" can only update pod status for pods with spec.nodeName set to itself",
        ),
        (
            "PATCH",
            &*format!("{PODS}/here/status"),
            r#"{"metadata":{"labels":{"a":"b"}}}"#.to_owned(),
            "node \"n1\" cannot update labels through pod status",
        ),
        (
            "POST",
            &*format!("{PODS}/there/eviction"),
            eviction("there"),
            "node n1 can only evict pods with spec.nodeName set to itself",
        ),
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
            json!({ "metadata": { "name": "n2" } }).to_string(),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "POST",
            "/apis/storage.k8s.io/v1/csinodes",
            json!({ "metadata": { "name": "n2" }, "spec": { "drivers": [] } }).to_string(),
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            "GET",
            "/api/v1/nodes/n2",
            String::new(),
            "User \"system:node:n1\" cannot get resource \"nodes\" in API group \"\" at the cluster scope: node 'n1' cannot read 'n2', only its own Node object",
        ),
        (
            "GET",
            "/api/v1/pods",
            String::new(),
            "User \"system:node:n1\" cannot list resource \"pods\" in API group \"\" at the cluster scope: can only list/watch pods with spec.nodeName field selector",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/secrets/s",
            String::new(),
            "User \"system:node:n1\" cannot get resource \"secrets\" in API group \"\" in the namespace \"default\": no relationship found between node 'n1' and this object",
        ),
    ] {
        assert_eq!(refused(&call(&n1, method, path, body).await), why, "{method} {path}");
    }
    for (method, path, body, code) in [
        ("PATCH", "/api/v1/nodes/n1/status", r#"{"status":{"phase":"Running"}}"#.to_owned(), 200),
        ("PATCH", &*format!("{PODS}/here/status"), status.to_owned(), 200),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", String::new(), 200),
        ("GET", &*format!("{PODS}/here"), String::new(), 200),
        ("POST", PODS, mirror(&|_| {}), 201),
        ("DELETE", &*format!("{PODS}/static?gracePeriodSeconds=0"), String::new(), 200),
        ("POST", &*format!("{PODS}/here/eviction"), eviction("here"), 201),
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
            json!({ "metadata": { "name": "n1" } }).to_string(),
            201,
        ),
    ] {
        let got = call(&n1, method, path, body).await;
        assert_eq!(got.code, code, "{method} {path}: {}", got.text());
    }
}

#[tokio::test]
async fn a_node_gets_tokens_for_its_pods() {
    let server = Server::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    made(&server.admin, accounts, json!({ "metadata": { "name": "bot" } })).await;
    let with = |name: &str, node: &str| {
        let mut pod = pod(name, node);
        pod["spec"]["serviceAccountName"] = "bot".into();
        pod["spec"]["volumes"] = json!([{ "name": "t", "projected": { "sources": [{ "serviceAccountToken": { "path": "t", "audience": "vault" } }] } }]);
        pod
    };
    let here = made(&server.admin, PODS, with("here", "n1")).await;
    let there = made(&server.admin, PODS, with("there", "n2")).await;
    let n1 = node(&server, "n1");
    let ask = async |router: &Router, spec: Value| {
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec })
            .to_string();
        call(router, "POST", &format!("{accounts}/bot/token"), body).await
    };
    let bound = |pod: &Value| json!({ "apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"] });
    for (spec, why) in [
        (json!({}), "node requested token not bound to a pod"),
        (
            json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "here" } }),
            "node requested token with a pod binding without a uid",
        ),
        (
            json!({ "boundObjectRef": bound(&there) }),
            "node requested token bound to a pod scheduled on a different node",
        ),
        (
            json!({ "boundObjectRef": bound(&here), "audiences": ["elsewhere"] }),
            "audience \"elsewhere\" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience",
        ),
    ] {
        assert_eq!(refused(&ask(&n1, spec).await), why);
    }
    for audiences in [json!([]), json!(["vault"])] {
        let got = ask(&n1, json!({ "boundObjectRef": bound(&here), "audiences": audiences })).await;
        assert_eq!(got.code, 201, "{}", got.text());
    }
    let stranger = node(&server, "n3");
    assert!(
        refused(&ask(&stranger, json!({ "boundObjectRef": bound(&here) })).await)
            .contains("no relationship found")
    );
}
