//! The engine without a disk, for tests: the same semantics, durable as long as the process lives.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::apply::{Applied, apply};
use crate::snapshot::State;
use crate::watch::Hub;
use crate::{Committed, Stop, StoreError, Txn};

pub(crate) struct Memory {
    hub: Arc<Hub>,
    newest: Mutex<State>,
}

impl Memory {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Memory { hub, newest: Mutex::new(State::default()) }
    }

    pub(crate) fn commit(&self, txn: &Txn) -> Result<Committed, StoreError> {
        // Publishing under the same lock keeps the events in the order of their revisions.
        let mut newest = self.newest.lock();
        if self.hub.is_stopped() {
            return Err(StoreError::Stopped { why: Stop::Closed });
        }
        let revision = newest.revision.next();
        let Applied { committed, events } = apply(&mut newest, txn, revision)?;
        if !events.is_empty() {
            self.hub.publish(Arc::new(newest.clone()), events, 1);
        }
        Ok(committed)
    }
}
