//! Whether nodes live: one that falls silent is said to be unknown, and what a node says about itself becomes taints that
//! keep pods away. Drives no pod off; `zones` and `evictions` do.

mod taints;

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
        let mut judged = node.clone();
        if is_silent {
            doubt(&mut judged, now);
        }
        let mut kept = judged.clone();
        taints::keep(&mut kept, now);
        keep_labels(&mut kept);
        let fell = node.is_ready() && !judged.is_ready();
        let name = node.name_any();
        let told = fell.then(|| {
            let message = format!("Node {name} status is now: NodeNotReady");
            Action::tell(node, Severity::Normal, "NodeNotReady", message)
        });
        Ok(Plan::from(Action::status(node, &judged))
            .then(Action::change(node, &kept))
            .then(told)
            .then(self.greeting(node, now))
            .again_at((!is_silent).then_some(until)))
    }
}

/// What is known of a node that says nothing.
fn doubt(node: &mut Node, now: Timestamp) {
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
}

/// Old names of labels follow the new ones.
fn keep_labels(node: &mut Node) {
    for (name, old_name) in
        [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")]
    {
        if let Some(labels) = &mut node.metadata.labels
            && let Some(value) = labels.get(name).cloned()
        {
            labels.insert(old_name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
