//! Everything random in a history, from its seed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub(crate) struct Chance(StdRng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end.max(1))
    }

    pub(crate) fn percent(&mut self, chance: u32) -> bool {
        self.0.random_range(0..100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }

    /// One of several, each as likely as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, of: &[(u32, T)]) -> T {
        let all: u32 = of.iter().map(|(weight, _)| weight).sum();
        let mut at = self.0.random_range(0..all.max(1));
        for (weight, what) in of {
            if at < *weight {
                return *what;
            }
            at -= weight;
        }
        of.last().expect("something to choose from").1
    }
}
