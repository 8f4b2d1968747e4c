//! Takes away pods that nobody else will: on nodes that don't exist, leaving without ever having had a node, leaving on a node
//! that was declared out of service. Ended pods in great number are `ended`'s.

pub(crate) mod ended;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_children::pods::PodFacts;
use kedge_client::{Client, Objects};
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Key, Next, NotReady, Outcome, Seen, TurnError, Worker, World};

use crate::apart;
use crate::facts::{self, NodeFacts, OUT_OF_SERVICE, after};
use crate::since::Since;

const NAME: &str = "pod-garbage-collector";
/// How long a node may be missing before its pods are taken for lost, in seconds: our sight of nodes and pods may be of
/// different moments.
const QUARANTINE: i64 = 40;

pub(crate) struct Leftovers {
    world: World,
    clock: Clock,
    client: Client,
    carrier: Carrier,
    missing: Since<String, ()>,
}

/// What to do about a pod.
#[derive(Debug, PartialEq)]
enum Verdict {
    Leave,
    LookAgain(Timestamp),
    /// Its node has been missing for long; if the API says so too, these are due.
    Ask {
        node: String,
        then: Vec<Action>,
    },
    Do(Vec<Action>),
}

impl Leftovers {
    pub(crate) fn new(world: World, client: Client, clock: Clock) -> Arc<Self> {
        let carrier = Carrier::new(NAME, client.clone(), clock.clone());
        Arc::new(Self { world, clock, client, carrier, missing: Since::default() })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let rest = |next| Outcome { waits: Vec::new(), next };
        let now = self.clock.now();
        let verdict = match self.world.get::<Pod>(key) {
            Ok(Some(pod)) => verdict(&pod, &self.world, &self.missing, now),
            Ok(None) => return rest(Next::Rest),
            Err(error) => Err(error),
        };
        match verdict {
            Ok(Verdict::Leave) => rest(Next::Rest),
            Ok(Verdict::LookAgain(moment)) => rest(Next::At(moment)),
            Ok(Verdict::Do(actions)) => self.carry_out(actions).await,
            Ok(Verdict::Ask { node, then }) => match self.exists(&node).await {
                Ok(false) => self.carry_out(then).await,
                Ok(true) => rest(Next::At(after(now, QUARANTINE))),
                Err(error) => rest(Next::Retry(error)),
            },
            Err(error) => rest(Next::Retry(error.into())),
        }
    }

    async fn carry_out(&self, actions: Vec<Action>) -> Outcome {
        let done = self.carrier.carry_out(&actions).await;
        Outcome { waits: done.waits, next: apart::next(done.error, None) }
    }

    /// Not having seen a node is no proof that there is none.
    async fn exists(&self, node: &str) -> Result<bool, TurnError> {
        let found = Objects::<Node>::all(&self.client).find(node).await;
        found.map(|found| found.is_some()).map_err(|source| TurnError::Failed {
            action: format!("look for node {node}"),
            source: Box::new(source),
        })
    }
}

impl Worker for Leftovers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<Node>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let pods = world.cache::<Pod>().map(|pods| pods.all()).unwrap_or_default();
        pods.iter().filter(|pod| is_concerned(pod, world)).map(|pod| Key::of(&**pod)).collect()
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Node>() {
            if seen.now::<Node>().is_some() {
                self.missing.forget(&seen.key.name);
            }
            let is_well = |node: &Node| !is_out_of_service(node);
            if seen.now::<Node>().is_some_and(is_well) {
                return Vec::new();
            }
            let pods = world.cache::<Pod>().map(|pods| pods.on_node(&seen.key.name)).unwrap_or_default();
            return pods.iter().map(|pod| Key::of(&**pod)).collect();
        }
        let concerned = seen.now::<Pod>().is_some_and(|pod| is_concerned(pod, world));
        concerned.then(|| seen.key.clone()).into_iter().collect()
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}

fn is_concerned(pod: &Pod, world: &World) -> bool {
    let missing = pod.node().is_some_and(|node| matches!(world.get::<Node>(&Key::new("", node)), Ok(None)));
    pod.is_leaving() || missing
}

fn is_out_of_service(node: &Node) -> bool {
    !node.is_ready() && node.taints().iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

fn verdict(
    pod: &Pod,
    world: &World,
    missing: &Since<String, ()>,
    now: Timestamp,
) -> Result<Verdict, NotReady> {
    let Some(name) = pod.node() else {
        return Ok(if pod.is_leaving() { done_with(pod, None, now) } else { Verdict::Leave });
    };
    let name = name.to_owned();
    if let Some(node) = world.get::<Node>(&Key::new("", name.clone()))? {
        missing.forget(&name);
        let abandoned = pod.is_leaving() && is_out_of_service(&node);
        return Ok(if abandoned { done_with(pod, None, now) } else { Verdict::Leave });
    }
    let due = after(missing.at(&name, (), now, now), QUARANTINE);
    if now < due {
        return Ok(Verdict::LookAgain(due));
    }
    let why = ("DeletionByPodGC", "PodGC: node no longer exists");
    Ok(match done_with(pod, Some(why), now) {
        Verdict::Do(then) => Verdict::Ask { node: name, then },
        verdict => verdict,
    })
}

/// Says that the pod has ended, if it hasn't, and takes it away without waiting for its node.
fn done_with(pod: &Pod, why: Option<(&str, &str)>, now: Timestamp) -> Verdict {
    let has_ended = matches!(pod.phase(), "Succeeded" | "Failed");
    // Whoever holds it by a finalizer is the next to act.
    if has_ended && pod.is_leaving() && pod.metadata.deletion_grace_period_seconds == Some(0) {
        return Verdict::Leave;
    }
    let mut ended = match why {
        Some(_) => facts::with_condition(pod, "DisruptionTarget", "True", why, now),
        None => pod.clone(),
    };
    let status = ended.status.get_or_insert_default();
    status.phase = Some("Failed".to_owned());
    status.observed_generation = pod.metadata.generation;
    let said = (!has_ended).then(|| Action::status(pod, &ended)).flatten();
    Verdict::Do(said.into_iter().chain([removal(pod)]).collect())
}

fn removal(pod: &Pod) -> Action {
    match Action::delete(pod) {
        Action::Delete { target, propagation, unchanged, .. } => {
            Action::Delete { target, propagation, grace_seconds: Some(0), unchanged }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
