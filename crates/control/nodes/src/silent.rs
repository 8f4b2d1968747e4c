//! Pods on a node that has fallen silent are not ready, whatever they last said: nobody is there to take it back. As soon as
//! the node is heard again, its own word counts.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_children::conditions;
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, Severity, World};

use crate::facts::NodeFacts;
use crate::heartbeats::Heartbeats;

pub(crate) struct SilentPods(pub(crate) Arc<Heartbeats>);

impl Controller for SilentPods {
    type Root = Pod;
    const NAME: &'static str = "node-controller";

    fn watch(&self, world: &World) {
        world.watch::<Node>().watch::<Lease>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if let Some(node) = seen.now::<Node>() {
            let is_news = seen.before::<Node>().and_then(NodeFacts::readiness) != Some("Unknown");
            if !is_unknown(node) || !is_news {
                return Vec::new();
            }
            let pods = world.cache::<Pod>().map(|pods| pods.on_node(&seen.key.name)).unwrap_or_default();
            return pods.iter().map(|pod| Key::of(&**pod)).collect();
        }
        let on_silent =
            seen.now::<Pod>().filter(|pod| pod.is_ready()).and_then(PodFacts::node).is_some_and(|node| {
                world
                    .get::<Node>(&Key::new("", node))
                    .is_ok_and(|node| node.is_some_and(|node| is_unknown(&node)))
            });
        on_silent.then(|| seen.key.clone()).into_iter().collect()
    }

    fn plan(&self, pod: &Pod, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let Some(name) = pod.node().filter(|_| pod.is_ready()) else { return Ok(Plan::default()) };
        let Some(node) = world.get::<Node>(&Key::new("", name))?.filter(|node| is_unknown(node)) else {
            return Ok(Plan::default());
        };
        let until = self.0.until(&node, world, now)?;
        if now < until {
            return Ok(Plan::default().again_at(Some(until)));
        }
        let mut unready = pod.clone();
        let all = unready.status.iter_mut().flat_map(|status| status.conditions.iter_mut().flatten());
        for condition in all.filter(|condition| condition.type_ == "Ready") {
            condition.status = "False".to_owned();
            condition.last_transition_time = conditions::at(now);
        }
        let told = Action::tell(pod, Severity::Warning, "NodeNotReady", "Node is not ready");
        Ok(Plan::from(Action::status(pod, &unready)).then([told]))
    }
}

fn is_unknown(node: &Node) -> bool {
    node.readiness() == Some("Unknown")
}

#[cfg(test)]
mod tests;
