//! What carrying Services has cost so far, for whoever shows it. Decides nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Cheap to clone; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    services: AtomicU64,
    turns: AtomicU64,
    failures: AtomicU64,
    micros: AtomicU64,
}

/// Counted since the process began, but for the Services, which are those of this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub services: u64,
    /// Changes told to the kernel, and those that it did not take.
    pub turns: u64,
    pub failures: u64,
    pub taken: Duration,
}

impl Figures {
    pub fn counts(&self) -> Counts {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Counts {
            services: read(&self.0.services),
            turns: read(&self.0.turns),
            failures: read(&self.0.failures),
            taken: Duration::from_micros(read(&self.0.micros)),
        }
    }

    pub(crate) fn carries(&self, services: usize) {
        self.0.services.store(services as u64, Ordering::Relaxed);
    }

    pub(crate) fn turned(&self, took: Duration, failed: bool) {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        self.0.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
    }
}
