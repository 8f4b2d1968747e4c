//! How objects go.

use serde_json::{Value, json};

use crate::testing::{api, config_map, dry, labelled, pod, write};
use crate::{DeleteOptions, ListQuery, Propagation};

#[tokio::test]
async fn at_once_and_only_once() {
    let api = api().await;
    let made = api.create("configmaps", "default", config_map("c")).await.unwrap();
    let at = api.at("configmaps", "default", "c");
    api.registry.delete(&at, &DeleteOptions::default(), &dry()).await.unwrap();
    let deleted = api.registry.delete(&at, &DeleteOptions::default(), &write()).await.unwrap();
    assert!(!deleted.still_there);
    let answer: Value = serde_json::from_slice(&deleted.bytes).unwrap();
    assert_eq!(answer["status"], "Success");
    assert_eq!(answer["details"], json!({"kind": "configmaps", "name": "c", "uid": made["metadata"]["uid"]}));
    assert_eq!(api.delete("configmaps", "default", "c").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn preconditions_hold() {
    let api = api().await;
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    for (options, message) in [
        (
            DeleteOptions { uid: Some("x".to_owned()), ..Default::default() },
            "Operation cannot be fulfilled on ConfigMap \"c\": the UID in the precondition (x) does not match the UID in record (",
        ),
        (
            DeleteOptions { resource_version: Some("1".to_owned()), ..Default::default() },
            "Operation cannot be fulfilled on ConfigMap \"c\": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (",
        ),
    ] {
        let status = api.delete_with("configmaps", "default", "c", options).await.unwrap_err();
        assert_eq!(status.code, 409);
        assert!(status.message.starts_with(message), "{}", status.message);
    }
}

#[tokio::test]
async fn dependents_are_waited_for_or_left_alone() {
    let api = api().await;
    for (propagation, finalizers) in [
        (Some(Propagation::Foreground), Some(json!(["foregroundDeletion"]))),
        (Some(Propagation::Orphan), Some(json!(["orphan"]))),
        (Some(Propagation::Background), None),
        (None, None),
    ] {
        api.create("configmaps", "default", config_map("o")).await.unwrap();
        let options = DeleteOptions { propagation, ..Default::default() };
        let deleted = api.delete_with("configmaps", "default", "o", options).await.unwrap();
        assert_eq!(deleted["metadata"].get("finalizers"), finalizers.as_ref(), "{propagation:?}");
        if finalizers.is_some() {
            api.merge("configmaps", "default", "o", json!({"metadata": {"finalizers": null}})).await.unwrap();
        }
        assert_eq!(api.get("configmaps", "default", "o").await.unwrap_err().code, 404);
    }
}

#[tokio::test]
async fn a_pod_gets_its_grace_which_only_shrinks() {
    let api = api().await;
    api.create("pods", "default", pod("free")).await.unwrap();
    let gone = api.delete("pods", "default", "free").await.unwrap();
    assert_eq!(
        (&gone["metadata"]["deletionGracePeriodSeconds"], &gone["metadata"]["generation"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(api.get("pods", "default", "free").await.unwrap_err().code, 404);

    let mut bound = pod("p");
    bound["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", bound).await.unwrap();
    for (asked, grace, stamp) in [
        (None, 30, "2026-01-01T12:00:30Z"),
        (Some(5), 5, "2026-01-01T12:00:05Z"),
        (Some(60), 5, "2026-01-01T12:00:05Z"),
        (None, 5, "2026-01-01T12:00:05Z"),
    ] {
        let options = DeleteOptions { grace_seconds: asked, ..Default::default() };
        let metadata = api.delete_with("pods", "default", "p", options).await.unwrap()["metadata"].take();
        assert_eq!(
            (&metadata["deletionGracePeriodSeconds"], &metadata["deletionTimestamp"]),
            (&json!(grace), &json!(stamp)),
            "{asked:?}"
        );
        assert_eq!(metadata["generation"], 2);
    }
    let options = DeleteOptions { grace_seconds: Some(0), ..Default::default() };
    api.delete_with("pods", "default", "p", options).await.unwrap();
    assert_eq!(api.get("pods", "default", "p").await.unwrap_err().code, 404);
}

/// Times of five digits' years, or of none, make every client that reads the list of pods give up.
#[tokio::test]
async fn a_grace_without_end_leaves_a_time_that_can_be_read() {
    let api = api().await;
    let mut bound = pod("p");
    bound["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", bound).await.unwrap();
    for (asked, grace, stamp) in [
        (i64::MAX, i64::from(i32::MAX), "2094-01-19T15:14:07Z"),
        (5, 5, "2026-01-01T12:00:05Z"),
        (i64::MIN, 0, "2026-01-01T12:00:00Z"),
    ] {
        let options = DeleteOptions { grace_seconds: Some(asked), ..Default::default() };
        let metadata = api.delete_with("pods", "default", "p", options).await.unwrap()["metadata"].take();
        assert_eq!(
            (&metadata["deletionGracePeriodSeconds"], &metadata["deletionTimestamp"]),
            (&json!(grace), &json!(stamp)),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn a_collection_goes_by_its_selector() {
    let api = api().await;
    for (name, go) in [("a", "yes"), ("b", "no"), ("c", "yes")] {
        api.create("secrets", "default", labelled(json!({"metadata": {"name": name}}), json!({"go": go})))
            .await
            .unwrap();
    }
    let query = ListQuery { labels: "go=yes".to_owned(), ..Default::default() };
    let at = api.at("secrets", "default", "");
    let gone =
        api.registry.delete_collection(&at, &query, &DeleteOptions::default(), &write()).await.unwrap();
    assert_eq!(gone.items.count(), 2);
    assert_eq!(api.names("secrets", "default", ListQuery::default()).await.unwrap(), ["b"]);
}

#[tokio::test]
async fn some_namespaces_stay() {
    let api = api().await;
    let status = api.delete("namespaces", "", "kube-system").await.unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (403, "namespaces \"kube-system\" is forbidden: this namespace may not be deleted")
    );
}
