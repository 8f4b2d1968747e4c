//! An event about a Service or an address, from the registry itself. Told once: the same again has the same name.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::registry::Registry;
use crate::request::{At, WriteOptions};
use crate::{metadata, object};

/// Whether an event could be stored never matters.
pub(super) async fn tell(registry: &Registry, about: &Value, component: &str, reason: &str, message: &str) {
    let text = |field| object::meta_text(about, field);
    let namespace = match text("namespace") {
        "" => "default",
        namespace => namespace,
    };
    let mut hasher = DefaultHasher::new();
    (text("uid"), reason, message).hash(&mut hasher);
    let now = metadata::time(registry.clock().now());
    let kind =
        |field: &str, usual: &str| about.get(field).and_then(Value::as_str).unwrap_or(usual).to_owned();
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{:016x}", text("name"), hasher.finish()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": kind("apiVersion", "v1"), "kind": kind("kind", "Service"),
            "namespace": text("namespace"), "name": text("name"), "uid": text("uid"),
        },
        "type": "Warning", "reason": reason, "message": message, "count": 1,
        "source": {"component": component}, "reportingComponent": component,
        "firstTimestamp": now, "lastTimestamp": now,
    });
    let Some(events) = registry.catalog().kind("", "v1", "events").cloned() else { return };
    let at = At { kind: events, namespace: Some(namespace.into()), name: None, subresource: None };
    let options = WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() };
    if let Err(status) = registry.create(&at, event, &options).await {
        tracing::debug!(reason, "an event was lost: {status}");
    }
}
