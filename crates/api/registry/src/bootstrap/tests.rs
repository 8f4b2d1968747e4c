//! What an empty store has after the first start, and that a second start changes nothing.

use serde_json::Value;

use crate::testing::api;
use crate::{ListQuery, Options, Registry};

#[tokio::test]
async fn every_cluster_starts_with_the_same() {
    let api = api().await;
    let count = async |resource: &str| api.names(resource, "", ListQuery::default()).await.unwrap().len();
    let roles = "rbac.authorization.k8s.io/v1";
    assert_eq!(count(&format!("{roles}/clusterroles")).await, 71);
    assert_eq!(count(&format!("{roles}/clusterrolebindings")).await, 52);
    assert_eq!(count(&format!("{roles}/roles")).await, 7);
    assert_eq!(count(&format!("{roles}/rolebindings")).await, 7);
    assert_eq!(count("scheduling.k8s.io/v1/priorityclasses").await, 2);
    let names = api.names("namespaces", "", ListQuery::default()).await.unwrap();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let service = api.get("services", "default", "kubernetes").await.unwrap();
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
    assert_eq!(service["spec"]["internalTrafficPolicy"], "Cluster");
    let namespace = api.get("namespaces", "", "default").await.unwrap();
    assert_eq!(
        (&namespace["spec"]["finalizers"][0], &namespace["status"]["phase"]),
        (&"kubernetes".into(), &"Active".into())
    );
    assert_eq!(
        api.names("networking.k8s.io/v1/ipaddresses", "", ListQuery::default()).await.unwrap(),
        ["10.96.0.1"]
    );
}

#[tokio::test]
async fn roles_that_gather_others_have_their_rules() {
    let api = api().await;
    let roles = "rbac.authorization.k8s.io/v1/clusterroles";
    let rules = async |name: &str| -> Vec<Value> {
        api.get(roles, "", name).await.unwrap()["rules"].as_array().unwrap().clone()
    };
    let (view, edit, admin) = (rules("view").await, rules("edit").await, rules("admin").await);
    assert!(!view.is_empty());
    assert!(view.iter().all(|rule| edit.contains(rule)));
    assert!(edit.iter().all(|rule| admin.contains(rule)));
    let everything = rules("cluster-admin").await;
    assert_eq!(everything[0]["verbs"][0], "*");
    assert_eq!(everything[1]["nonResourceURLs"][0], "*");
}

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let api = api().await;
    let before = api.registry.store().revision();
    let options = Options { namespace_worker: false, ..Options::default() };
    Registry::start(api.registry.store().clone(), api.clock.clone(), options).await.unwrap();
    assert_eq!(api.registry.store().revision(), before);
}

#[tokio::test]
async fn the_servers_own_address_follows_it() {
    let api = api().await;
    for address in ["10.0.0.1", "10.0.0.2"] {
        let api_address = Some((address.parse().unwrap(), 6443));
        let options = Options { namespace_worker: false, api_address, ..Options::default() };
        let start =
            async || Registry::start(api.registry.store().clone(), api.clock.clone(), options.clone()).await;
        start().await.unwrap();
        let before = api.registry.store().revision();
        start().await.unwrap();
        assert_eq!(api.registry.store().revision(), before);
        let slice = api.get("discovery.k8s.io/v1/endpointslices", "default", "kubernetes").await.unwrap();
        assert_eq!(slice["endpoints"][0]["addresses"][0], address);
        let endpoints = api.get("endpoints", "default", "kubernetes").await.unwrap();
        assert_eq!(endpoints["subsets"][0]["addresses"][0]["ip"], address);
    }
}

#[tokio::test]
async fn the_clusters_dns_has_the_tenth_address_unless_somebody_else_has_it() {
    let api = api().await;
    let start = async || {
        let options = Options { namespace_worker: false, dns_service: true, ..Options::default() };
        Registry::start(api.registry.store().clone(), api.clock.clone(), options).await.unwrap();
    };
    let taken = serde_json::json!({
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"clusterIP": "10.96.0.10", "ports": [{"port": 53}]},
    });
    api.create("services", "default", taken).await.unwrap();
    start().await;
    assert!(api.get("services", "kube-system", "kube-dns").await.is_err());
    api.delete("services", "default", "mine").await.unwrap();
    start().await;
    let service = api.get("services", "kube-system", "kube-dns").await.unwrap();
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.10");
    assert_eq!(service["metadata"]["labels"]["service.kubernetes.io/service-proxy-name"], "kedge-dns");
    let revision = api.registry.store().revision();
    start().await;
    assert_eq!(api.registry.store().revision(), revision, "it is made once");
}
