//! Takes away ended pods when there are too many, those first that were put off their node, then the oldest.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Key, Next, NotReady, Outcome, Plan, Seen, Worker, World};
use kube::ResourceExt;

use super::removal;
use crate::apart;

const NAME: &str = "ended-pod-collector";
/// How many ended pods may stay.
const MOST: usize = 12_500;

pub(crate) struct Ended {
    world: World,
    carrier: Carrier,
}

impl Ended {
    pub(crate) fn new(world: World, client: Client, clock: Clock) -> Arc<Self> {
        Arc::new(Self { world, carrier: Carrier::new(NAME, client, clock) })
    }

    async fn one_turn(&self) -> Outcome {
        match surplus(&self.world, MOST) {
            Ok(actions) => apart::carry_out(&self.carrier, Plan::from(actions)).await,
            Err(error) => Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        }
    }
}

impl Worker for Ended {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
    }

    /// All pods are one thing to look after: it is their number that matters.
    fn roots(&self, _world: &World) -> Vec<Key> {
        vec![all_pods()]
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let ends = seen.now::<Pod>().is_some_and(has_ended) && !seen.before::<Pod>().is_some_and(has_ended);
        ends.then(all_pods).into_iter().collect()
    }

    fn turn<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn().boxed()
    }
}

fn all_pods() -> Key {
    Key::new("", "pods")
}

fn has_ended(pod: &Pod) -> bool {
    !matches!(pod.phase(), "Pending" | "Running" | "Unknown" | "")
}

pub(super) fn surplus(world: &World, most: usize) -> Result<Vec<Action>, NotReady> {
    let pods = world.cache::<Pod>()?;
    if pods.len() <= most {
        return Ok(Vec::new());
    }
    let mut ended = pods.all();
    ended.retain(|pod| has_ended(pod) && !pod.is_leaving());
    let surplus = ended.len().saturating_sub(most);
    if surplus > 0 {
        ended.sort_by_cached_key(|pod| {
            let was_evicted =
                pod.status.as_ref().and_then(|status| status.reason.as_deref()) == Some("Evicted");
            let made = pod.creation_timestamp().map(|time| time.0);
            (!was_evicted, made, pod.name_any())
        });
    }
    Ok(ended.iter().take(surplus).map(|pod| removal(pod)).collect())
}
