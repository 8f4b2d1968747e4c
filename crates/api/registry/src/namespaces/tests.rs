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

#[tokio::test]
async fn a_deletion_in_a_namespace_that_was_made_anew_takes_nothing_else() {
    let api = with(Options::default()).await;
    for _ in 0..4 {
        api.create("namespaces", "", namespace("n")).await.unwrap();
        for name in ["a", "b", "c"] {
            api.create("configmaps", "n", config_map(name)).await.unwrap();
        }
        until(&api, "n has its default account", async |api| {
            api.get("serviceaccounts", "n", "default").await.is_ok()
        })
        .await;
        api.delete("configmaps", "n", "a").await.unwrap();
        // What the worker does with another namespace is done after whatever that deletion made it do.
        api.create("namespaces", "", namespace("other")).await.unwrap();
        until(&api, "other has its default account", async |api| {
            api.get("serviceaccounts", "other", "default").await.is_ok()
        })
        .await;
        assert_eq!(api.names("configmaps", "n", ListQuery::default()).await.unwrap(), ["b", "c"]);
        assert!(api.get("serviceaccounts", "n", "default").await.is_ok());
        for name in ["n", "other"] {
            api.delete("namespaces", "", name).await.unwrap();
            until(&api, name, async |api| api.get("namespaces", "", name).await.is_err()).await;
        }
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

/// A client that hangs up in the middle of its last deletion tells nobody about it.
#[tokio::test]
async fn a_departure_that_nobody_told_of_is_seen_after_a_while() {
    let api = with(Options::default()).await;
    api.create("namespaces", "", namespace("n")).await.unwrap();
    let mut kept = config_map("kept");
    kept["metadata"]["finalizers"] = json!(["example.test/a"]);
    api.create("configmaps", "n", kept).await.unwrap();
    api.delete("namespaces", "", "n").await.unwrap();
    until(&api, "kept is leaving", async |api| {
        api.get("configmaps", "n", "kept").await.unwrap()["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
    let delete = kedge_store::Txn::new().delete("/registry/configmaps/n/kept", kedge_store::Expect::Any);
    api.registry.store().commit(delete).await.unwrap();
    until(&api, "n is gone", async |api| {
        api.clock.advance(Duration::from_secs(1));
        api.get("namespaces", "", "n").await.is_err()
    })
    .await;
}
