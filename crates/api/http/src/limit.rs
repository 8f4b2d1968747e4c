//! How many bodies of one user may be on their way at once. Seats are given to requests that are here in full, so whoever sends slowly
//! must be held back before that, and holds up those of their own name only.

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

/// One of the bodies that its user may send at once. Held until it is here.
pub(crate) struct Share<'l> {
    limits: &'l Limits,
    user: Arc<str>,
    gate: Option<Arc<Gate>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Limits {
    /// As many as may be written at once in all.
    pub(crate) fn new(writes: usize) -> Self {
        Self { part: writes.div_ceil(PART), users: Mutex::default() }
    }

    pub(crate) async fn share(&self, user: &str) -> Result<Share<'_>, Status> {
        let mut share = self.of(user);
        let permit = match &share.gate {
            Some(gate) => gate.enter().await,
            None => None,
        };
        match permit {
            Some(permit) => share.permit = Some(permit),
            None => return Err(Status::too_many_requests("Too many requests, please try again later.", 1)),
        }
        Ok(share)
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
        Share { limits: self, user, gate: Some(gate), permit: None }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.permit = None;
        let mut users = self.limits.users.lock();
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
