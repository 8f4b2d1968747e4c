//! A worker that does not take a cache's silence for proof. Two kinds' caches are never at the same revision, and a volume is
//! not given up because its claim has not been heard of yet: before anything that can't be undone the API itself is asked.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kedge_client::{Client, Watched};
use kedge_clock::Clock;
use kedge_engine::{Carrier, Engine, Key, Next, NotReady, Outcome, Plan, Seen, TurnError, Worker, World};

/// Decides, and says when it needs proof to.
pub(crate) trait Decide: Send + Sync + 'static {
    type Root: Watched;
    /// What the API itself answers.
    type Proof: Send + Sync;

    const NAME: &'static str;

    fn watch(&self, world: &World);

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key>;

    fn decide(
        &self,
        root: &Self::Root,
        world: &World,
        proof: Option<&Self::Proof>,
        now: Timestamp,
    ) -> Result<Verdict, NotReady>;

    fn prove<'a>(
        &'a self,
        root: &'a Self::Root,
        client: &'a Client,
    ) -> BoxFuture<'a, Result<Self::Proof, kube::Error>>;
}

#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Do(Plan),
    /// The cache does not show what would have to be there; the API is to be asked.
    Prove,
}

impl<P: Into<Plan>> From<P> for Verdict {
    fn from(plan: P) -> Self {
        Self::Do(plan.into())
    }
}

pub(crate) struct Careful<D> {
    decider: D,
    world: World,
    clock: Clock,
    carrier: Carrier,
}

impl<D: Decide> Careful<D> {
    pub(crate) fn new(decider: D, engine: &Engine) -> Arc<Self> {
        let (client, clock) = (engine.client().clone(), engine.clock().clone());
        let carrier = Carrier::new(D::NAME, client, clock.clone());
        Arc::new(Self { decider, world: engine.world().clone(), clock, carrier })
    }

    async fn plan(&self, key: &Key) -> Result<Plan, TurnError> {
        let Some(root) = self.world.get::<D::Root>(key)? else { return Ok(Plan::default()) };
        let now = self.clock.now();
        if let Verdict::Do(plan) = self.decider.decide(&root, &self.world, None, now)? {
            return Ok(plan);
        }
        let proof = self.decider.prove(&root, self.carrier.client()).await.map_err(|source| {
            TurnError::Failed { action: format!("ask about {key}"), source: Box::new(source) }
        })?;
        match self.decider.decide(&root, &self.world, Some(&proof), now)? {
            Verdict::Do(plan) => Ok(plan),
            Verdict::Prove => Ok(Plan::default()),
        }
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let plan = match self.plan(key).await {
            Ok(plan) => plan,
            Err(error) => return Outcome { waits: Vec::new(), next: Next::Retry(error) },
        };
        for action in &plan.actions {
            tracing::debug!(controller = D::NAME, %key, %action);
        }
        let done = self.carrier.carry_out(&plan.actions).await;
        let next = match (done.error, plan.look_again) {
            (Some(error), _) => Next::Retry(error),
            (None, Some(moment)) => Next::At(moment),
            (None, None) => Next::Rest,
        };
        Outcome { waits: done.waits, next }
    }
}

impl<D: Decide> Worker for Careful<D> {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<D::Root>();
        self.decider.watch(world);
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let roots = world.cache::<D::Root>().map(|cache| cache.all()).unwrap_or_default();
        roots.iter().map(|root| Key::of(&**root)).collect()
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        self.decider.wakes(seen, world)
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}
