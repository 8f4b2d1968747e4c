//! `eviction`: a deletion that asks the pod's disruption budgets first.

use kedge_kinds::selector::LabelSelector;
use kedge_kinds::{Cause, Details, Kind, Meta, Reason, Status};
use kedge_store::{Draft, Expect, StoreError, Txn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admission::node_restriction;
use crate::create::ATTEMPTS;
use crate::encode::{self, encode};
use crate::registry::{Registry, Written, parse};
use crate::request::{At, DeleteOptions, Propagation, WriteOptions};
use crate::update::Live;
use crate::{failure, key, metadata, object};

/// How many pods a budget may have promised to lose and not yet seen go.
const DISRUPTED_MAX: usize = 2000;

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
    let live = registry.live(&pod_at).await?.ok_or_else(|| Status::not_found(&at.kind, name))?;
    node_restriction::evict(&at.kind, name, &live.object, &options.user)?;
    if !is_free(&live.object) {
        spend(registry, at, &live, options).await?;
    }
    let deleted = registry.remove(&pod_at, &delete, options, false).await?;
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Written {
        bytes: encode::plain(&success),
        revision: deleted.revision,
        created: true,
        warnings: Vec::new(),
    })
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

/// Takes one disruption off the pod's budget, or says why that can't be.
async fn spend(registry: &Registry, at: &At, pod: &Live, options: &WriteOptions) -> Result<(), Status> {
    let catalog = registry.catalog();
    let kind = catalog.kind("policy", "v1", "poddisruptionbudgets");
    let kind = kind.ok_or_else(|| Status::internal("disruption budgets are not served"))?;
    for _ in 0..ATTEMPTS {
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let prefix = key::prefix(kind, at.namespace.as_deref());
        let mut found = Vec::new();
        for (key, entry) in snapshot.range(&prefix, None) {
            let budget = parse(entry)?;
            if selects(&budget, &pod.object) {
                found.push((key.clone(), entry.modified(), budget));
            }
        }
        let (key, revision, mut budget) = match found.len() {
            0 => return Ok(()),
            1 => found.remove(0),
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, Reason::InternalError, message));
            }
        };
        if spares_unhealthy(&budget) && !is_ready(&pod.object) {
            return Ok(());
        }
        let name = object::meta_text(&pod.object, "name");
        allow(kind, &mut budget, name, &metadata::time(registry.clock().now()))?;
        if options.dry_run {
            return Ok(());
        }
        let encoded = encode(&budget);
        let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
        match registry.store().commit(Txn::new().put(&key, Expect::At(revision), draft)).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Conflict { key, found, .. }) => {
                registry.settle(key.as_str(), snapshot.revision(), found).await;
            }
            Err(error) => return Err(failure::status(error)),
        }
    }
    Err(Status::too_many_requests("Cannot evict pod as its disruption budget is changing.", 1))
}

fn selects(budget: &Value, pod: &Value) -> bool {
    let selector = LabelSelector::of_object(object::at(budget, &["spec", "selector"]));
    selector.is_ok_and(|selector| selector.matches_object(pod))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = object::at(pod, &["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn spares_unhealthy(budget: &Value) -> bool {
    object::text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow"
}

fn allow(kind: &Kind, budget: &mut Value, pod: &str, now: &str) -> Result<(), Status> {
    let name = object::meta_text(budget, "name").to_owned();
    let number = |field: &str| object::at(budget, &["status", field]).and_then(Value::as_i64).unwrap_or(0);
    let refuse = |retry: Option<u32>, said: String| {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Status::new(429, Reason::TooManyRequests, message).with(Details {
            causes: vec![Cause {
                reason: "DisruptionBudget".to_owned(),
                message: said,
                field: String::new(),
            }],
            retry_after_seconds: retry,
            ..Details::default()
        })
    };
    let generation = object::meta(budget, "generation").and_then(Value::as_i64).unwrap_or(0);
    if number("observedGeneration") < generation {
        return Err(refuse(
            Some(10),
            format!("The disruption budget {name} is still being processed by the server."),
        ));
    }
    let allowed = number("disruptionsAllowed");
    if allowed < 0 {
        return Err(Status::forbidden(kind, &name, "pdb disruptions allowed is negative"));
    }
    let disrupted = object::at(budget, &["status", "disruptedPods"])
        .and_then(Value::as_object)
        .map_or(0, |all| all.len());
    if disrupted > DISRUPTED_MAX {
        return Err(Status::forbidden(
            kind,
            &name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        let said = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            number("desiredHealthy"),
            number("currentHealthy")
        );
        return Err(refuse(None, said));
    }
    let status = object::map_mut(budget, "status");
    status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
    let pods = status.entry("disruptedPods").or_insert_with(|| json!({}));
    object::as_map(pods).insert(pod.to_owned(), now.into());
    Ok(())
}
