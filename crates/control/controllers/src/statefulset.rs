//! Keeps a StatefulSet's pods: each with a number, a name and volumes of its own that outlive it, made and removed in order.
//! An update goes from the last to the first. The volumes themselves are others' business.

mod claims;
mod identity;
mod pods;
mod retention;
mod spelling;
mod status;
mod steps;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World, of_root};
use kube::ResourceExt;

use self::pods::Pods;
use self::steps::Steps;
use crate::revisions::{self, Found, History, Revised};
use kedge_children::claim::{self, claim};

pub struct StatefulSets;

impl Controller for StatefulSets {
    type Root = StatefulSet;
    const NAME: &'static str = "statefulset-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<PersistentVolumeClaim>().watch::<ControllerRevision>();
    }

    /// Its children's changes; those of pods that have one of its names, whosever they are; and those of its pods' volumes.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        let mut keys = of_root::<StatefulSet>(seen);
        if seen.is::<Pod>() {
            let parent = identity::parse(&seen.key.name).map(|(set, _)| Key::new(&*seen.key.namespace, set));
            let known = parent.filter(|key| matches!(world.get::<StatefulSet>(key), Ok(Some(_))));
            keys.extend(known.filter(|key| !keys.contains(key)));
        } else if seen.is::<PersistentVolumeClaim>() {
            let sets = world.cache::<StatefulSet>().map(|sets| sets.in_namespace(&seen.key.namespace));
            let using = sets.unwrap_or_default().into_iter().filter(|set| claims::is_of(set, &seen.key.name));
            keys.extend(using.map(|set| Key::of(&*set)));
        } else {
            keys.extend(revisions::wakes::<StatefulSet>(seen, world));
        }
        keys
    }

    fn plan(&self, set: &StatefulSet, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let known = world.cache::<Pod>()?;
        let mut candidates = claim::candidates(set, set.selector(), &known);
        candidates.retain(|pod| identity::is_member(set, &pod.name_any()));
        let claim = claim(set, &claim::selecting(set.selector()), candidates);
        let pods = Pods::of(set, claim.mine);
        if set.metadata.deletion_timestamp.is_some() {
            let history = revisions::present(set, world)?;
            return Ok(Plan::from(history.and_then(|history| status::of(set, &history, &pods, now))));
        }
        let plan = Plan::from(claim.actions);
        let history = match revisions::history(set, world)? {
            Found::Known(history) => history,
            Found::Taken => return Ok(plan.then(status::collided(set))),
        };
        let steps = Steps::of(set, &history, &pods, world, now)?;
        // What is true now is said first: what is to be done may be refused for a long time.
        Ok(plan
            .then(history.actions.iter().cloned())
            .then(status::of(set, &history, &pods, now))
            .then(steps.actions(set))
            .then(forgotten(set, &history, &pods))
            .again_at(pods.next_change(set, now)))
    }

    fn refused(&self, set: &StatefulSet, refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        refusals.iter().flat_map(|refusal| told(set, refusal)).collect()
    }
}

/// Old templates beyond the limit that no pod has and no pod will get.
fn forgotten(set: &StatefulSet, history: &History, pods: &Pods) -> Vec<Action> {
    let current = status::current(set, history).name_any();
    let used = |one: &ControllerRevision| {
        let name = one.name_any();
        name == current || pods.all().any(|pod| identity::revision(pod) == Some(&name))
    };
    let unused: Vec<_> = history.older.iter().filter(|one| !used(one)).cloned().collect();
    revisions::surplus(set, &unused, |_| false)
}

/// What the API will not have, in an event that names it.
fn told(set: &StatefulSet, refusal: &Refusal) -> Option<Action> {
    let owner = set.name_any();
    let (reason, message) = match &refusal.action {
        Action::Create { resource, object, .. } => {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let message = if resource.kind == "PersistentVolumeClaim" {
                let pod = claims::pod_of(set, name).unwrap_or_default();
                format!(
                    "Create Claim {name} for Pod {pod} in StatefulSet {owner} failed error: {}",
                    refusal.message
                )
            } else {
                format!(
                    "Create {} {name} in StatefulSet {owner} failed error: {}",
                    resource.kind, refusal.message
                )
            };
            ("FailedCreate", message)
        }
        Action::Delete { target, .. } => {
            let (kind, name) = (&target.resource.kind, &target.key.name);
            (
                "FailedDelete",
                format!("Delete {kind} {name} in StatefulSet {owner} failed error: {}", refusal.message),
            )
        }
        Action::Change { target, .. } => {
            let (kind, name) = (&target.resource.kind, &target.key.name);
            (
                "FailedUpdate",
                format!("Update {kind} {name} in StatefulSet {owner} failed error: {}", refusal.message),
            )
        }
        Action::Tell(_) => return None,
    };
    Some(Action::tell(set, Severity::Warning, reason, message))
}

#[cfg(test)]
mod tests;
