//! A worker that is late must not take a new namespace for the one that it was woken for.

use super::*;
use crate::ListQuery;
use crate::testing::{Api, api, config_map};

const NAME: &str = "n";

/// A namespace with a few things in it, and a snapshot of them.
async fn furnished(api: &Api) -> Snapshot {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}});
    api.create("namespaces", "", namespace).await.unwrap();
    for name in ["a", "b"] {
        api.create("configmaps", NAME, config_map(name)).await.unwrap();
    }
    api.registry.store().snapshot()
}

async fn untouched(api: &Api) {
    assert_eq!(api.names("configmaps", NAME, ListQuery::default()).await.unwrap(), ["a", "b"]);
    let namespace = api.get("namespaces", "", NAME).await.unwrap();
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
}

/// Deletes the namespace and looks at it until it is gone.
async fn remove(api: &Api) -> Snapshot {
    api.delete("namespaces", "", NAME).await.unwrap();
    let leaving = api.registry.store().snapshot();
    assert_eq!(look(&api.registry, &NAME.into()).await, Found::Unsettled);
    assert_eq!(api.get("namespaces", "", NAME).await.unwrap_err().code, 404);
    leaving
}

#[tokio::test]
async fn a_look_that_comes_late_leaves_a_new_namespace_alone() {
    let api = api().await;
    furnished(&api).await;
    remove(&api).await;
    // Once while there is none, as the last departures make it look, and again at the new one.
    assert_eq!(look(&api.registry, &NAME.into()).await, Found::Settled);
    furnished(&api).await;
    assert_eq!(look(&api.registry, &NAME.into()).await, Found::Settled);
    untouched(&api).await;
    assert!(api.get("serviceaccounts", NAME, ACCOUNT).await.is_ok());
    assert!(api.registry.inner().namespaces.emptying.lock().is_empty());
}

#[tokio::test]
async fn a_worker_that_is_slow_leaves_a_new_namespace_alone() {
    let api = api().await;
    furnished(&api).await;
    let leaving = remove(&api).await;
    furnished(&api).await;
    let entry = leaving.get(&key::namespace(NAME)).unwrap();
    let status = empty(&api.registry, &NAME.into(), &leaving, entry).await.unwrap_err();
    assert_eq!(status.code, 409);
    let status = finalize(&api.registry, &NAME.into(), &uid(entry).unwrap()).await.unwrap_err();
    assert_eq!(status.code, 404);
    untouched(&api).await;
}
