//! A pod that was to be disrupted and is still there after a while is no longer about to go, and says so.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, World};

use crate::facts::{after, with_condition};

/// How long an announced disruption may take to begin, in seconds.
const PATIENCE: i64 = 120;

pub(crate) struct StaleDisruptions;

impl Controller for StaleDisruptions {
    type Root = Pod;
    const NAME: &'static str = "stale-disruption-controller";

    fn watch(&self, _world: &World) {}

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let announced = seen.now::<Pod>().is_some_and(|pod| announced(pod).is_some());
        announced.then(|| seen.key.clone()).into_iter().collect()
    }

    fn plan(&self, pod: &Pod, _world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let Some(condition) = announced(pod) else { return Ok(Plan::default()) };
        let since = condition.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0);
        let due = after(since, PATIENCE);
        if due > now {
            return Ok(Plan::default().again_at(Some(due)));
        }
        let taken_back = with_condition(pod, "DisruptionTarget", "False", None, now);
        Ok(Plan::from(Action::status(pod, &taken_back)))
    }
}

/// What the pod's own node announces may take as long as it takes.
fn announced(pod: &Pod) -> Option<&PodCondition> {
    let condition = pod.condition("DisruptionTarget").filter(|condition| condition.status == "True")?;
    let by_its_node = condition.reason.as_deref() == Some("TerminationByKubelet");
    (pod.is_active() && !by_its_node).then_some(condition)
}

#[cfg(test)]
mod tests;
