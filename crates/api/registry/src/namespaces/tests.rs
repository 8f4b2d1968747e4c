//! Namespaces take nothing new once they go, and have an account until then.

use std::time::Duration;

use serde_json::json;

use crate::Options;
use crate::testing::{Api, api, config_map, with};

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
async fn every_namespace_has_its_account() {
    let api = with(Options::default()).await;
    api.create("namespaces", "", namespace("later")).await.unwrap();
    for name in ["later", "default", "kube-system", "kube-public", "kube-node-lease"] {
        until(&api, name, async |api| api.get("serviceaccounts", name, "default").await.is_ok()).await;
    }
}

#[tokio::test]
async fn a_deleted_default_account_is_made_again() {
    let api = with(Options::default()).await;
    let account = async |api: &Api| api.get("serviceaccounts", "default", "default").await.ok();
    until(&api, "there is an account", async |api| account(api).await.is_some()).await;
    let first = account(&api).await.unwrap();
    api.delete("serviceaccounts", "default", "default").await.unwrap();
    until(&api, "there is another account", async |api| {
        account(api).await.is_some_and(|now| now["metadata"]["uid"] != first["metadata"]["uid"])
    })
    .await;
}
