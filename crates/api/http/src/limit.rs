//! How many requests may be under way at once. One too many is told to come back, so that a flood slows the flood
//! down and not the server.

use std::sync::Arc;

use kedge_kinds::Status;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

pub(crate) struct Limits {
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

impl Limits {
    pub(crate) fn new(reads: usize, writes: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { reads: semaphore(reads), writes: semaphore(writes) }
    }

    /// Held while the request is under way.
    pub(crate) fn enter(&self, writes: bool) -> Result<OwnedSemaphorePermit, Status> {
        let semaphore = if writes { &self.writes } else { &self.reads };
        match semaphore.clone().try_acquire_owned() {
            Ok(permit) => Ok(permit),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                Err(Status::too_many_requests("Too many requests, please try again later.", 1))
            }
        }
    }
}
