//! What watchers are told.

use serde_json::{Value, json};

use crate::testing::{api, config_map, labelled, told};
use crate::{VersionMatch, WatchKind, WatchQuery};

#[tokio::test]
async fn from_the_start_from_now_and_from_a_revision() {
    let api = api().await;
    let first = api.create("configmaps", "default", config_map("a")).await.unwrap();
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    api.create("configmaps", "default", config_map("b")).await.unwrap();
    let query = |revision: &str| WatchQuery { resource_version: revision.to_owned(), ..Default::default() };
    let mut unset = api.watch("configmaps", "default", query("")).await.unwrap();
    let mut any = api.watch("configmaps", "default", query("0")).await.unwrap();
    let mut since = api.watch("configmaps", "default", query(&revision)).await.unwrap();
    let mut elsewhere = api.watch("configmaps", "kube-system", query(&revision)).await.unwrap();
    let mut future = api.watch("configmaps", "default", query("999999")).await.unwrap();
    api.delete("configmaps", "default", "a").await.unwrap();
    assert_eq!(told(&mut unset), "+a +b -a");
    assert_eq!(told(&mut any), "+a +b -a");
    assert_eq!(told(&mut since), "+b -a");
    assert_eq!(told(&mut elsewhere), "");
    assert_eq!(told(&mut future), "");
    assert_eq!(since.seen(), api.registry.store().revision());
    assert_eq!(future.seen().to_string(), "999999", "a bookmark never goes back");
    let status = api.watch("configmaps", "default", query("abc")).await.err().unwrap();
    assert_eq!(status.code, 500);
}

#[tokio::test]
async fn initial_events_end_with_a_mark() {
    let api = api().await;
    for name in ["a", "b"] {
        api.create("configmaps", "default", config_map(name)).await.unwrap();
    }
    let query = WatchQuery {
        send_initial_events: Some(true),
        version_match: Some(VersionMatch::NotOlderThan),
        bookmarks: true,
        ..Default::default()
    };
    let mut watching = api.watch("configmaps", "default", query.clone()).await.unwrap();
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    assert_eq!(told(&mut watching), "+a +b | +c");
    let without = WatchQuery { send_initial_events: Some(false), ..query.clone() };
    assert_eq!(told(&mut api.watch("configmaps", "default", without).await.unwrap()), "");
    let unmatched = WatchQuery { version_match: None, ..query };
    let status = api.watch("configmaps", "default", unmatched).await.err().unwrap();
    assert_eq!(status.code, 422);
}

#[tokio::test]
async fn objects_come_into_a_selection_and_leave_it() {
    let api = api().await;
    let query = WatchQuery { labels: "app=x".to_owned(), ..Default::default() };
    let mut watching = api.watch("configmaps", "default", query).await.unwrap();
    api.create("configmaps", "default", labelled(config_map("a"), json!({"app": "y"}))).await.unwrap();
    for app in ["x", "x", "y", "x"] {
        api.merge(
            "configmaps",
            "default",
            "a",
            json!({"metadata": {"labels": {"app": app}}, "data": {"turn": app}}),
        )
        .await
        .unwrap();
    }
    api.merge("configmaps", "default", "a", json!({"data": {"b": "c"}})).await.unwrap();
    api.delete("configmaps", "default", "a").await.unwrap();
    assert_eq!(told(&mut watching), "+a -a +a ~a -a");
}

#[tokio::test]
async fn one_name_is_not_its_longer_sibling() {
    let api = api().await;
    let query = WatchQuery { fields: "metadata.name=a".to_owned(), ..Default::default() };
    let mut watching = api.watch("configmaps", "default", query).await.unwrap();
    for name in ["a", "ab"] {
        api.create("configmaps", "default", config_map(name)).await.unwrap();
    }
    assert_eq!(told(&mut watching), "+a");
}

#[tokio::test]
async fn a_deleted_object_carries_the_revision_of_its_deletion() {
    let api = api().await;
    api.create("configmaps", "default", config_map("a")).await.unwrap();
    let mut watching = api.watch("configmaps", "default", WatchQuery::default()).await.unwrap();
    api.delete("configmaps", "default", "a").await.unwrap();
    watching.next().await.unwrap();
    let event = watching.next().await.unwrap();
    assert_eq!(event.kind, WatchKind::Deleted);
    let object: Value = serde_json::from_slice(&event.bytes).unwrap();
    assert_eq!(object["metadata"]["resourceVersion"], api.registry.store().revision().to_string());
}

#[tokio::test]
async fn a_converted_kind_is_told_in_its_version() {
    let api = api().await;
    let mut watching = api.watch("events.k8s.io/v1/events", "default", WatchQuery::default()).await.unwrap();
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default", "name": "p", "kind": "Pod"}, "message": "m", "reason": "r", "type": "Normal"});
    api.create("events", "default", event).await.unwrap();
    let told = watching.try_next().unwrap().unwrap();
    let object: Value = serde_json::from_slice(&told.bytes).unwrap();
    assert_eq!((&object["apiVersion"], &object["note"]), (&json!("events.k8s.io/v1"), &json!("m")));
}
