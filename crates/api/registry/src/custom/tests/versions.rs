//! One kind in several versions.

use serde_json::{Value, json};

use super::{DEFINITIONS, WIDGETS, api, define, definition, schema, until, widget};
use crate::testing::told;
use crate::{ListQuery, WatchQuery};

const OLD: &str = "example.com/v1beta1/widgets";

fn two_versions() -> Value {
    let mut definition = definition();
    let old = json!({
        "name": "v1beta1", "served": true, "storage": false, "deprecated": true,
        "schema": {"openAPIV3Schema": schema()},
    });
    definition["spec"]["versions"].as_array_mut().unwrap().push(old);
    definition
}

#[tokio::test]
async fn without_a_webhook_versions_differ_in_name_only() {
    let api = api().await;
    define(&api, two_versions()).await.unwrap();
    api.create(WIDGETS, "default", widget("new", "red")).await.unwrap();
    let mut old = widget("old", "blue");
    old["apiVersion"] = json!("example.com/v1beta1");
    let made = api.create(OLD, "default", old).await.unwrap();
    assert_eq!(made["apiVersion"], "example.com/v1beta1");
    assert_eq!(made["metadata"]["managedFields"][0]["apiVersion"], "example.com/v1beta1");
    for (resource, version) in [(WIDGETS, "example.com/v1"), (OLD, "example.com/v1beta1")] {
        for name in ["new", "old"] {
            let found = api.get(resource, "default", name).await.unwrap();
            assert_eq!(found["apiVersion"], version, "{name}");
        }
        let list = api.registry.list(&api.at(resource, "default", ""), &ListQuery::default()).await.unwrap();
        for item in list.items {
            let item: Value = serde_json::from_slice(item.as_ref()).unwrap();
            assert_eq!(item["apiVersion"], version);
        }
    }
    let mut watching = api.watch(OLD, "default", WatchQuery::default()).await.unwrap();
    let first = watching.try_next().unwrap().unwrap();
    assert!(first.bytes.starts_with(br#"{"kind":"Widget","apiVersion":"example.com/v1beta1""#));
    assert_eq!(told(&mut watching), "+old");
    api.merge(WIDGETS, "default", "old", json!({"spec": {"replicas": 4}})).await.unwrap();
    let changed = watching.try_next().unwrap().unwrap();
    let changed: Value = serde_json::from_slice(&changed.bytes).unwrap();
    assert_eq!(
        (&changed["apiVersion"], &changed["spec"]["replicas"]),
        (&json!("example.com/v1beta1"), &json!(4))
    );
    let kind = api.at(OLD, "", "").kind;
    let said = kind.rules.as_ref().and_then(|rules| rules.deprecation().map(str::to_owned));
    assert_eq!(said.unwrap(), "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget");
}

#[tokio::test]
async fn objects_stay_readable_when_another_version_becomes_the_stored_one() {
    let api = api().await;
    define(&api, two_versions()).await.unwrap();
    api.create(WIDGETS, "default", widget("a", "red")).await.unwrap();
    let versions = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
        {"op": "replace", "path": "/spec/versions/0/served", "value": false},
    ]);
    let at = api.at(DEFINITIONS, "", "widgets.example.com");
    api.registry.patch(&at, crate::Patch::Json(versions), &crate::testing::write()).await.unwrap();
    until("v1 is gone", async || api.registry.catalog().kind("example.com", "v1", "widgets").is_none()).await;
    let found = api.get(OLD, "default", "a").await.unwrap();
    assert_eq!(
        (&found["apiVersion"], &found["spec"]["colour"]),
        (&json!("example.com/v1beta1"), &json!("red"))
    );
    let found = api.get(DEFINITIONS, "", "widgets.example.com").await.unwrap();
    assert_eq!(found["status"]["storedVersions"], json!(["v1", "v1beta1"]));
    api.merge(OLD, "default", "a", json!({"spec": {"replicas": 5}})).await.unwrap();
    assert_eq!(api.names(OLD, "default", ListQuery::default()).await.unwrap(), ["a"]);
}
