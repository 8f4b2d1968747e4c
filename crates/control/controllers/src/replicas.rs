//! Keeps as many pods alive as a ReplicaSet or a ReplicationController asks for. Both are one idea with two spellings.

mod spelling;
mod status;
mod worth;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World, of_root};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use kedge_children::claim::{self, claim};
use kedge_children::names;
use kedge_children::pods::{self, PodFacts};
use spelling::Replicated;

pub struct ReplicaSets;
pub struct ReplicationControllers;

impl Controller for ReplicaSets {
    type Root = ReplicaSet;
    const NAME: &'static str = "replicaset-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        wakes::<ReplicaSet>(seen, world)
    }

    fn plan(&self, set: &ReplicaSet, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        plan(set, world, now)
    }

    fn refused(&self, set: &ReplicaSet, refusals: &[Refusal], now: Timestamp) -> Vec<Action> {
        refused(set, refusals, now)
    }
}

impl Controller for ReplicationControllers {
    type Root = ReplicationController;
    const NAME: &'static str = "replication-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        wakes::<ReplicationController>(seen, world)
    }

    fn plan(&self, set: &ReplicationController, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        plan(set, world, now)
    }

    fn refused(&self, set: &ReplicationController, refusals: &[Refusal], now: Timestamp) -> Vec<Action> {
        refused(set, refusals, now)
    }
}

/// Its own changes, its pods' and those of pods that belong to nobody and might become its.
fn wakes<R: Replicated>(seen: &Seen<'_>, world: &World) -> Vec<Key> {
    let mut keys = of_root::<R>(seen);
    let Some(pod) = seen.now::<Pod>().filter(|pod| claim::controller(*pod).is_none()) else { return keys };
    let sets = world.cache::<R>().map(|cache| cache.in_namespace(&seen.key.namespace)).unwrap_or_default();
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    let matching = sets.iter().filter(|set| claim::selecting(set.selector().as_ref()).matches(&labels));
    keys.extend(matching.map(|set| Key::of(&**set)));
    keys
}

fn plan<R: Replicated>(set: &R, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
    let pods = world.cache::<Pod>()?;
    let given = set.selector();
    let selector = claim::selecting(given.as_ref());
    let claim = claim(set, &selector, claim::candidates(set, given.as_ref(), &pods));
    let (active, leaving): (Vec<_>, Vec<_>) = claim
        .mine
        .iter()
        .filter(|pod| !matches!(pod.phase(), "Succeeded" | "Failed"))
        .cloned()
        .partition(|pod| pod.is_active());
    let steps = if set.meta().deletion_timestamp.is_some() || !selects_its_own(set, &selector) {
        Vec::new()
    } else {
        difference(set, &active, world)?
    };
    // The status stands behind the creations: it moves the set's revision, and by that its pods are named. A creation whose
    // answer was lost must meet its own pod when it is tried again.
    let (status, look_again) = status::of(set, &active, leaving.len(), steps.is_empty(), now);
    Ok(Plan::from(claim.actions).then(steps).then(status).again_at(look_again))
}

/// A set that does not select what it makes would make pods for ever. Such a set can't be created.
fn selects_its_own<R: Replicated>(set: &R, selector: &Selector) -> bool {
    let template = set.template().and_then(|template| template.metadata.as_ref());
    selector.matches(template.and_then(|meta| meta.labels.as_ref()).unwrap_or(&Default::default()))
}

/// The pods that are missing, or those that are too many.
fn difference<R: Replicated>(set: &R, active: &[Arc<Pod>], world: &World) -> Result<Vec<Action>, NotReady> {
    let wanted = usize::try_from(set.replicas()).unwrap_or(0);
    if active.len() <= wanted {
        return missing(set, wanted - active.len(), world);
    }
    let siblings = siblings(set, active, world)?;
    let mut ranked: Vec<_> = active.iter().collect();
    ranked.sort_by(|a, b| worth::compare(a, b, &siblings));
    let surplus = ranked.into_iter().take(active.len() - wanted);
    let told = |pod: &Arc<Pod>| {
        let message = format!("Deleted pod: {}", pod.name_any());
        Action::tell(set, Severity::Normal, "SuccessfulDelete", message)
    };
    let deleted = surplus.clone().map(|pod| Action::delete(&**pod));
    Ok(deleted.chain(surplus.map(told)).collect())
}

fn missing<R: Replicated>(set: &R, count: usize, world: &World) -> Result<Vec<Action>, NotReady> {
    let known = world.cache::<Pod>()?;
    let namespace = set.namespace().unwrap_or_default();
    let meta = set.meta();
    let situation =
        [meta.uid.as_deref().unwrap_or_default(), meta.resource_version.as_deref().unwrap_or_default()];
    let base = format!("{}-", set.name_any());
    let free = (0..).map(|index| names::made(&base, &situation, index));
    let free = free.filter(|name| known.get(&Key::new(namespace.clone(), name.clone())).is_none());
    let names: Vec<String> = free.take(count).collect();
    let pods = names.iter().map(|name| {
        let mut pod = pods::from_template(set.template(), &namespace);
        pod.metadata.name = Some(name.clone());
        pod.metadata.generate_name = Some(base.clone());
        pod.metadata.owner_references = Some(vec![claim::reference(set)]);
        Action::create(&pod)
    });
    let told = names
        .iter()
        .map(|name| Action::tell(set, Severity::Normal, "SuccessfulCreate", format!("Created pod: {name}")));
    Ok(pods.chain(told).collect())
}

/// All active pods of the sets that belong to the same owner as this one: what a node loses is judged by all of them.
fn siblings<R: Replicated>(set: &R, active: &[Arc<Pod>], world: &World) -> Result<Vec<Arc<Pod>>, NotReady> {
    let Some(owner) = claim::controller(set) else { return Ok(active.to_vec()) };
    let pods = world.cache::<Pod>()?;
    let sets = world.cache::<R>()?.owned_by(&owner.uid);
    let all = sets.iter().flat_map(|set| pods.owned_by(set.meta().uid.as_deref().unwrap_or_default()));
    Ok(all.filter(|pod| pod.is_active()).collect())
}

/// Pods that the API will not have: a condition and an event name the cause.
fn refused<R: Replicated>(set: &R, refusals: &[Refusal], now: Timestamp) -> Vec<Action> {
    let Some(refusal) = refusals.first() else { return Vec::new() };
    let (reason, what) = match &refusal.action {
        Action::Create { .. } => ("FailedCreate", "creating"),
        Action::Delete { .. } => ("FailedDelete", "deleting"),
        Action::Change { .. } | Action::Tell(_) => return Vec::new(),
    };
    let told = format!("Error {what}: {}", refusal.message);
    let status = status::failed(set, reason, &refusal.message, now);
    status.into_iter().chain([Action::tell(set, Severity::Warning, reason, told)]).collect()
}

#[cfg(test)]
mod tests;
