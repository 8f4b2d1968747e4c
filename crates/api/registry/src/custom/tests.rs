//! Definitions and their objects, through a whole registry with its worker.

mod lives;
mod objects;
mod versions;

use std::time::Duration;

use kedge_kinds::Status;
use serde_json::{Value, json};

use crate::Options;
use crate::testing::{self, Api};

pub(super) const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const WIDGETS: &str = "example.com/v1/widgets";

/// An API that serves what is defined and leaves namespaces alone.
pub(super) async fn api() -> Api {
    testing::with(Options { namespace_worker: false, ..Options::default() }).await
}

pub(super) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["colour"], "properties": {
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "replicas": {"type": "integer", "default": 3, "maximum": 10},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"],
                    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}},
        }},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
    }})
}

pub(super) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["toys"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema()},
                "selectableFields": [{"jsonPath": ".spec.colour"}],
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
            }],
        },
    })
}

pub(super) fn widget(name: &str, colour: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"colour": colour}})
}

/// Waits, without sleeping, until something about the API is true.
pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(10), wait).await.is_err() {
        panic!("still not so: {what}");
    }
}

/// The conditions of a definition, as `Type=Status Reason`.
pub(super) async fn conditions(api: &Api, name: &str) -> String {
    let Ok(found) = api.get(DEFINITIONS, "", name).await else { return "gone".to_owned() };
    let all = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let one = |condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        format!("{}={} {}", text("type"), text("status"), text("reason"))
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Creates a definition and waits until it is served.
pub(super) async fn define(api: &Api, definition: Value) -> Result<(), Status> {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    api.create(DEFINITIONS, "", definition).await?;
    until("established", async || conditions(api, &name).await.contains("Established=True")).await;
    Ok(())
}
