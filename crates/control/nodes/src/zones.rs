//! From which nodes pods are driven away, and how fast: unready nodes get a NoExecute taint, a zone's one after the other. Where
//! most of a zone is unready the fault is more likely ours, so it goes slower or not at all.

mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use kedge_children::conditions;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Key, Next, NotReady, Outcome, Plan, Seen, Worker, World};
use kube::ResourceExt;

use self::state::{Pace, paces};
use crate::apart;
use crate::facts::{NO_EXECUTE, NOT_READY, NodeFacts, UNREACHABLE, after, is_taint};

const NAME: &str = "node-lifecycle-controller";

pub(crate) struct Zones {
    world: World,
    clock: Clock,
    carrier: Carrier,
}

impl Zones {
    pub(crate) fn new(world: World, client: Client, clock: Clock) -> Arc<Self> {
        Arc::new(Self { world, carrier: Carrier::new(NAME, client, clock.clone()), clock })
    }

    async fn one_turn(&self) -> Outcome {
        match plan(&self.world, self.clock.now()) {
            Ok(plan) => apart::carry_out(&self.carrier, plan).await,
            Err(error) => Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        }
    }
}

impl Worker for Zones {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Node>();
    }

    /// All zones are one thing to look after: whether one is slowed down depends on all the others.
    fn roots(&self, _world: &World) -> Vec<Key> {
        vec![all_zones()]
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let relevant = |node: &Node| {
            let taints: Vec<Taint> = node.taints().iter().filter(|taint| is_ours(taint)).cloned().collect();
            (node.readiness().map(str::to_owned), node.zone(), state::counts(node), taints)
        };
        let differs =
            seen.is::<Node>() && seen.before::<Node>().map(relevant) != seen.now::<Node>().map(relevant);
        differs.then(all_zones).into_iter().collect()
    }

    fn turn<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn().boxed()
    }
}

fn all_zones() -> Key {
    Key::new("", "zones")
}

fn is_ours(taint: &Taint) -> bool {
    is_taint(taint, NOT_READY, NO_EXECUTE) || is_taint(taint, UNREACHABLE, NO_EXECUTE)
}

/// What every node's taints should be now. The last taint of a zone says when its next one may come, so nothing has to be
/// remembered.
fn plan(world: &World, now: Timestamp) -> Result<Plan, NotReady> {
    let mut zones: BTreeMap<String, Vec<Arc<Node>>> = BTreeMap::new();
    for node in world.cache::<Node>()?.all() {
        zones.entry(node.zone()).or_default().push(node);
    }
    let paces = paces(&zones);
    let mut plan = Plan::default();
    for (zone, mut nodes) in zones {
        // The one that has been unready for longest comes first.
        nodes.sort_by_key(|node| {
            let ready = node.condition("Ready").and_then(|ready| ready.last_transition_time.as_ref());
            (ready.map(|time| time.0), node.name_any())
        });
        let pace = paces.get(&zone).copied().unwrap_or(Pace::Stopped);
        let added = nodes.iter().flat_map(|node| node.taints()).filter(|taint| is_ours(taint));
        let mut last = added.filter_map(|taint| taint.time_added.as_ref().map(|time| time.0)).max();
        for node in nodes {
            let wanted = match wanted(&node, pace) {
                Wanted::AsIs => continue,
                Wanted::None => None,
                Wanted::Now(key) => Some(key),
                Wanted::InTurn(key, seconds) => {
                    let turn = last.map_or(now, |last| after(last, seconds));
                    if turn > now {
                        plan = plan.again_at(Some(turn));
                        continue;
                    }
                    last = Some(now);
                    Some(key)
                }
            };
            plan = plan.then(with_taint(&node, wanted, now));
        }
    }
    Ok(plan)
}

enum Wanted {
    AsIs,
    None,
    Now(&'static str),
    InTurn(&'static str, i64),
}

fn wanted(node: &Node, pace: Pace) -> Wanted {
    let key = match node.readiness() {
        Some("True") => return Wanted::None,
        Some("False") => NOT_READY,
        Some(_) => UNREACHABLE,
        None => return Wanted::AsIs,
    };
    let is_tainted = node.taints().iter().any(is_ours);
    match pace {
        Pace::Suspended => Wanted::None,
        _ if is_tainted => Wanted::Now(key),
        Pace::Every(seconds) => Wanted::InTurn(key, seconds),
        Pace::Stopped => Wanted::AsIs,
    }
}

fn with_taint(node: &Node, wanted: Option<&str>, now: Timestamp) -> Option<Action> {
    let mut changed = node.clone();
    let mut taints = node.taints().to_vec();
    taints.retain(|taint| !is_ours(taint) || Some(&*taint.key) == wanted);
    if let Some(key) = wanted
        && !taints.iter().any(is_ours)
    {
        taints.push(Taint {
            key: key.to_owned(),
            effect: NO_EXECUTE.to_owned(),
            value: None,
            time_added: conditions::at(now),
        });
    }
    if taints == node.taints() {
        return None;
    }
    changed.spec.get_or_insert_default().taints = Some(taints).filter(|taints| !taints.is_empty());
    Action::change(node, &changed)
}

#[cfg(test)]
mod tests;
