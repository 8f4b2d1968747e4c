//! Drives pods off nodes whose NoExecute taints they don't tolerate, or no longer. Says how long; who taints is others'
//! business. Pods that wait for a node that is gone before they began go sooner: `unstarted`.

mod undated;
mod unstarted;

use std::collections::HashSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, Severity, World};
use kube::ResourceExt;
use parking_lot::Mutex;

use self::undated::Undated;
use crate::facts::{self, NodeFacts, after, expels};

/// An owner whose template names a node that expels its pods makes them again and again. It may, but not without a pause; in
/// seconds.
const SHORTEST_STAY: i64 = 1;
const TAINTED: &str = "Taint manager: deleting due to NoExecute taint";
const UNSTARTED: &str = "Taint manager: deleting because the node is not ready and the pod has not started";

#[derive(Default)]
pub(crate) struct Evictions {
    undated: Undated,
    /// Pods that were given a time, to say so if it is taken back.
    given: Mutex<HashSet<String>>,
}

impl Controller for Evictions {
    type Root = Pod;
    const NAME: &'static str = "taint-eviction-controller";

    fn watch(&self, world: &World) {
        world.watch::<Node>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Node>() {
            self.undated.keep_only(&seen.key.name, seen.now::<Node>());
            let relevant = |node: &Node| {
                let taints: Vec<Taint> =
                    node.taints().iter().filter(|taint| expels(taint)).cloned().collect();
                (taints, node.readiness().map(str::to_owned))
            };
            let now = seen.now::<Node>().map(relevant);
            if now.is_none() || seen.before::<Node>().map(relevant) == now {
                return Vec::new();
            }
            let pods = world.cache::<Pod>().map(|pods| pods.on_node(&seen.key.name)).unwrap_or_default();
            return pods.iter().map(|pod| Key::of(&**pod)).collect();
        }
        // If the node's turn for the worse is not known yet, it wakes the pod when it is.
        let concerned = seen.now::<Pod>().and_then(PodFacts::node).is_some_and(|node| {
            let node = world.get::<Node>(&Key::new("", node)).ok().flatten();
            node.is_some_and(|node| node.taints().iter().any(expels) || !node.is_ready())
        });
        concerned.then(|| seen.key.clone()).into_iter().collect()
    }

    fn plan(&self, pod: &Pod, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let Some(name) = pod.node().filter(|_| !pod.is_leaving()) else { return Ok(Plan::default()) };
        let Some(node) = world.get::<Node>(&Key::new("", name))? else { return Ok(Plan::default()) };
        if unstarted::waits_in_vain(pod, &node, world)? {
            let message =
                format!("Node {name} is not ready and the pod has not started: it is made anew elsewhere");
            let told = Action::tell(pod, Severity::Warning, "NodeNotReady", message);
            return Ok(Plan::from(expelled(pod, UNSTARTED, now)).then([told]));
        }
        let uid = pod.uid().unwrap_or_default();
        Ok(match self.deadline(pod, &node, now) {
            None => Plan::from(self.given.lock().remove(&uid).then(|| {
                let message = format!("Cancelling deletion of Pod {}", Key::of(pod));
                Action::tell(pod, Severity::Normal, "TaintManagerEviction", message)
            })),
            Some(deadline) if deadline > now => {
                self.given.lock().insert(uid);
                Plan::default().again_at(Some(deadline))
            }
            Some(_) => {
                self.given.lock().remove(&uid);
                let message = format!("Marking for deletion Pod {}", Key::of(pod));
                let told = Action::tell(pod, Severity::Normal, "TaintManagerEviction", message);
                Plan::from(expelled(pod, TAINTED, now)).then([told])
            }
        })
    }
}

impl Evictions {
    /// When the pod's patience with the node's taints ends; `None` if it doesn't.
    fn deadline(&self, pod: &Pod, node: &Node, now: Timestamp) -> Option<Timestamp> {
        let ends = node.taints().iter().filter(|taint| expels(taint)).filter_map(|taint| {
            let Some(toleration) = facts::toleration(pod, taint) else {
                return Some(after(placed(pod), SHORTEST_STAY));
            };
            let seconds = toleration.toleration_seconds?;
            Some(after(self.begins(pod, node, taint, now), seconds.max(0)))
        });
        ends.min()
    }

    /// A pod's patience begins when the taint came, or when the pod did, whichever was later.
    fn begins(&self, pod: &Pod, node: &Node, taint: &Taint, now: Timestamp) -> Timestamp {
        let added = taint.time_added.as_ref().map(|time| time.0);
        let added = added.unwrap_or_else(|| self.undated.since(&node.name_any(), taint, now));
        added.max(placed(pod))
    }
}

fn placed(pod: &Pod) -> Timestamp {
    let placed = pod.condition("PodScheduled").and_then(|placed| placed.last_transition_time.as_ref());
    placed.or(pod.metadata.creation_timestamp.as_ref()).map_or(Timestamp::MIN, |time| time.0)
}

/// A pod says why it goes before it does.
fn expelled(pod: &Pod, why: &str, now: Timestamp) -> Vec<Action> {
    let said = Some(("DeletionByTaintManager", why));
    let marked = facts::with_condition(pod, "DisruptionTarget", "True", said, now);
    Action::status(pod, &marked).into_iter().chain([Action::delete(pod)]).collect()
}

#[cfg(test)]
mod tests;
