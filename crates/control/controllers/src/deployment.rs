//! Rolls a Deployment's pods from one template to the next: one ReplicaSet for each template, scaled up and down step by step
//! within what the strategy allows. The pods themselves are the ReplicaSets' business.

mod annotations;
mod history;
mod rolling;
mod scaling;
mod sets;
mod status;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World, of_root};
use kube::ResourceExt;
use kube::core::SelectorExt;

use self::sets::Sets;
use kedge_children::claim::{self, claim};
use kedge_children::pods::PodFacts;

pub struct Deployments;

impl Controller for Deployments {
    type Root = Deployment;
    const NAME: &'static str = "deployment-controller";

    fn watch(&self, world: &World) {
        world.watch::<ReplicaSet>().watch::<Pod>();
    }

    /// Its sets' changes, those of sets that belong to nobody, and a pod's end, for which `Recreate` waits.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Pod>() {
            let over = seen.now::<Pod>().is_none_or(|pod| !pod.is_active());
            return if over { deployment_of_pod(seen, world) } else { Vec::new() };
        }
        let mut keys = of_root::<Deployment>(seen);
        if let Some(set) = seen.now::<ReplicaSet>().filter(|set| claim::controller(*set).is_none()) {
            let labels = set.metadata.labels.clone().unwrap_or_default();
            let all = world.cache::<Deployment>().map(|all| all.in_namespace(&seen.key.namespace));
            let matching = all
                .into_iter()
                .flatten()
                .filter(|one| claim::selecting(sets::selector(one)).matches(&labels));
            keys.extend(matching.map(|one| Key::of(&*one)));
        }
        keys
    }

    fn plan(&self, deployment: &Deployment, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let selector = sets::selector(deployment);
        let known = world.cache::<ReplicaSet>()?;
        let candidates = claim::candidates(deployment, selector, &known);
        let claim = claim(deployment, &claim::selecting(selector), candidates);
        let plan = Plan::from(claim.actions);
        let sets = Sets::of(deployment, claim.mine);
        if deployment.metadata.deletion_timestamp.is_some() {
            return Ok(plan.then(status::counted(deployment, &sets)));
        }
        let step = if is_paused(deployment) || scaling::is_due(deployment, &sets) {
            scaling::plan(deployment, &sets, now)
        } else if is_recreated(deployment) {
            let running = old_pods_run(&sets, world)?;
            rolling::recreate(deployment, &sets, running, world, now)?
        } else {
            rolling::roll(deployment, &sets, world, now)?
        };
        Ok(Plan { look_again: step.look_again, ..plan.then(step.actions) })
    }

    fn refused(&self, deployment: &Deployment, refusals: &[Refusal], now: Timestamp) -> Vec<Action> {
        let Some(refusal) = refusals.iter().find(|refusal| refusal.action.is_creation()) else {
            return Vec::new();
        };
        let message = format!("Failed to create new replica set: {}", refusal.message);
        let told = Action::tell(deployment, Severity::Warning, "ReplicaSetCreateError", message.clone());
        status::failed_to_create(deployment, &message, now).into_iter().chain([told]).collect()
    }
}

fn deployment_of_pod(seen: &Seen<'_>, world: &World) -> Vec<Key> {
    let sets = seen.controllers().filter(|owner| owner.kind == "ReplicaSet");
    let keys = sets.filter_map(|owner| {
        let key = Key::new(seen.key.namespace.clone(), owner.name.clone());
        let set = world.get::<ReplicaSet>(&key).ok()??;
        let deployment = claim::controller(&*set).filter(|owner| owner.kind == "Deployment")?;
        Some(Key::new(seen.key.namespace.clone(), deployment.name.clone()))
    });
    keys.collect()
}

fn is_paused(deployment: &Deployment) -> bool {
    deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false)
}

fn is_recreated(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref()?.type_.as_deref());
    strategy == Some("Recreate")
}

/// Whether pods of another template than the newest have not ended yet.
fn old_pods_run(sets: &Sets, world: &World) -> Result<bool, NotReady> {
    let pods = world.cache::<Pod>()?;
    let of = |set: &Arc<ReplicaSet>| pods.owned_by(&set.uid().unwrap_or_default());
    let running = |pod: &Arc<Pod>| !matches!(pod.phase(), "Succeeded" | "Failed");
    Ok(sets.old.iter().flat_map(of).any(|pod| running(&pod)))
}

#[cfg(test)]
mod tests;
