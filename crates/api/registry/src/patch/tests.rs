//! The four ways to patch, over the whole path.

use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_kinds::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::gate::{Gate, Operation, Review};
use crate::testing::{api, config_map, strictly, with, write};
use crate::{Options, Patch, WriteOptions};

fn by(manager: &str) -> WriteOptions {
    WriteOptions { manager: manager.to_owned(), ..write() }
}

#[tokio::test]
async fn every_way_changes_the_object() {
    let api = api().await;
    let at = api.at("configmaps", "default", "c");
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    for (patch, expected) in [
        (Patch::Merge(json!({"data": {"a": "1"}})), json!({"a": "1"})),
        (Patch::Strategic(json!({"data": {"b": "2"}})), json!({"a": "1", "b": "2"})),
        (Patch::Json(json!([{"op": "remove", "path": "/data/a"}])), json!({"b": "2"})),
    ] {
        let written = api.registry.patch(&at, patch, &write()).await.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written.bytes).unwrap()["data"], expected);
    }
}

#[tokio::test]
async fn refuses_what_leads_nowhere() {
    let api = api().await;
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    let at = api.at("configmaps", "default", "c");
    let absent = api.at("configmaps", "default", "absent");
    let tried = async |at, patch, options| api.registry.patch(at, patch, options).await.unwrap_err();
    let options = write();
    assert_eq!(tried(&absent, Patch::Merge(json!({})), &options).await.code, 404);
    let stale = tried(&at, Patch::Merge(json!({"metadata": {"resourceVersion": "1"}})), &options).await;
    assert_eq!(stale.code, 409);
    let renamed = tried(&at, Patch::Merge(json!({"metadata": {"name": "d"}})), &options).await;
    assert_eq!(
        (renamed.code, &*renamed.message),
        (400, "the name of the object (d) does not match the name on the URL (c)")
    );
    let strict = strictly();
    let unknown = tried(&at, Patch::Merge(json!({"dada": 1})), &strict).await;
    assert_eq!(unknown.code, 422);
    assert!(
        unknown.message.ends_with("strict decoding error: unknown field \"dada\""),
        "{}",
        unknown.message
    );
    let another = tried(&at, Patch::Merge(json!({"kind": "Secret"})), &options).await;
    assert_eq!(another.code, 422);
}

#[tokio::test]
async fn apply_makes_merges_and_conflicts() {
    let api = api().await;
    let at = api.at("configmaps", "default", "c");
    let config = |value: &str| {
        let config =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": value}});
        Patch::Apply { config, force: false }
    };
    assert!(api.registry.patch(&at, config("1"), &by("one")).await.unwrap().created);
    let again = api.registry.patch(&at, config("1"), &by("one")).await.unwrap();
    assert!(!again.created);
    let before = api.registry.store().revision();
    assert_eq!(again.revision, before, "an apply of the same writes nothing");
    let status = api.registry.patch(&at, config("2"), &by("two")).await.unwrap_err();
    assert_eq!(status.code, 409);
    assert_eq!(status.details.unwrap().causes[0].reason, "FieldManagerConflict");
    let Patch::Apply { config, .. } = config("2") else { unreachable!() };
    let forced = Patch::Apply { config, force: true };
    let written = api.registry.patch(&at, forced, &by("two")).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written.bytes).unwrap()["data"]["a"], "2");
    let kindless =
        Patch::Apply { config: json!({"apiVersion": "v1", "metadata": {"name": "c"}}), force: false };
    let status = api.registry.patch(&at, kindless, &by("one")).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (400, "invalid object type: /v1, Kind="));
}

#[tokio::test]
async fn what_a_patch_says_twice_is_told_or_refused() {
    let api = api().await;
    api.registry.create(&api.at("configmaps", "default", ""), config_map("c"), &write()).await.unwrap();
    let at = api.at("configmaps", "default", "c");
    let patch = || Patch::Merge(json!({"data": {"x": "2"}, "dada": 1}));
    let twice =
        |options| WriteOptions { duplicates: vec!["duplicate field \"data.x\"".to_owned()], ..options };
    let status = api.registry.patch(&at, patch(), &twice(strictly())).await.unwrap_err();
    assert_eq!(status.code, 422);
    let end = "strict decoding error: duplicate field \"data.x\", unknown field \"dada\"";
    assert!(status.message.ends_with(end), "{}", status.message);
    let written = api.registry.patch(&at, patch(), &twice(write())).await.unwrap();
    assert_eq!(written.warnings, ["duplicate field \"data.x\"", "unknown field \"dada\""]);
}

