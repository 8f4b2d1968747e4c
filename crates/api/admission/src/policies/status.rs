//! Writes into the status of each validating policy what the look at its expressions found. Runs beside the server; a policy
//! is in force whether it was looked at or not.

use std::sync::Arc;

use kedge_kinds::Meta;
use kedge_registry::{At, Patch, Registry, User, WriteOptions};
use kedge_store::Change;
use serde_json::{Value, json};

use super::typecheck::warnings;

const MANAGER: &str = "validatingadmissionpolicy-status-controller";
const PREFIX: &str = "/registry/validatingadmissionpolicies/";

/// Until the store is closed.
pub async fn keep_checked(registry: Registry) {
    loop {
        let snapshot = registry.store().snapshot();
        for (_, entry) in snapshot.range(PREFIX, None) {
            look(&registry, entry.bytes()).await;
        }
        // A closed store refuses watches: then there is nothing more to look at.
        let Ok(mut watch) = registry.store().watch(PREFIX, snapshot.revision()) else { return };
        while let Ok(event) = watch.next().await {
            if let Change::Put { now, .. } = &event.change {
                look(&registry, now.bytes()).await;
            }
        }
    }
}

async fn look(registry: &Registry, bytes: &[u8]) {
    let Ok(policy) = serde_json::from_slice::<Value>(bytes) else { return };
    let meta = Meta::of(&policy);
    let observed = policy.pointer("/status/observedGeneration").and_then(Value::as_i64).unwrap_or(0);
    if meta.generation() <= observed || meta.is_leaving() {
        return;
    }
    let catalog = registry.catalog();
    let Some(kind) = catalog.kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies") else {
        return;
    };
    let found = warnings(&policy, &catalog);
    let mut checked = json!({});
    if !found.is_empty() {
        checked["expressionWarnings"] = found.into();
    }
    let config = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": meta.name()},
        "status": {"observedGeneration": meta.generation(), "typeChecking": checked},
    });
    let at = At {
        kind: kind.clone(),
        namespace: None,
        name: Some(meta.name().into()),
        subresource: Some(Arc::from("status")),
    };
    let options = WriteOptions {
        manager: MANAGER.to_owned(),
        user: User { name: "system:kube-controller-manager".to_owned(), ..User::default() },
        ..WriteOptions::default()
    };
    // Whoever wrote in between made a new event, so it is looked at again.
    if let Err(status) = registry.patch(&at, Patch::Apply { config, force: true }, &options).await {
        tracing::debug!("the status of policy {} was not written: {}", meta.name(), status.message);
    }
}
