//! What is broken when, for how long and at which moment: a series of rounds that a seed decides, the same one whenever it is asked for.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::faults::Fault;

/// How long a run goes on, and with which of the seed's rounds it begins.
pub(crate) struct Length {
    pub(crate) from: usize,
    pub(crate) rounds: Option<usize>,
    pub(crate) time: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) number: usize,
    pub(crate) fault: Fault,
    /// How long the fault lasts, if it is one that does.
    pub(crate) held: Duration,
    /// How long the round's job has been under way when it happens.
    pub(crate) pause: Duration,
}

impl Length {
    pub(crate) fn is_over(&self, begun: Instant) -> bool {
        self.time.is_some_and(|time| begun.elapsed() > time)
    }

    /// One of every kind, or if it is to go on for long everything everywhere in turn, and then at random.
    pub(crate) fn script(&self, seed: u64) -> Box<dyn Iterator<Item = Round>> {
        let is_long = self.rounds.is_some() || self.time.is_some();
        let mut random = StdRng::seed_from_u64(seed);
        let in_turn = if is_long { Fault::all() } else { Fault::some() };
        let rounds = if is_long { usize::MAX } else { in_turn.len() };
        let all = (0..rounds).map(move |number| {
            let fault = match in_turn.get(number) {
                Some(fault) => *fault,
                None if random.random_bool(0.25) => Fault::Storm(random.random()),
                None => in_turn[random.random_range(0..in_turn.len())],
            };
            let held = held(fault, is_long, &mut random);
            let pause = Duration::from_millis(random.random_range(0..1500));
            Round { number, fault, held, pause }
        });
        Box::new(all.skip(self.from).take(self.rounds.unwrap_or(usize::MAX)))
    }
}

/// A node may be silent for 20 s before it counts as lost: a long run goes beyond.
fn held(fault: Fault, is_long: bool, random: &mut StdRng) -> Duration {
    let (short, long) = match fault {
        Fault::FillDisk(_) | Fault::TurnClock(..) => (4, 6..12),
        Fault::Cut(..) => (4, 5..30),
        Fault::Freeze(_) => (6, 5..40),
        Fault::Unplug(_) => (4, 5..45),
        Fault::ServerAway => (6, 120..240),
        Fault::KillKedge(_)
        | Fault::KillContainerd(_)
        | Fault::KillAll(_)
        | Fault::KillContainer(_)
        | Fault::KillSandbox(_)
        | Fault::KillShim(_)
        | Fault::Storm(_) => return Duration::ZERO,
    };
    Duration::from_secs(if is_long { random.random_range(long) } else { short })
}
