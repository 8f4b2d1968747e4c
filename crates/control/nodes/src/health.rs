//! Whether nodes live: one that falls silent is said to be unknown, and what a node says about itself becomes taints that
//! keep pods away. Drives no pod off; `zones` and `evictions` do.

mod taints;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kedge_children::conditions;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, Severity, World, of_root};
use kube::ResourceExt;
use parking_lot::Mutex;

use crate::facts::{NodeFacts, after};
use crate::heartbeats::{Heartbeats, LEASES, NEVER, STOPPED};

/// What a silent node can't vouch for. Its network is the control plane's to judge.
const VOUCHED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
/// A node that is older than this when we first see it is nothing new, in seconds.
const NEW: i64 = 60;

#[derive(Default)]
pub(crate) struct Health {
    heartbeats: Arc<Heartbeats>,
    greeted: Mutex<HashSet<String>>,
}

impl Health {
    pub(crate) fn new(heartbeats: Arc<Heartbeats>) -> Self {
        Self { heartbeats, greeted: Mutex::default() }
    }

    /// Once for each node, when it is new.
    fn greeting(&self, node: &Node, now: Timestamp) -> Option<Action> {
        let created = node.creation_timestamp().map_or(now, |time| time.0);
        let is_new = after(created, NEW) > now;
        (is_new && self.greeted.lock().insert(node.uid().unwrap_or_default())).then(|| {
            let name = node.name_any();
            let message = format!("Node {name} event: Registered Node {name} in Controller");
            Action::tell(node, Severity::Normal, "RegisteredNode", message)
        })
    }
}

impl Controller for Health {
    type Root = Node;
    const NAME: &'static str = "node-controller";

    fn watch(&self, world: &World) {
        world.watch::<Lease>();
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        if seen.is::<Lease>() {
            let is_heartbeat = seen.key.namespace == LEASES;
            return is_heartbeat.then(|| Key::new("", seen.key.name.clone())).into_iter().collect();
        }
        of_root::<Node>(seen)
    }

    fn plan(&self, node: &Node, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let until = self.heartbeats.until(node, world, now)?;
        let is_silent = now >= until;
        // Most turns come from a heartbeat and have nothing to say; they must cost nothing.
        let judged = if is_silent { Cow::Owned(doubted(node, now)) } else { Cow::Borrowed(node) };
        let told = (node.is_ready() && is_silent).then(|| {
            let message = format!("Node {} status is now: NodeNotReady", node.name_any());
            Action::tell(node, Severity::Normal, "NodeNotReady", message)
        });
        let said = is_silent.then(|| Action::status(node, &judged)).flatten();
        Ok(Plan::from(said)
            .then(kept(node, &judged, now))
            .then(told)
            .then(self.greeting(node, now))
            .again_at((!is_silent).then_some(until)))
    }
}

/// What is known of a node that says nothing.
fn doubted(node: &Node, now: Timestamp) -> Node {
    let mut node = node.clone();
    let created = node.metadata.creation_timestamp.clone();
    let all = node.status.get_or_insert_default().conditions.get_or_insert_default();
    for type_ in VOUCHED {
        match all.iter_mut().find(|condition| condition.type_ == type_) {
            None => all.push(NodeCondition {
                type_: type_.to_owned(),
                status: "Unknown".to_owned(),
                reason: Some(NEVER.to_owned()),
                message: Some("Kubelet never posted node status.".to_owned()),
                last_heartbeat_time: created.clone(),
                last_transition_time: conditions::at(now),
            }),
            Some(condition) if condition.status == "Unknown" => {}
            Some(condition) => {
                condition.status = "Unknown".to_owned();
                condition.reason = Some(STOPPED.to_owned());
                condition.message = Some("Kubelet stopped posting node status.".to_owned());
                condition.last_transition_time = conditions::at(now);
            }
        }
    }
    node
}

/// The taints that the judgement means, and the labels that older programs look for.
fn kept(node: &Node, judged: &Node, now: Timestamp) -> Option<Action> {
    let (taints, labels) = (taints::wanted(judged, now), old_labels(node));
    if taints.is_none() && labels.is_empty() {
        return None;
    }
    let mut kept = node.clone();
    if let Some(taints) = taints {
        kept.spec.get_or_insert_default().taints = Some(taints).filter(|taints| !taints.is_empty());
    }
    kept.metadata.labels.get_or_insert_default().extend(labels);
    Action::change(node, &kept)
}

/// Labels under their old names that don't say what they say under the new ones.
fn old_labels(node: &Node) -> Vec<(String, String)> {
    let names =
        [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];
    let labels = node.labels();
    let differing = names.into_iter().filter_map(|(name, old_name)| {
        let value = labels.get(name)?;
        (labels.get(old_name) != Some(value)).then(|| (old_name.to_owned(), value.clone()))
    });
    differing.collect()
}

#[cfg(test)]
mod tests;
