//! One pod on every node that a DaemonSet is meant for, none elsewhere: what is missing, what is too many, and what has ended.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::names;
use kedge_children::pods::PodFacts;
use kedge_client::Cache;
use kedge_engine::{Action, Key, Severity};
use kube::ResourceExt;

use super::nodes::{Nodes, Place, Spot, is_available};
use super::pods::{self, Version};
use super::spelling::may_surge;

/// After how long a pod that ended is replaced: at once the first time, then ever later.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(1);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(15);

/// What is to be done: pods that go, and nodes that get one.
#[derive(Default)]
pub(super) struct Steps {
    deleted: Vec<Arc<Pod>>,
    made: Vec<Made>,
    said: Vec<(Severity, &'static str, String)>,
    pub(super) look_again: Option<Timestamp>,
}

pub(super) struct Made {
    node: String,
    /// The uid of the one that it replaces because it ended, and how many have ended in a row.
    instead_of: String,
    ended_before: u32,
}

impl Steps {
    pub(super) fn is_empty(&self) -> bool {
        self.deleted.is_empty() && self.made.is_empty()
    }

    pub(super) fn and(mut self, more: Self) -> Self {
        self.deleted.extend(more.deleted);
        self.made.extend(more.made);
        self.said.extend(more.said);
        self
    }

    pub(super) fn delete(&mut self, pod: &Arc<Pod>) {
        self.deleted.push(pod.clone());
    }

    pub(super) fn make(&mut self, node: &str) {
        self.made.push(Made { node: node.to_owned(), instead_of: String::new(), ended_before: 0 });
    }

    pub(super) fn actions(self, set: &DaemonSet, version: &Version, known: &Cache<Pod>) -> Vec<Action> {
        let told = |verb: &str, reason, pod: &Pod| {
            Action::tell(set, Severity::Normal, reason, format!("{verb} pod: {}", pod.name_any()))
        };
        let made: Vec<Pod> = self.made.iter().map(|made| named(set, made, version, known)).collect();
        let said = self
            .said
            .into_iter()
            .map(|(severity, reason, message)| Action::tell(set, severity, reason, message));
        said.chain(self.deleted.iter().map(|pod| Action::delete(&**pod)))
            .chain(self.deleted.iter().map(|pod| told("Deleted", "SuccessfulDelete", pod)))
            .chain(made.iter().map(Action::create))
            .chain(made.iter().map(|pod| told("Created", "SuccessfulCreate", pod)))
            .collect()
    }
}

/// A new pod with a name that no pod of this node has had before.
fn named(set: &DaemonSet, made: &Made, version: &Version, known: &Cache<Pod>) -> Pod {
    let mut pod = pods::make(set, &made.node, version, made.ended_before);
    let (uid, revision) = (set.uid().unwrap_or_default(), set.resource_version().unwrap_or_default());
    let situation = [&*uid, &*revision, &*made.node, &*made.instead_of];
    let namespace = set.namespace().unwrap_or_default();
    let base = format!("{}-", set.name_any());
    let mut names = (0..).map(|index| names::made(&base, &situation, index));
    pod.metadata.name = names.find(|name| known.get(&Key::new(&*namespace, &**name)).is_none());
    pod
}

pub(super) fn steps(set: &DaemonSet, nodes: &Nodes, version: &Version, now: Timestamp) -> Steps {
    let mut steps = Steps::default();
    for spot in &nodes.spots {
        match spot.place {
            Some(Place::Meant) if spot.pods.is_empty() => steps.make(&spot.node),
            Some(Place::Meant | Place::Borne) => keep(&mut steps, set, spot, version, now),
            Some(Place::Forbidden) => spot.staying().for_each(|pod| steps.delete(pod)),
            // A pod that was made for a node that is gone would wait for it for ever.
            None => spot.staying().filter(|pod| pod.node().is_none()).for_each(|pod| steps.delete(pod)),
        }
    }
    steps
}

fn keep(steps: &mut Steps, set: &DaemonSet, spot: &Spot, version: &Version, now: Timestamp) {
    let is_over = |pod: &&Arc<Pod>| matches!(pod.phase(), "Succeeded" | "Failed");
    let (over, running): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = spot.staying().partition(is_over);
    let mut waits = false;
    let mut replaced = None;
    for pod in over {
        let due = due(pod, version, now);
        if due > now {
            steps.look_again = [steps.look_again, Some(due)].into_iter().flatten().min();
            waits = true;
            continue;
        }
        steps.said.push(said(pod, &spot.node));
        steps.delete(pod);
        replaced = Some(pod.clone());
    }
    let is_free = running.is_empty() && !waits && spot.is_meant();
    let leaving = spot.pods.iter().any(|pod| pod.is_leaving());
    if is_free && (may_surge(set) || replaced.is_some() && !leaving) {
        let instead_of = replaced.as_ref().and_then(|pod| pod.uid()).unwrap_or_default();
        let ended_before = replaced.map_or(0, |pod| in_a_row(&pod, version, now));
        steps.made.push(Made { node: spot.node.clone(), instead_of, ended_before });
    }
    for pod in surplus(set, &running, version, now) {
        steps.delete(pod);
    }
}

/// When a pod that has ended may be replaced.
fn due(pod: &Pod, version: &Version, now: Timestamp) -> Timestamp {
    let ended = pods::ended_before(pod);
    if ended == 0 || !version.is_of(pod) {
        return now;
    }
    let wait = FIRST_WAIT.saturating_mul(1 << (ended - 1).min(20)).min(LONGEST_WAIT);
    let since = pod.creation_timestamp().map_or(now, |time| time.0);
    since.saturating_add(wait).unwrap_or(now)
}

/// How many pods have ended in a row with this one. A new template starts anew, and so does one that lasted.
fn in_a_row(pod: &Pod, version: &Version, now: Timestamp) -> u32 {
    let lasted = pod.creation_timestamp().is_some_and(|time| now.duration_since(time.0) > LONGEST_WAIT * 2);
    if !version.is_of(pod) {
        0
    } else if lasted {
        1
    } else {
        pods::ended_before(pod).saturating_add(1)
    }
}

fn said(pod: &Pod, node: &str) -> (Severity, &'static str, String) {
    let name = Key::of(pod);
    if pod.phase() == "Failed" {
        let message = format!("Found failed daemon pod {name} on node {node}, will try to kill it");
        return (Severity::Warning, "FailedDaemonPod", message);
    }
    let message = format!("Found succeeded daemon pod {name} on node {node}, will try to delete it");
    (Severity::Normal, "SucceededDaemonPod", message)
}

/// All but the oldest; during an update with two pods on a node, all but the oldest of either template, and of those the old
/// one only until the new one works.
fn surplus<'a>(
    set: &DaemonSet,
    running: &[&'a Arc<Pod>],
    version: &Version,
    now: Timestamp,
) -> Vec<&'a Arc<Pod>> {
    if !may_surge(set) {
        return running.iter().skip(1).copied().collect();
    }
    let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
        running.iter().copied().partition(|pod| version.is_of(pod));
    let mut surplus: Vec<&Arc<Pod>> = new.iter().skip(1).chain(old.iter().skip(1)).copied().collect();
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!old.is_ready() || is_available(set, new, now))
    {
        surplus.push(old);
    }
    surplus
}
