//! What an update changes, keeps and refuses.

use serde_json::{Value, json};

use crate::testing::{api, config_map, dry, pod, write};
use crate::{DeleteOptions, WriteOptions};

fn with_data(name: &str, data: &str) -> Value {
    let mut object = config_map(name);
    object["data"] = json!({"a": data});
    object
}

#[tokio::test]
async fn revisions_decide_who_was_faster() {
    let api = api().await;
    let first = api.create("configmaps", "default", with_data("c", "1")).await.unwrap();
    let second = api.update("configmaps", "default", with_data("c", "2")).await.unwrap();
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);

    let mut stale = with_data("c", "3");
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"].clone();
    let status = api.update("configmaps", "default", stale.clone()).await.unwrap_err();
    assert_eq!(status.code, 409);
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"c\": the object has been modified; \
         please apply your changes to the latest version and try again"
    );
    stale["metadata"]["resourceVersion"] = second["metadata"]["resourceVersion"].clone();
    assert_eq!(api.update("configmaps", "default", stale.clone()).await.unwrap()["data"]["a"], "3");
    stale["metadata"]["resourceVersion"] = "abc".into();
    let status = api.update("configmaps", "default", stale).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (500, "strconv.ParseUint: parsing \"abc\": invalid syntax"));
}

#[tokio::test]
async fn refuses_what_is_about_another_object() {
    let api = api().await;
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    let mut other = config_map("c");
    other["metadata"]["uid"] = "aaaaaaaa-0000-4000-8000-000000000000".into();
    let status = api.update("configmaps", "default", other).await.unwrap_err();
    assert_eq!(status.code, 409);
    assert!(
        status
            .message
            .contains("Precondition failed: UID in precondition: aaaaaaaa-0000-4000-8000-000000000000")
    );
    let at = api.at("configmaps", "default", "c");
    for (object, message) in [
        (config_map("d"), "the name of the object (d) does not match the name on the URL (c)"),
        (
            json!({"data": {}}),
            "the name of the object (c based on URL) was undeterminable: name must be provided",
        ),
    ] {
        let status = api.registry.update(&at, object, &write()).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (400, message));
    }
    assert_eq!(api.update("configmaps", "default", config_map("absent")).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn the_same_again_writes_nothing() {
    let api = api().await;
    let first = api.create("configmaps", "default", with_data("c", "1")).await.unwrap();
    let before = api.registry.store().revision();
    let again = api.update("configmaps", "default", with_data("c", "1")).await.unwrap();
    assert_eq!(api.registry.store().revision(), before);
    assert_eq!(again, first);
    let at = api.at("configmaps", "default", "c");
    let tried = api.registry.update(&at, with_data("c", "9"), &dry()).await.unwrap();
    assert!(String::from_utf8_lossy(&tried.bytes).contains("\"9\""));
    assert_eq!(api.registry.store().revision(), before);
}

#[tokio::test]
async fn status_and_spec_keep_out_of_each_others_way() {
    let api = api().await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}}},
    });
    let resource = "apps/v1/deployments";
    let mut made = api.create(resource, "default", deployment).await.unwrap();
    assert_eq!(made["metadata"]["generation"], 1);

    made["spec"]["replicas"] = 9.into();
    made["status"] = json!({"replicas": 2, "observedGeneration": 1});
    let by_status = api.update("apps/v1/deployments/status", "default", made.clone()).await.unwrap();
    assert_eq!((&by_status["spec"]["replicas"], &by_status["status"]["replicas"]), (&json!(2), &json!(2)));
    assert_eq!(by_status["metadata"]["generation"], 1);

    let mut again = by_status.clone();
    again["spec"]["replicas"] = 3.into();
    again["status"] = json!({});
    let by_spec = api.update(resource, "default", again).await.unwrap();
    assert_eq!((&by_spec["spec"]["replicas"], &by_spec["status"]["replicas"]), (&json!(3), &json!(2)));
    assert_eq!(by_spec["metadata"]["generation"], 2);
}

#[tokio::test]
async fn some_kinds_are_made_by_an_update() {
    let api = api().await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    let at = api.at("coordination.k8s.io/v1/leases", "default", "l");
    let written = api.registry.update(&at, lease.clone(), &write()).await.unwrap();
    assert!(written.created);
    let status = api.registry.update(&at, lease.clone(), &write()).await.unwrap_err();
    assert_eq!(
        (status.code, status.details.unwrap().causes[0].field.as_str()),
        (422, "metadata.resourceVersion")
    );
    let mut known = lease.clone();
    known["metadata"]["resourceVersion"] = written.revision.to_string().into();
    assert!(!api.registry.update(&at, known, &write()).await.unwrap().created);
    let mut with_uid = lease;
    with_uid["metadata"] = json!({"name": "m", "uid": "x"});
    assert_eq!(api.update("coordination.k8s.io/v1/leases", "default", with_uid).await.unwrap_err().code, 409);
}

#[tokio::test]
async fn a_deleted_object_goes_with_its_last_finalizer() {
    let api = api().await;
    let mut object = config_map("f");
    object["metadata"]["finalizers"] = json!(["example.test/a"]);
    api.create("configmaps", "default", object).await.unwrap();
    let marked = api.delete("configmaps", "default", "f").await.unwrap();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    let changed = api.merge("configmaps", "default", "f", json!({"data": {"a": "b"}})).await.unwrap();
    assert_eq!(changed["data"]["a"], "b");
    let added = json!({"metadata": {"finalizers": ["example.test/a", "example.test/b"]}});
    assert_eq!(api.merge("configmaps", "default", "f", added).await.unwrap_err().code, 422);
    let last =
        api.merge("configmaps", "default", "f", json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert_eq!(last["metadata"].get("finalizers"), None);
    assert_eq!(api.get("configmaps", "default", "f").await.unwrap_err().code, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_without_a_revision_all_get_through() {
    let api = std::sync::Arc::new(api().await);
    api.create("configmaps", "default", config_map("c")).await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let api = api.clone();
            tokio::spawn(async move {
                for turn in 0..10 {
                    let key = format!("w{writer}-{turn}");
                    api.merge("configmaps", "default", "c", json!({"data": {key: "x"}})).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let end = api.get("configmaps", "default", "c").await.unwrap();
    assert_eq!(end["data"].as_object().unwrap().len(), 80);
}

#[tokio::test]
async fn pods_are_marked_by_their_generation() {
    let api = api().await;
    let mut on_node = pod("p");
    on_node["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", on_node).await.unwrap();
    let options = WriteOptions { manager: "kubelet".to_owned(), ..write() };
    let at = api.at("pods/status", "default", "p");
    let patch = crate::Patch::Strategic(json!({"status": {"phase": "Running"}}));
    let written = api.registry.patch(&at, patch, &options).await.unwrap();
    let running: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(
        (&running["status"]["phase"], &running["metadata"]["generation"]),
        (&json!("Running"), &json!(1))
    );
    let gone = api
        .delete_with("pods", "default", "p", DeleteOptions { grace_seconds: Some(5), ..Default::default() })
        .await;
    assert_eq!(gone.unwrap()["metadata"]["generation"], 2);
}
