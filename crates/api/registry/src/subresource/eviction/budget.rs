//! What a pod's disruption budget says to its eviction, and what that costs the budget.

use kedge_kinds::selector::LabelSelector;
use kedge_kinds::{Cause, Details, Kind, Reason, Status};
use kedge_store::{Draft, Expect, StoreError, Txn};
use serde_json::{Value, json};

use crate::create::ATTEMPTS;
use crate::encode::encode;
use crate::registry::{Registry, parse};
use crate::request::{At, WriteOptions};
use crate::update::Live;
use crate::{failure, key, metadata, object};

/// How many pods a budget may have promised to lose and not yet seen go.
const DISRUPTED_MAX: usize = 2000;
const ALLOWED: &str = "DisruptionAllowed";

pub(super) enum Spent {
    /// There is nothing to spend, or it is spent.
    Yes,
    /// The pod isn't healthy and so not one that this budget counts. It stays spared for as long as that is so.
    NotFor(String),
}

/// Takes one disruption off the pod's budget, or says why that can't be.
pub(super) async fn spend(
    registry: &Registry,
    at: &At,
    pod: &Live,
    options: &WriteOptions,
) -> Result<Spent, Status> {
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
            0 => return Ok(Spent::Yes),
            1 => found.remove(0),
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, Reason::Unknown, message));
            }
        };
        if !is_ready(&pod.object) && spares_unhealthy(&budget) {
            return Ok(Spent::NotFor(object::meta_text(&budget, "name").to_owned()));
        }
        let name = object::meta_text(&pod.object, "name");
        allow(kind, &mut budget, name, &metadata::time(registry.clock().now()))?;
        if options.dry_run {
            return Ok(Spent::Yes);
        }
        let encoded = encode(&budget);
        let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
        match registry.store().commit(Txn::new().put(&key, Expect::At(revision), draft)).await {
            Ok(_) => return Ok(Spent::Yes),
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

/// Whether an unhealthy pod may go without the budget's being asked: always, or while nothing is missing.
fn spares_unhealthy(budget: &Value) -> bool {
    let (healthy, wanted) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    object::text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow"
        || (healthy >= wanted && wanted > 0)
}

fn count(budget: &Value, field: &str) -> i64 {
    object::at(budget, &["status", field]).and_then(Value::as_i64).unwrap_or(0)
}

pub(super) fn still_processed(budget: &str) -> Status {
    refuse(Some(10), format!("The disruption budget {budget} is still being processed by the server."))
}

fn refuse(retry: Option<u32>, said: String) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::new(429, Reason::TooManyRequests, message).with(Details {
        causes: vec![Cause { reason: "DisruptionBudget".to_owned(), message: said, field: String::new() }],
        retry_after_seconds: retry,
        ..Details::default()
    })
}

fn allow(kind: &Kind, budget: &mut Value, pod: &str, now: &str) -> Result<(), Status> {
    let name = object::meta_text(budget, "name").to_owned();
    let generation = object::meta(budget, "generation").and_then(Value::as_i64).unwrap_or(0);
    if count(budget, "observedGeneration") < generation {
        return Err(still_processed(&name));
    }
    let allowed = count(budget, "disruptionsAllowed");
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
        return Err(refuse(None, why_not(budget, &name)));
    }
    let status = object::map_mut(budget, "status");
    status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
    let pods = status.entry("disruptedPods").or_insert_with(|| json!({}));
    object::as_map(pods).insert(pod.to_owned(), now.into());
    if allowed == 1 {
        close(budget, now);
    }
    Ok(())
}

fn why_not(budget: &Value, name: &str) -> String {
    let (healthy, wanted) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    let conditions = object::at(budget, &["status", "conditions"]).and_then(Value::as_array);
    let condition = conditions.into_iter().flatten().find(|one| one["type"] == ALLOWED);
    let said = |field: &str| condition.map_or("", |one| object::text(one, &[field]));
    let is_said = said("status") == "False" && !said("message").is_empty();
    // What was counted last is not to be trusted where counting has failed since.
    if is_said && said("reason") == "SyncFailed" {
        let cause = said("message");
        return format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {cause}"
        );
    }
    if healthy <= wanted {
        return format!(
            "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        );
    }
    let nothing = format!("The disruption budget {name} does not allow evicting pods currently");
    if is_said { format!("{nothing} ({}): {}", said("reason"), said("message")) } else { nothing }
}

/// The last disruption is spent, and the budget says so.
fn close(budget: &mut Value, now: &str) {
    let observed = count(budget, "observedGeneration");
    let conditions = object::map_mut(budget, "status").entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    let old = conditions.iter().find(|one| one["type"] == ALLOWED && one["status"] == "False");
    let since = old.and_then(|one| one["lastTransitionTime"].as_str()).unwrap_or(now).to_owned();
    let condition = json!({
        "type": ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": observed, "lastTransitionTime": since,
    });
    match conditions.iter_mut().find(|one| one["type"] == ALLOWED) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
