//! `eviction`: a deletion that asks the pod's disruption budgets first.

mod budget;

use kedge_kinds::{Meta, Status};
use kedge_store::{Draft, Expect, Revision, StoreError, Txn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admission::node_restriction;
use crate::create::ATTEMPTS;
use crate::encode::{self, encode};
use crate::registry::{Registry, Written};
use crate::request::{At, DeleteOptions, Propagation, WriteOptions};
use crate::{failure, metadata, object};

use self::budget::Spent;

pub(crate) async fn create(
    registry: &Registry,
    at: &At,
    mut eviction: Value,
    options: &WriteOptions,
) -> Result<Written, Status> {
    let name = at.name.as_deref().unwrap_or_default();
    let sent = object::meta_text(&eviction, "name");
    if !sent.is_empty() && sent != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    if let Some(namespace) = at.namespace.as_deref() {
        object::set_meta(&mut eviction, "namespace", namespace);
    }
    registry.admit_sent(at, &mut eviction, options).await?;
    let (delete, tried) = asked(&eviction)?;
    let options = &WriteOptions { dry_run: options.dry_run || tried, ..options.clone() };
    let pod_at = At { subresource: None, ..at.clone() };
    let revision = evict(registry, &pod_at, delete, options).await?;
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Written { bytes: encode::plain(&success), revision, created: true, warnings: Vec::new() })
}

/// Deletes a pod if its budget can do without it. A pod that disturbs no budget must still be the one that was judged when
/// it goes: it may become ready at any moment.
async fn evict(
    registry: &Registry,
    at: &At,
    asked: DeleteOptions,
    options: &WriteOptions,
) -> Result<Revision, Status> {
    let name = at.name.as_deref().unwrap_or_default();
    for _ in 0..ATTEMPTS {
        let live = registry.live(at).await?.ok_or_else(|| Status::not_found(&at.kind, name))?;
        node_restriction::evict(&at.kind, name, &live.object, &options.user)?;
        registry.expected(at, &live, &asked)?;
        let judged = || Some(live.entry.modified().to_string());
        let mut delete = asked.clone();
        if is_free(&live.object) {
            if delete.resource_version.is_none() && is_waiting(&live.object) {
                delete.resource_version = judged();
            }
            match mark_and_delete(registry, at, &delete, options).await {
                Err(status) if status.code == 409 && asked.resource_version.is_none() => {}
                done => return done,
            }
            continue;
        }
        let spared = match budget::spend(registry, at, &live, options).await? {
            Spent::Yes => return mark_and_delete(registry, at, &delete, options).await,
            Spent::NotFor(budget) => budget,
        };
        delete.resource_version = judged();
        return match mark_and_delete(registry, at, &delete, options).await {
            Err(status) if status.code == 409 && asked.resource_version.is_none() => {
                Err(budget::still_processed(&spared))
            }
            done => done,
        };
    }
    Err(Status::conflict(&at.kind, name, failure::MODIFIED))
}

/// A pod says why it goes before it does.
async fn mark_and_delete(
    registry: &Registry,
    at: &At,
    delete: &DeleteOptions,
    options: &WriteOptions,
) -> Result<Revision, Status> {
    let mut delete = delete.clone();
    if !options.dry_run {
        let marked = mark(registry, at, &delete).await?;
        if delete.resource_version.is_some() {
            delete.resource_version = Some(marked.to_string());
        }
    }
    Ok(registry.remove(at, &delete, options, false).await?.revision)
}

async fn mark(registry: &Registry, at: &At, delete: &DeleteOptions) -> Result<Revision, Status> {
    let name = at.name.as_deref().unwrap_or_default();
    for _ in 0..ATTEMPTS {
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let live = registry.live_in(&snapshot, at).await?.ok_or_else(|| Status::not_found(&at.kind, name))?;
        registry.expected(at, &live, delete)?;
        let mut pod = live.object.clone();
        announce(&mut pod, &metadata::time(registry.clock().now()));
        if pod == live.object {
            return Ok(live.entry.modified());
        }
        let encoded = encode(&pod);
        let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
        let expect = Expect::At(live.entry.modified());
        match registry.store().commit(Txn::new().put(live.key.as_str(), expect, draft)).await {
            Ok(done) => return Ok(done.revision),
            Err(StoreError::Conflict { key, found, .. }) => {
                registry.settle(key.as_str(), snapshot.revision(), found).await;
            }
            Err(error) => return Err(failure::status(error)),
        }
    }
    Err(Status::conflict(&at.kind, name, failure::MODIFIED))
}

/// The condition by which a pod's owner tells a disruption from a failure.
fn announce(pod: &mut Value, now: &str) {
    const TYPE: &str = "DisruptionTarget";
    let conditions = object::map_mut(pod, "status").entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    let old = conditions.iter().find(|one| one["type"] == TYPE && one["status"] == "True");
    let since = old.and_then(|one| one["lastTransitionTime"].as_str()).unwrap_or(now).to_owned();
    let condition = json!({
        "type": TYPE, "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        "lastProbeTime": null, "lastTransitionTime": since,
    });
    match conditions.iter_mut().find(|one| one["type"] == TYPE) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

/// The part of an Eviction that says how to delete. A precondition that can't be read must not be taken for none.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    preconditions: Option<Preconditions>,
    dry_run: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

fn asked(eviction: &Value) -> Result<(DeleteOptions, bool), Status> {
    let asked = eviction.get("deleteOptions").filter(|options| !options.is_null());
    let asked = asked.map(Asked::deserialize).transpose().map_err(|error| {
        Status::bad_request(format!("Eviction in version \"v1\" cannot be handled as a Eviction: {error}"))
    })?;
    let Asked { grace_period_seconds, propagation_policy, preconditions, dry_run } =
        asked.unwrap_or_default();
    let Preconditions { uid, resource_version } = preconditions.unwrap_or_default();
    let delete = DeleteOptions {
        collection: false,
        grace_seconds: grace_period_seconds,
        propagation: match propagation_policy.as_deref() {
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            _ => None,
        },
        uid: uid.filter(|uid| !uid.is_empty()),
        resource_version: resource_version.filter(|version| !version.is_empty()),
    };
    Ok((delete, dry_run.is_some_and(|all| !all.is_empty())))
}

/// A pod that has ended, has not begun or is going anyway disturbs no budget.
fn is_free(pod: &Value) -> bool {
    Meta::of(pod).is_leaving()
        || matches!(object::text(pod, &["status", "phase"]), "Succeeded" | "Failed" | "Pending")
}

/// It has not ended and nobody has told it to go, so it may yet become ready.
fn is_waiting(pod: &Value) -> bool {
    !Meta::of(pod).is_leaving() && object::text(pod, &["status", "phase"]) == "Pending"
}

#[cfg(test)]
mod tests;
