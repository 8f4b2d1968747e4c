//! The end of a definition: first its objects go, their finalizers honoured, then the definition itself.

use std::sync::Arc;

use jiff::Timestamp;
use kedge_kinds::{GroupVersion, Kind, Meta, Status, Subresource, builtin};
use kedge_store::Snapshot;
use serde_json::Value;

use super::{establish, worker};
use crate::registry::{Registry, parse};
use crate::request::{At, DeleteOptions, Propagation, WriteOptions};
use crate::{failure, key, metadata, object, selection};

const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a definition that is to go: it stays until its objects are gone.
pub(crate) fn mark(definition: &mut Value, now: Timestamp) {
    let now = metadata::time(now);
    object::set_meta(definition, "deletionTimestamp", now.clone());
    let mut finalizers: Vec<String> = Meta::of(definition).finalizers().map(str::to_owned).collect();
    if !finalizers.iter().any(|name| name == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
    }
    object::set_meta(definition, "finalizers", finalizers);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    object::map_mut(definition, "status");
    if let Some(status) = definition.get_mut("status") {
        establish::set(status, "Terminating", true, "InstanceDeletionPending", message, &now);
    }
}

/// Whether a definition that is being deleted still waits for this.
pub(super) fn is_asked(definition: &Value) -> bool {
    Meta::of(definition).is_leaving() && Meta::of(definition).finalizers().any(|name| name == FINALIZER)
}

/// Removes everything that the definition with this uid defined, waits until it is gone, and lets the definition go.
pub(super) async fn run(registry: &Registry, name: &Arc<str>, uid: &str) -> Result<(), Status> {
    let snapshot = registry.store().snapshot();
    let entry = snapshot.get(&key::object(super::kind()?, None, name));
    let Some(entry) = entry else { return Ok(()) };
    let definition = parse(entry)?;
    if object::meta_text(&definition, "uid") != uid || !is_asked(&definition) {
        return Ok(());
    }
    terminating(
        registry,
        name,
        uid,
        true,
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    )
    .await?;
    let kind = Arc::new(stored_kind(&definition));
    let (reason, message) = if builtin().kinds.iter().any(|own| own.prefix == kind.prefix) {
        ("OverlappingBuiltInResource", "instances overlap with built-in resources in storage")
    } else if establish::is_true(&definition["status"], "Established") {
        if let Err(status) = empty(registry, &kind).await {
            let message = format!("could not issue all deletes: {}", status.message);
            terminating(registry, name, uid, true, "InstanceDeletionFailed", &message).await?;
            return Err(status);
        }
        ("InstanceDeletionCompleted", "removed all instances")
    } else {
        ("NeverEstablished", "resource was never established")
    };
    terminating(registry, name, uid, false, reason, message).await
}

/// Sets the condition; one that no longer holds takes the finalizer with it.
async fn terminating(
    registry: &Registry,
    name: &Arc<str>,
    uid: &str,
    holds: bool,
    reason: &str,
    message: &str,
) -> Result<(), Status> {
    let now = metadata::time(registry.clock().now());
    worker::write(registry, name, |definition| {
        if object::meta_text(definition, "uid") != uid {
            return Err(Status::not_found(super::kind()?, name));
        }
        if let Some(status) = definition.get_mut("status") {
            establish::set(status, "Terminating", holds, reason, message, &now);
        }
        if !holds {
            let rest: Vec<String> = Meta::of(definition)
                .finalizers()
                .filter(|name| *name != FINALIZER)
                .map(str::to_owned)
                .collect();
            object::set_meta(definition, "finalizers", rest);
            if Meta::of(definition).finalizers().next().is_none() {
                object::meta_mut(definition).remove("finalizers");
            }
        }
        Ok(())
    })
    .await
}

/// Deletes every object and waits for the last of them.
async fn empty(registry: &Registry, kind: &Arc<Kind>) -> Result<(), Status> {
    let prefix = key::prefix(kind, None);
    loop {
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let mut changes = registry.store().watch(&prefix, snapshot.revision()).map_err(failure::status)?;
        if snapshot.range(&prefix, None).next().is_none() {
            return Ok(());
        }
        let options = WriteOptions { manager: "kube-apiserver".to_owned(), ..WriteOptions::default() };
        registry.delete_each(targets(kind, &prefix, &snapshot)?, &options).await?;
        // Who leaves in the meantime was seen by the watch, which began before.
        if registry.store().snapshot().range(&prefix, None).next().is_none() {
            return Ok(());
        }
        // Every change may be the one that lets the last object go.
        if let Err(kedge_store::WatchEnd::Stopped) = changes.next().await {
            return Err(Status::internal("the store has ended"));
        }
    }
}

fn targets(kind: &Arc<Kind>, prefix: &str, snapshot: &Snapshot) -> Result<Vec<(At, DeleteOptions)>, Status> {
    let mut targets = Vec::new();
    for (key, entry) in snapshot.range(prefix, None) {
        if selection::is_deleting(kind, entry) {
            continue;
        }
        let (namespace, name) = key::parts(kind, key.as_str());
        let at = At {
            kind: kind.clone(),
            namespace: namespace.map(Into::into),
            name: Some(name.into()),
            subresource: None,
        };
        let uid = Some(Meta::of(&parse(entry)?).uid().to_owned());
        let propagation = Some(Propagation::Background);
        targets.push((at, DeleteOptions { uid, propagation, ..DeleteOptions::default() }));
    }
    Ok(targets)
}

/// The kind as it is stored, without any rules: what is to go need not be right any more.
fn stored_kind(definition: &Value) -> Kind {
    let text = |path: &[&str]| -> Arc<str> { object::text(definition, path).into() };
    let group = text(&["spec", "group"]);
    let plural = text(&["spec", "names", "plural"]);
    let versions = object::at(definition, &["spec", "versions"]).and_then(Value::as_array);
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool).unwrap_or(false);
    let stored = versions.and_then(|all| all.iter().find(is_stored));
    let version = stored.map(|version| object::text(version, &["name"])).unwrap_or_default();
    let gv = GroupVersion { group: group.clone(), version: version.into() };
    let words = |list: &[&str]| list.iter().map(|word| Arc::from(*word)).collect::<Vec<Arc<str>>>();
    let status = Subresource { name: "status".into(), verbs: words(&["get"]), speaks: None };
    Kind {
        stored_as: gv.clone(),
        gv,
        kind: text(&["spec", "names", "kind"]),
        list_kind: text(&["spec", "names", "listKind"]),
        singular: text(&["spec", "names", "singular"]),
        prefix: format!("{group}/{plural}").into(),
        plural,
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: object::text(definition, &["spec", "scope"]) == "Namespaced",
        verbs: words(&["get", "list", "delete"]),
        subresources: vec![status],
        schemas: Arc::default(),
        schema: kedge_kinds::schema::TypeId(0),
        rules: None,
    }
}
