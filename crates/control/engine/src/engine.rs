//! Keeps every worker's loop going: what changes goes into its queue, what is due gets a turn, several at a time and never
//! two for one object. Nothing here is true only in memory: a new engine looks at everything once and goes on from there.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use kedge_client::{Key, Seen, World};
use kedge_clock::Clock;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::carry::TurnError;
use crate::controller::Controller;
use crate::metrics::{Counters, Metrics};
use crate::queue::Queue;
use crate::turn::{Hand, Next, Outcome, Worker};

/// How many turns of one worker are under way at the same time.
const PARALLEL: usize = 16;
/// What a clock that is only a little off is never corrected by at once.
const CLOCK_WAS_SET: SignedDuration = SignedDuration::from_secs(2);

/// All loops of one process. They end with it.
pub struct Engine {
    world: World,
    client: Client,
    clock: Clock,
    workers: Vec<Arc<dyn Worker>>,
    metrics: Metrics,
}

impl Engine {
    pub fn new(world: World, client: Client, clock: Clock) -> Self {
        Self { world, client, clock, workers: Vec::new(), metrics: Metrics::default() }
    }

    /// Counts in these from now on.
    #[must_use]
    pub fn counted_in(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    #[must_use]
    pub fn with<C: Controller>(self, controller: C) -> Self {
        let hand = Hand::new(controller, self.world.clone(), self.client.clone(), self.clock.clone());
        self.with_worker(hand)
    }

    #[must_use]
    pub fn with_worker(mut self, worker: Arc<dyn Worker>) -> Self {
        self.workers.push(worker);
        self
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn workers(&self) -> &[Arc<dyn Worker>] {
        &self.workers
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut loops = JoinSet::new();
        for worker in self.workers {
            let counters = self.metrics.of(worker.name());
            loops.spawn(look_after(worker, self.world.clone(), self.clock.clone(), counters));
        }
        while loops.join_next().await.is_some() {}
    }
}

/// A worker's queue, and how to be woken when it gets something.
#[derive(Default)]
struct Desk {
    queue: Mutex<Queue>,
    woken: Notify,
}

async fn look_after(worker: Arc<dyn Worker>, world: World, clock: Clock, counters: Counters) {
    let desk = Arc::new(Desk::default());
    let listener = {
        let (desk, worker, world) = (desk.clone(), worker.clone(), world.clone());
        Arc::new(move |seen: &Seen<'_>| {
            let keys = worker.wakes(seen, &world);
            if !keys.is_empty() {
                let mut queue = desk.queue.lock();
                keys.into_iter().for_each(|key| queue.add(key));
                desk.woken.notify_one();
            }
        })
    };
    world.listen(&listener);
    worker.watch(&world);
    world.ready().await;
    {
        let mut queue = desk.queue.lock();
        worker.roots(&world).into_iter().for_each(|key| queue.add(key));
    }
    worker.start({
        let desk = desk.clone();
        Arc::new(move |key| {
            desk.queue.lock().add(key);
            desk.woken.notify_one();
        })
    });
    let mut turns = JoinSet::new();
    // The machine's clock may be set while we wait. Moments are counted by one that can't be, and asked for anew when that happened.
    let steady = clock.steady();
    let mut ahead = clock.ahead_of(&steady);
    loop {
        let next_moment = {
            let mut queue = desk.queue.lock();
            let ahead_now = clock.ahead_of(&steady);
            if (ahead_now - ahead).abs() > CLOCK_WAS_SET {
                queue.hasten();
            }
            ahead = ahead_now;
            while turns.len() < PARALLEL
                && let Some(key) = queue.take(steady.now())
            {
                turns.spawn(turn(worker.clone(), world.clone(), steady.clone(), key));
            }
            counters.waiting(queue.len());
            queue.next_moment()
        };
        let due = async {
            match next_moment {
                Some(moment) => steady.until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(ended) = turns.join_next() => {
                if let Ok((key, next, took)) = ended {
                    counters.ended(took, matches!(next, Next::Retry(_)));
                    settle(&worker, &desk, (&clock, &steady), &key, next);
                }
            }
            () = desk.woken.notified() => {}
            () = due => {}
        }
    }
}

async fn turn(worker: Arc<dyn Worker>, world: World, clock: Clock, key: Key) -> (Key, Next, SignedDuration) {
    let begun = clock.now();
    let ended = AssertUnwindSafe(worker.turn(&key)).catch_unwind().await;
    let Outcome { waits, next } = ended.unwrap_or_else(|_| {
        tracing::error!(controller = worker.name(), %key, "a turn panicked; it is tried again");
        Outcome { waits: Vec::new(), next: Next::Retry(TurnError::Panicked) }
    });
    for wait in &waits {
        world.catch_up(wait).await;
    }
    (key, next, clock.now().duration_since(begun))
}

fn settle(worker: &Arc<dyn Worker>, desk: &Desk, (clock, steady): (&Clock, &Clock), key: &Key, next: Next) {
    let mut queue = desk.queue.lock();
    match next {
        Next::Rest => queue.done(key),
        Next::At(moment) => {
            queue.done(key);
            let moment = moment.saturating_sub(clock.ahead_of(steady)).unwrap_or(Timestamp::MAX);
            queue.add_at(key.clone(), moment);
        }
        Next::Retry(error) => {
            tracing::debug!(controller = worker.name(), %key, %error, "once more");
            queue.failed(key, steady.now());
        }
    }
}
