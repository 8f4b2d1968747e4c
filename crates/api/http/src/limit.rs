//! How many requests may be under way at once, in all and of one user. A few more may wait for a moment; beyond that one
//! is told to come back, so that a flood slows the flood down and neither the server nor other users.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kedge_kinds::Status;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many may wait, as a multiple of how many may be under way.
const QUEUE: usize = 4;
/// One user gets this part of the room at most.
const PART: usize = 4;
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Limits {
    reads: Lane,
    writes: Lane,
}

struct Lane {
    all: Gate,
    /// What one user may have.
    part: usize,
    /// Of those who have something under way.
    users: Mutex<HashMap<Arc<str>, Arc<Gate>>>,
}

struct Gate {
    room: Arc<Semaphore>,
    longest_queue: usize,
    waiting: AtomicUsize,
}

/// One of the requests that its user may have under way. Held while the request is.
pub(crate) struct Share<'l> {
    lane: &'l Lane,
    user: Arc<str>,
    gate: Option<Arc<Gate>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Limits {
    pub(crate) fn new(reads: usize, writes: usize) -> Self {
        Self { reads: Lane::new(reads), writes: Lane::new(writes) }
    }

    /// Waits for the user's own share, not for room.
    pub(crate) async fn share(&self, writes: bool, user: &str) -> Result<Share<'_>, Status> {
        let lane = if writes { &self.writes } else { &self.reads };
        lane.share(user).await.ok_or_else(come_back)
    }
}

fn come_back() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
}

impl Lane {
    fn new(limit: usize) -> Self {
        let part = limit.div_ceil(PART);
        Self { all: Gate::new(limit), part, users: Mutex::default() }
    }

    async fn share(&self, user: &str) -> Option<Share<'_>> {
        let mut share = self.of(user);
        share.permit = Some(share.gate.as_ref()?.enter().await?);
        Some(share)
    }

    fn of(&self, user: &str) -> Share<'_> {
        let mut users = self.users.lock();
        let (user, gate) = match users.get_key_value(user) {
            Some((user, gate)) => (user.clone(), gate.clone()),
            None => {
                let (user, gate) = (Arc::<str>::from(user), Arc::new(Gate::new(self.part)));
                users.insert(user.clone(), gate.clone());
                (user, gate)
            }
        };
        Share { lane: self, user, gate: Some(gate), permit: None }
    }
}

impl Share<'_> {
    /// Waits for room among everybody's requests.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.lane.all.enter().await.ok_or_else(come_back)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.permit = None;
        let mut users = self.lane.users.lock();
        self.gate = None;
        // Nobody but the map holds it: the user has nothing under way and nothing that waits.
        if users.get(&self.user).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            users.remove(&self.user);
        }
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
