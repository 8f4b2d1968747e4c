//! Gives each node its own piece of the pods' address ranges, and never one piece to two. What is taken is read off the nodes;
//! a deleted node's piece is free again.

mod pool;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Node;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Key, Next, NotReady, Outcome, Plan, Seen, Severity, Worker, World};
use kedge_range::Range;
use kube::ResourceExt;
use parking_lot::Mutex;

use self::pool::Pool;
use crate::apart;

const NAME: &str = "cidrAllocator";

/// Where addresses come from. Without any for pods, nodes get none from us.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// One for each family.
    pub pods: Vec<Range>,
    /// Never given to a node, even where they lie inside.
    pub services: Vec<Range>,
}

pub(crate) struct Ipam {
    world: World,
    carrier: Carrier,
    given: Mutex<Given>,
}

/// Pools, and what was given away but can't be seen yet. A new process sees everything that was given before it began.
struct Given {
    pools: Vec<Pool>,
    promised: HashMap<String, Vec<String>>,
}

impl Ipam {
    pub(crate) fn new(world: World, client: Client, clock: Clock, ranges: &Ranges) -> Arc<Self> {
        let carrier = Carrier::new(NAME, client, clock);
        Arc::new(Self { world, carrier, given: Mutex::new(Given::of(ranges)) })
    }

    async fn one_turn(&self) -> Outcome {
        let plan = self.given.lock().plan(&self.world);
        match plan {
            Ok(plan) => apart::carry_out(&self.carrier, plan).await,
            Err(error) => Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        }
    }
}

impl Worker for Ipam {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Node>();
    }

    /// All nodes are one thing to look after: two turns at once could give the same piece away.
    fn roots(&self, _world: &World) -> Vec<Key> {
        vec![all_nodes()]
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let relevant = |node: &Node| (node.uid(), pieces(node).to_vec());
        let differs =
            seen.is::<Node>() && seen.before::<Node>().map(relevant) != seen.now::<Node>().map(relevant);
        differs.then(all_nodes).into_iter().collect()
    }

    fn turn<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn().boxed()
    }
}

fn all_nodes() -> Key {
    Key::new("", "nodes")
}

fn pieces(node: &Node) -> &[String] {
    let Some(spec) = &node.spec else { return &[] };
    // The older field names the first of them, and may stand alone.
    spec.pod_cidrs.as_deref().unwrap_or(spec.pod_cidr.as_slice())
}

impl Given {
    fn of(ranges: &Ranges) -> Self {
        let pools = ranges.pods.iter().map(|range| Pool::new(*range, &ranges.services)).collect();
        Self { pools, promised: HashMap::new() }
    }

    /// A piece of every pool for each node that has none.
    fn plan(&mut self, world: &World) -> Result<Plan, NotReady> {
        let nodes = world.cache::<Node>()?.all();
        let lacking =
            |node: &&Arc<Node>| pieces(node).is_empty() && node.metadata.deletion_timestamp.is_none();
        let waiting: BTreeSet<String> = nodes.iter().filter(lacking).filter_map(|node| node.uid()).collect();
        self.promised.retain(|uid, _| waiting.contains(uid));
        for (index, pool) in self.pools.iter_mut().enumerate() {
            let seen = nodes.iter().filter_map(|node| pieces(node).get(index));
            let promised = self.promised.values().filter_map(|pieces| pieces.get(index));
            pool.take_only(seen.chain(promised));
        }
        let mut plan = Plan::default();
        for node in nodes.iter().filter(lacking) {
            let uid = node.uid().unwrap_or_default();
            let piece = match self.promised.get(&uid) {
                Some(promised) => Some(promised.clone()),
                None => self.one_of_each(),
            };
            plan = plan.then(match piece {
                Some(pieces) => {
                    self.promised.insert(uid, pieces.clone());
                    given(node, pieces)
                }
                None => Some(told(node)),
            });
        }
        Ok(plan)
    }

    /// All or nothing.
    fn one_of_each(&mut self) -> Option<Vec<String>> {
        let found: Option<Vec<u64>> = self.pools.iter().map(Pool::free).collect();
        let found = found.filter(|found| !found.is_empty())?;
        Some(self.pools.iter_mut().zip(found).map(|(pool, index)| pool.take(index)).collect())
    }
}

fn given(node: &Node, pieces: Vec<String>) -> Option<Action> {
    let mut changed = node.clone();
    let spec = changed.spec.get_or_insert_default();
    spec.pod_cidr = pieces.first().cloned();
    spec.pod_cidrs = Some(pieces);
    Action::change(node, &changed)
}

fn told(node: &Node) -> Action {
    let message = format!("Node {} status is now: CIDRNotAvailable", node.name_any());
    Action::tell(node, Severity::Normal, "CIDRNotAvailable", message)
}

#[cfg(test)]
mod tests;
