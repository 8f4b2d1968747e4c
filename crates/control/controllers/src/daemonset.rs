//! Keeps a DaemonSet's pod on every node that it is meant for, and rolls those pods from one template to the next. Says which
//! node a pod is for; the scheduler puts it there.

mod keeping;
mod nodes;
mod pods;
mod rolling;
mod spelling;
mod status;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World, of_root};
use kube::ResourceExt;
use kube::core::SelectorExt;

use self::nodes::{Demand, Nodes};
use self::pods::Version;
use self::spelling::is_rolled;
use crate::revisions::{self, Found, Revised};
use kedge_children::claim::{self, claim};

pub struct DaemonSets;

impl Controller for DaemonSets {
    type Root = DaemonSet;
    const NAME: &'static str = "daemonset-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<Node>().watch::<ControllerRevision>();
    }

    /// Its children's changes, those of pods that belong to nobody, and those of nodes that begin or cease to be its.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Node>() {
            // Most of what a node says is how it is, and that concerns nobody here.
            if let (Some(before), Some(now)) = (seen.before::<Node>(), seen.now::<Node>())
                && nodes::are_alike(before, now)
            {
                return Vec::new();
            }
            let sets = world.cache::<DaemonSet>().map(|sets| sets.all()).unwrap_or_default();
            let concerned = sets.iter().filter(|set| {
                let demand = Demand::of(set);
                let on = |node: Option<&Node>| node.map(|node| demand.on(node));
                on(seen.before()) != on(seen.now())
            });
            return concerned.map(|set| Key::of(&**set)).collect();
        }
        let mut keys = of_root::<DaemonSet>(seen);
        keys.extend(revisions::wakes::<DaemonSet>(seen, world));
        if let Some(pod) = seen.now::<Pod>().filter(|pod| claim::controller(*pod).is_none()) {
            let labels = pod.metadata.labels.clone().unwrap_or_default();
            let sets = world.cache::<DaemonSet>().map(|sets| sets.in_namespace(&seen.key.namespace));
            let sets = sets.unwrap_or_default().into_iter();
            let matching = sets.filter(|set| claim::selecting(set.selector()).matches(&labels));
            keys.extend(matching.map(|set| Key::of(&*set)));
        }
        keys
    }

    fn plan(&self, set: &DaemonSet, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        if set.selector() == Some(&LabelSelector::default()) {
            let message = "This daemon set is selecting all pods. A non-empty selector is required.";
            return Ok(Plan::from([Action::tell(set, Severity::Warning, "SelectingAll", message)]));
        }
        // Its history may be gone before it is, so nothing true can be said about it any more.
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(Plan::default());
        }
        let known = world.cache::<Pod>()?;
        let candidates = claim::candidates(set, set.selector(), &known);
        let claim = claim(set, &claim::selecting(set.selector()), candidates);
        let plan = Plan::from(claim.actions);
        let history = match revisions::history(set, world)? {
            Found::Known(history) => history,
            Found::Taken => return Ok(plan.then(status::collided(set))),
        };
        let version = Version::of(set, &history);
        let nodes = Nodes::of(set, &claim.mine, world)?;
        let mut steps = keeping::steps(set, &nodes, &version, now);
        // What is missing or too many comes first: only what is left is to be updated.
        if is_rolled(set) && steps.is_empty() {
            let rolled = rolling::steps(set, &nodes, &version, now);
            steps = steps.and(rolled);
        }
        let again = steps.look_again;
        let forgotten = revisions::surplus(set, &history.older, |one| {
            let hash = one.labels().get(revisions::POD_LABEL);
            hash.is_some() && claim.mine.iter().any(|pod| pod.labels().get(revisions::POD_LABEL) == hash)
        });
        // What is true now is said first: what is to be done may be refused for a long time.
        Ok(plan
            .then(history.actions)
            .then(status::of(set, &nodes, &version, now))
            .then(steps.actions(set, &version, &known))
            .then(forgotten)
            .again_at(again)
            .again_at(nodes.next_change(set, now)))
    }

    fn refused(&self, set: &DaemonSet, refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        let told = refusals.iter().filter_map(|refusal| {
            let (reason, what) = match &refusal.action {
                Action::Create { .. } => ("FailedCreate", "creating"),
                Action::Delete { .. } => ("FailedDelete", "deleting"),
                Action::Change { .. } | Action::Tell(_) => return None,
            };
            let message = format!("Error {what}: {}", refusal.message);
            Some(Action::tell(set, Severity::Warning, reason, message))
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests;
