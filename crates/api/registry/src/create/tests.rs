//! What a creation stores and what it refuses.

use serde_json::{Value, json};

use crate::testing::{NOON, api, config_map, dry, pod, strictly, write};
use crate::{Patch, WriteOptions};

#[tokio::test]
async fn fills_in_the_metadata() {
    let api = api().await;
    let made = api.create("configmaps", "default", config_map("a")).await.unwrap();
    let metadata = &made["metadata"];
    assert_eq!(metadata["creationTimestamp"], NOON);
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    let revision: u64 = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert_eq!(revision, api.registry.store().revision().get());
    assert_eq!(api.get("configmaps", "default", "a").await.unwrap(), made);
}

#[tokio::test]
async fn refuses_what_does_not_fit_the_path() {
    let api = api().await;
    let in_other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}});
    for (case, object, code, message) in [
        (
            "another namespace",
            in_other,
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            "another kind",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
            400,
            "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            "an unknown version",
            json!({"apiVersion": "v9", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            400,
            "ConfigMap in version \"v9\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v9\"",
        ),
        (
            "no name",
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            422,
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            "a revision",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "5"}}),
            500,
            "resourceVersion should not be set on objects to be created",
        ),
    ] {
        let status = api.create("configmaps", "default", object).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (code, message), "{case}");
    }
    let status = api.create("configmaps", "absent", config_map("a")).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (404, "namespaces \"absent\" not found"));
}

#[tokio::test]
async fn names_are_generated_and_never_clash() {
    let api = api().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}});
    let mut names = Vec::new();
    for _ in 0..50 {
        let made = api.create("configmaps", "default", object.clone()).await.unwrap();
        names.push(made["metadata"]["name"].as_str().unwrap().to_owned());
    }
    assert!(names.iter().all(|name| name.len() == 9 && name.starts_with("gen-")), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 50);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let api = api().await;
    api.create("configmaps", "default", config_map("a")).await.unwrap();
    let status = api.create("configmaps", "default", config_map("a")).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (409, "configmaps \"a\" already exists"));
}

#[tokio::test]
async fn unknown_fields_are_refused_or_told() {
    let api = api().await;
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "dada": 1, "metadata": {"name": "a", "lables": {}}});
    let at = api.at("configmaps", "default", "");
    let status = api.registry.create(&at, object.clone(), &strictly()).await.unwrap_err();
    assert_eq!(
        status.message,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
         unknown field \"dada\", unknown field \"metadata.lables\""
    );
    let sent = r#"{"dada": 1, "data": {"x": "", "x": ""}, "metadata": {"name": "a", "lables": {}}}"#;
    let options = WriteOptions {
        duplicates: vec!["duplicate field \"data.x\"".to_owned()],
        body: Some(bytes::Bytes::from_static(sent.as_bytes())),
        ..write()
    };
    let written = api.registry.create(&at, object, &options).await.unwrap();
    assert_eq!(
        written.warnings,
        ["unknown field \"dada\"", "duplicate field \"data.x\"", "unknown field \"metadata.lables\""]
    );
    let stored: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(stored.get("dada"), None);
}

#[tokio::test]
async fn a_trial_stores_nothing() {
    let api = api().await;
    let before = api.registry.store().revision();
    let written =
        api.registry.create(&api.at("configmaps", "default", ""), config_map("a"), &dry()).await.unwrap();
    let made: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(made["metadata"]["name"], "a");
    assert_eq!(made["metadata"].get("resourceVersion"), None);
    assert_eq!(api.registry.store().revision(), before);
    assert_eq!(api.get("configmaps", "default", "a").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn a_sent_status_is_dropped_and_the_generation_counts() {
    let api = api().await;
    let mut object = pod("p");
    object["status"] = json!({"phase": "Running"});
    object["metadata"]["generation"] = 7.into();
    object["metadata"]["deletionTimestamp"] = NOON.into();
    let made = api.create("pods", "default", object).await.unwrap();
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["metadata"].get("deletionTimestamp"), None);
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "test");
}

#[tokio::test]
async fn one_kind_is_served_in_two_versions() {
    let api = api().await;
    let hpa = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        },
    });
    let resource = "autoscaling/v1/horizontalpodautoscalers";
    let made = api.create(resource, "default", hpa).await.unwrap();
    assert_eq!(made["apiVersion"], "autoscaling/v1");
    assert_eq!(made["spec"]["targetCPUUtilizationPercentage"], 50);
    let newer = api.get("autoscaling/v2/horizontalpodautoscalers", "default", "h").await.unwrap();
    assert_eq!(newer["apiVersion"], "autoscaling/v2");
    assert_eq!(newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(newer["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let at = api.at(resource, "default", "h");
    let patch = Patch::Merge(json!({"spec": {"targetCPUUtilizationPercentage": 60}}));
    let written = api.registry.patch(&at, patch, &write()).await.unwrap();
    let patched: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(patched["spec"]["targetCPUUtilizationPercentage"], 60);

    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "note": "hello",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Because", "type": "Normal",
        "eventTime": "2026-01-01T12:00:00.000000Z", "action": "Doing", "reportingController": "test/c",
        "reportingInstance": "i",
    });
    api.create("events.k8s.io/v1/events", "default", event).await.unwrap();
    let core = api.get("events", "default", "e").await.unwrap();
    assert_eq!((&core["message"], &core["involvedObject"]["name"]), (&json!("hello"), &json!("p")));
}

#[tokio::test]
async fn two_writers_of_one_name_are_told_apart() {
    let api = api().await;
    let tries = (0..8).map(|_| api.create("configmaps", "default", config_map("same")));
    let mut made = 0;
    for attempt in tries {
        made += usize::from(attempt.await.is_ok());
    }
    assert_eq!(made, 1);
}