#[tokio::test]
async fn an_owner_of_one_version_loses_what_changes_in_another() {
    let api = api().await;
    let at = |version: &str, name| {
        api.at(&format!("autoscaling/{version}/horizontalpodautoscalers"), "default", name)
    };
    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}});
    let object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                 "metrics": [{"type": "Resource", "resource": cpu}]},
    });
    api.registry.create(&at("v2", ""), object, &by("one")).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"targetCPUUtilizationPercentage": 70}}));
    let written = api.registry.patch(&at("v1", "h"), patch, &by("two")).await.unwrap();
    let patched: Value = serde_json::from_slice(&written.bytes).unwrap();
    let owned = |manager: &str| {
        let entries = patched["metadata"]["managedFields"].as_array().unwrap();
        entries.iter().find(|entry| entry["manager"] == manager).unwrap()["fieldsV1"]["f:spec"].clone()
    };
    assert_eq!(owned("one").get("f:metrics"), None);
    assert_eq!(owned("two"), json!({"f:targetCPUUtilizationPercentage": {}}));
}

#[tokio::test]
async fn a_patch_that_is_nothing_or_no_map() {
    let api = api().await;
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    let at = api.at("configmaps", "default", "c");
    let before = api.registry.store().revision();
    for patch in [Patch::Json(Value::Null), Patch::Strategic(Value::Null)] {
        assert_eq!(api.registry.patch(&at, patch, &write()).await.unwrap().revision, before);
    }
    for (patch, message) in [
        (json!(null), "Invalid JSON Patch"),
        (
            json!("x"),
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
    ] {
        let status = api.registry.patch(&at, Patch::Merge(patch), &write()).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (400, message));
    }
}

/// Who owns which fields of an object's data, by manager.
fn owners(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .map(|entry| (entry["manager"].as_str().unwrap_or_default(), entry["fieldsV1"]["f:data"].clone()))
        .collect()
}

#[tokio::test]
async fn owners_keep_and_lose_what_they_should_however_it_is_patched() {
    let api = api().await;
    let at = api.at("configmaps", "default", "c");
    let mut made = config_map("c");
    made["data"] = json!({"a": "1", "b": "1"});
    api.registry.create(&at, made, &by("maker")).await.unwrap();
    for (who, patch, owned) in [
        (
            "one",
            Patch::Merge(json!({"data": {"a": "2"}})),
            json!({"maker": {".": {}, "f:b": {}}, "one": {"f:a": {}}}),
        ),
        (
            "two",
            Patch::Strategic(json!({"metadata": {"labels": {"l": "1"}}})),
            json!({"maker": {".": {}, "f:b": {}}, "one": {"f:a": {}}, "two": null}),
        ),
        (
            "two",
            Patch::Json(json!([
                {"op": "test", "path": "/metadata/managedFields/0/fieldsV1/f:data/f:b", "value": {}},
                {"op": "replace", "path": "/data/b", "value": "2"},
            ])),
            json!({"maker": {}, "one": {"f:a": {}}, "two": {"f:b": {}}}),
        ),
        ("one", Patch::Merge(json!({"metadata": {"managedFields": [{}]}})), json!({})),
    ] {
        let what = format!("{patch:?}");
        let written = api.registry.patch(&at, patch, &by(who)).await.unwrap();
        let patched: Value = serde_json::from_slice(&written.bytes).unwrap();
        assert_eq!(owners(&patched), owned, "{what}");
        assert_eq!(api.get("configmaps", "default", "c").await.unwrap(), patched, "{what}");
    }
}

/// Notes what it is shown.
#[derive(Debug, Default)]
struct Looking(Mutex<Vec<Value>>);

impl Gate for Looking {
    fn concerns(&self, review: &Review<'_>) -> bool {
        review.operation == Operation::Update
    }

    fn mutate<'a>(
        &'a self,
        review: &'a Review<'a>,
        object: &'a mut Value,
    ) -> BoxFuture<'a, Result<bool, Status>> {
        self.0.lock().extend([object.clone()].into_iter().chain(review.old.cloned()));
        Box::pin(std::future::ready(Ok(false)))
    }

    fn validate<'a>(&'a self, review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        self.0.lock().extend([review.object, review.old].into_iter().flatten().cloned());
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn gates_are_shown_whole_objects() {
    let looking = Arc::new(Looking::default());
    let api = with(Options {
        namespace_worker: false,
        quota_worker: false,
        event_ttl: None,
        gates: vec![looking.clone()],
        ..Options::default()
    })
    .await;
    let mut made = config_map("c");
    made["data"] = json!({"a": "1"});
    api.create("configmaps", "default", made).await.unwrap();
    api.merge("configmaps", "default", "c", json!({"metadata": {"labels": {"l": "1"}}})).await.unwrap();
    let shown = std::mem::take(&mut *looking.0.lock());
    assert_eq!(shown.len(), 4, "the new and the old object, twice");
    for object in shown {
        assert_eq!(owners(&object), json!({"test": {".": {}, "f:a": {}}}));
    }
}
