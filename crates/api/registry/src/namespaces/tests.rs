//! Namespaces take nothing new once they go, and go once they are empty.

use std::time::Duration;

use serde_json::json;

use crate::testing::{Api, api, config_map, pod, with};
use crate::{ListQuery, Options};

fn namespace(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Waits, bounded, for what the worker does.
async fn until(api: &Api, what: &str, holds: impl AsyncFn(&Api) -> bool) {
    for _ in 0..2000 {
        if holds(api).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("still untrue: {what}");
}

#[tokio::test]
async fn a_leaving_namespace_takes_nothing_new() {
    let api = api().await;
    api.create("namespaces", "", namespace("n")).await.unwrap();
    let marked = api.delete("namespaces", "", "n").await.unwrap();
    assert_eq!(marked["status"]["phase"], "Terminating");
    let status = api.create("configmaps", "n", config_map("late")).await.unwrap_err();
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "configmaps \"late\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(
        (&*cause.reason, &*cause.field, &*cause.message),
        ("NamespaceTerminating", "metadata.namespace", "namespace n is being terminated")
    );
}

#[tokio::test]
async fn a_namespace_gets_its_account_and_goes_when_empty() {
    let api = with(Options::default()).await;
    api.create("namespaces", "", namespace("n")).await.unwrap();
    until(&api, "n has its default account", async |api| {
        api.get("serviceaccounts", "n", "default").await.is_ok()
    })
    .await;
    for name in ["a", "b"] {
        api.create("configmaps", "n", config_map(name)).await.unwrap();
    }
    let mut kept = config_map("kept");
    kept["metadata"]["finalizers"] = json!(["example.test/a"]);
    api.create("configmaps", "n", kept).await.unwrap();
    api.create("pods", "n", pod("p")).await.unwrap();
    api.delete("namespaces", "", "n").await.unwrap();
    until(&api, "only what has a finalizer is left", async |api| {
        api.names("configmaps", "n", ListQuery::default()).await.unwrap() == ["kept"]
            && api.names("pods", "n", ListQuery::default()).await.unwrap().is_empty()
    })
    .await;
    assert!(api.get("namespaces", "", "n").await.is_ok());
    api.merge("configmaps", "n", "kept", json!({"metadata": {"finalizers": null}})).await.unwrap();
    until(&api, "n is gone", async |api| api.get("namespaces", "", "n").await.is_err()).await;
}

#[tokio::test]
async fn every_namespace_of_the_start_has_its_account() {
    let api = with(Options::default()).await;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        until(&api, name, async |api| api.get("serviceaccounts", name, "default").await.is_ok()).await;
    }
}
