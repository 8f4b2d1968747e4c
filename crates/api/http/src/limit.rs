//! How many requests may be under way at once. A few more may wait for a moment; beyond that one is told to come back,
//! so that a flood slows the flood down and not the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kedge_kinds::Status;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many may wait, as a multiple of how many may be under way.
const QUEUE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Limits {
    reads: Gate,
    writes: Gate,
}

struct Gate {
    room: Arc<Semaphore>,
    longest_queue: usize,
    waiting: AtomicUsize,
}

impl Limits {
    pub(crate) fn new(reads: usize, writes: usize) -> Self {
        Self { reads: Gate::new(reads), writes: Gate::new(writes) }
    }

    /// Held while the request is under way.
    pub(crate) async fn enter(&self, writes: bool) -> Result<OwnedSemaphorePermit, Status> {
        let gate = if writes { &self.writes } else { &self.reads };
        let entered = gate.enter().await;
        entered.ok_or_else(|| Status::too_many_requests("Too many requests, please try again later.", 1))
    }
}

impl Gate {
    fn new(limit: usize) -> Self {
        let room = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Self { room, longest_queue: limit.saturating_mul(QUEUE), waiting: AtomicUsize::new(0) }
    }

    async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.room.clone().try_acquire_owned() {
            return Some(permit);
        }
        let place = Place(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.longest_queue {
            return None;
        }
        let entered = tokio::time::timeout(PATIENCE, self.room.clone().acquire_owned()).await;
        drop(place);
        entered.ok()?.ok()
    }
}

/// A place in the queue, given up however the waiting ends.
struct Place<'q>(&'q AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
