//! The garbage collector: objects go when all their owners are gone, owners wait for dependents that block them, and orphans
//! are let go. By uid, so that a new owner of an old name inherits nothing. Follows every kind there is, custom ones too.

mod feed;
mod graph;
mod known;
mod verdict;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Carrier, Key, Next, Outcome, Resource, Seen, TurnError, Wake, Worker, World};
use parking_lot::Mutex;

use self::feed::{Feed, Found};
use self::graph::{Graph, Node, Reference};
use self::verdict::{Verdict, verdict};

const NAME: &str = "garbage-collector-controller";

pub struct GarbageCollector {
    graph: Arc<Mutex<Graph>>,
    carrier: Carrier,
    feed: Feed,
}

impl GarbageCollector {
    pub fn new(client: Client, clock: Clock) -> Arc<Self> {
        let graph = Arc::new(Mutex::new(Graph::default()));
        let feed = Feed::new(client.clone(), clock.clone(), graph.clone());
        Arc::new(Self { graph, carrier: Carrier::new(NAME, client, clock), feed })
    }

    /// An object is there, or has changed. For whoever shows it the cluster instead of starting it; says what to look at.
    pub fn saw(&self, resource: &Arc<Resource>, namespaced: bool, meta: &ObjectMeta) -> Vec<Key> {
        let woken = self.graph.lock().put(Node::of(resource, namespaced, meta));
        woken.into_iter().map(|uid| Key::new("", uid)).collect()
    }

    /// An object is there no more.
    pub fn lost(&self, uid: &str) -> Vec<Key> {
        self.graph.lock().remove(uid).into_iter().map(|uid| Key::new("", uid)).collect()
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let next = match self.look(&key.name).await {
            Ok(()) => Next::Rest,
            Err(error) => Next::Retry(error),
        };
        Outcome { waits: Vec::new(), next }
    }

    async fn look(&self, uid: &str) -> Result<(), TurnError> {
        loop {
            let verdict = verdict(&self.graph.lock(), uid);
            match verdict {
                Verdict::Leave => return Ok(()),
                Verdict::Do(actions) => {
                    for action in &actions {
                        tracing::debug!(controller = NAME, %action);
                    }
                    return self.carrier.carry_out(&actions).await.error.map_or(Ok(()), Err);
                }
                // Not having seen an owner is no proof that there is none.
                Verdict::Find(owners) => {
                    for (owner, namespace) in owners {
                        self.find(&owner, &namespace).await?;
                    }
                }
            }
        }
    }

    async fn find(&self, owner: &Reference, namespace: &str) -> Result<(), TurnError> {
        let found = self.feed.find(owner, namespace).await?;
        let mut graph = self.graph.lock();
        match found {
            Found::There(node) => graph.put(node),
            Found::Absent => graph.note_absent(owner, namespace),
            Found::Misplaced => graph.note_misplaced(owner, namespace),
        };
        Ok(())
    }
}

impl Worker for GarbageCollector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, _world: &World) {}

    fn roots(&self, _world: &World) -> Vec<Key> {
        Vec::new()
    }

    fn wakes(&self, _seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        Vec::new()
    }

    fn start(&self, wake: Wake) {
        self.feed.start(wake);
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}

#[cfg(test)]
mod tests;
