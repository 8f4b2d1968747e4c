//! The judge sees what is stored, in every way to write.

use std::sync::Arc;

use kedge_kinds::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::testing::{api, config_map, dry, pod, write};
use crate::{Judge, Patch, WriteOptions};

type Seen = Arc<Mutex<Vec<(Option<Value>, Value)>>>;

fn recording(options: WriteOptions) -> (WriteOptions, Seen) {
    let seen = Seen::default();
    let pairs = seen.clone();
    let judge = Judge::new(move |old, new| {
        pairs.lock().push((old.cloned(), new.clone()));
        Ok(())
    });
    (WriteOptions { judge: Some(judge), ..options }, seen)
}

#[tokio::test]
async fn is_asked_about_every_write() {
    let api = api().await;
    let (options, seen) = recording(write());
    let at = api.at("pods", "default", "p");
    let registry = &api.registry;
    registry.create(&api.at("pods", "default", ""), pod("p"), &options).await.unwrap();
    let mut wanted = api.get("pods", "default", "p").await.unwrap();
    wanted["metadata"]["labels"] = json!({"by": "update"});
    registry.update(&at, wanted, &options).await.unwrap();
    let labels = json!({"metadata": {"labels": {"by": "patch"}}});
    registry.patch(&at, Patch::Strategic(labels), &options).await.unwrap();
    let config = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"by": "apply"}}});
    registry.patch(&at, Patch::Apply { config, force: true }, &options).await.unwrap();
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"by": "apply"}}});
    let new = api.at("configmaps", "default", "c");
    registry.patch(&new, Patch::Apply { config, force: false }, &options).await.unwrap();
    let phase = json!({"status": {"phase": "Running"}});
    let status = api.at("pods/status", "default", "p");
    registry.patch(&status, Patch::Merge(phase), &options).await.unwrap();
    let binding = json!({"target": {"kind": "Node", "name": "n"}});
    registry.create(&api.at("pods/binding", "default", "p"), binding, &options).await.unwrap();
    let said: Vec<String> = seen
        .lock()
        .iter()
        .map(|(old, new)| {
            let before = old.as_ref().map_or("nothing", |old| label(old));
            let (phase, node) = (&new["status"]["phase"], &new["spec"]["nodeName"]);
            format!("{before} {} {phase} {node}", label(new))
        })
        .collect();
    assert_eq!(
        said,
        [
            r#"nothing none "Pending" null"#,
            r#"none update "Pending" null"#,
            r#"update patch "Pending" null"#,
            r#"patch apply "Pending" null"#,
            "nothing apply null null",
            r#"apply apply "Running" null"#,
            r#"apply apply "Running" "n""#,
        ]
    );
}

fn label(object: &Value) -> &str {
    object["metadata"]["labels"]["by"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn a_refusal_leaves_nothing_behind() {
    let api = api().await;
    let judge = Judge::new(|_, _| Err(Status::bad_request("no")));
    for options in [write(), dry()] {
        let options = WriteOptions { judge: Some(judge.clone()), ..options };
        let at = api.at("configmaps", "default", "");
        let status = api.registry.create(&at, config_map("a"), &options).await.unwrap_err();
        assert_eq!(status.message, "no");
        assert_eq!(api.get("configmaps", "default", "a").await.unwrap_err().code, 404);
    }
}

/// Each patch alone would leave few enough; only what is stored tells whether they do together.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_the_same_time_are_judged_by_what_they_leave_together() {
    const MOST: usize = 4;
    let api = api().await;
    api.create("configmaps", "default", config_map("a")).await.unwrap();
    let size = |object: &Value| object["data"].as_object().map_or(0, serde_json::Map::len);
    let judge = Judge::new(move |_, new| match size(new) > MOST {
        true => Err(Status::bad_request("too many")),
        false => Ok(()),
    });
    let options = WriteOptions { judge: Some(judge), ..write() };
    let writers: Vec<_> = (0..16)
        .map(|index| {
            let (registry, options) = (api.registry.clone(), options.clone());
            let at = api.at("configmaps", "default", "a");
            let patch = Patch::Merge(json!({"data": {format!("k{index}"): "v"}}));
            tokio::spawn(async move { registry.patch(&at, patch, &options).await.is_ok() })
        })
        .collect();
    let mut allowed = 0;
    for writer in writers {
        allowed += usize::from(writer.await.unwrap());
    }
    assert_eq!(allowed, MOST);
    assert_eq!(size(&api.get("configmaps", "default", "a").await.unwrap()), MOST);
}
