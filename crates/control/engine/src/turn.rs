//! One turn of one controller for one object: look, plan, carry out. Whoever calls it decides when, and waits until the
//! world shows what was written.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kedge_client::{Key, Seen, Wait, World};
use kedge_clock::Clock;
use kube::Client;

use crate::carry::{Carrier, TurnError};
use crate::controller::Controller;

/// What a turn came to.
#[derive(Debug)]
pub struct Outcome {
    /// A world that does not show these yet would make the next plan repeat them.
    pub waits: Vec<Wait>,
    pub next: Next,
}

#[derive(Debug)]
pub enum Next {
    /// Until something changes.
    Rest,
    /// Until something changes, or until then.
    At(Timestamp),
    /// Once more, a little later each time.
    Retry(TurnError),
}

/// Puts an object into a worker's queue.
pub type Wake = Arc<dyn Fn(Key) + Send + Sync>;

/// Anything that takes turns, whatever it looks after.
pub trait Worker: Send + Sync {
    fn name(&self) -> &'static str;

    fn watch(&self, world: &World);

    /// Everything that it looks after, for the first look.
    fn roots(&self, world: &World) -> Vec<Key>;

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key>;

    /// Begins whatever the worker follows besides the world, with a way to be woken for it.
    fn start(&self, _wake: Wake) {}

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome>;
}

/// A controller with everything that its plans are made from and carried out with.
pub struct Hand<C> {
    controller: C,
    world: World,
    clock: Clock,
    carrier: Carrier,
}

impl<C: Controller> Hand<C> {
    pub fn new(controller: C, world: World, client: Client, clock: Clock) -> Arc<Self> {
        let carrier = Carrier::new(C::NAME, client, clock.clone());
        Arc::new(Self { controller, world, clock, carrier })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let rest = |waits| Outcome { waits, next: Next::Rest };
        let now = self.clock.now();
        let root = match self.world.get::<C::Root>(key) {
            Ok(Some(root)) => root,
            Ok(None) => return rest(Vec::new()),
            Err(error) => return Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        };
        let plan = match self.controller.plan(&root, &self.world, now) {
            Ok(plan) => plan,
            Err(error) => return Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        };
        for action in &plan.actions {
            tracing::debug!(controller = C::NAME, %key, %action);
        }
        let mut done = self.carrier.carry_out(&plan.actions).await;
        if let Some(TurnError::Refused(refusals)) = &done.error {
            let said = self.controller.refused(&root, refusals, now);
            let also = self.carrier.carry_out(&said).await;
            done.waits.extend(also.waits);
        }
        let next = match (done.error, plan.look_again) {
            (Some(error), _) => Next::Retry(error),
            (None, Some(moment)) => Next::At(moment),
            (None, None) => Next::Rest,
        };
        Outcome { waits: done.waits, next }
    }
}

impl<C: Controller> Worker for Hand<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<C::Root>();
        self.controller.watch(world);
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let roots = world.cache::<C::Root>().map(|cache| cache.all()).unwrap_or_default();
        roots.iter().map(|root| Key::of(&**root)).collect()
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        self.controller.wakes(seen, world)
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}
