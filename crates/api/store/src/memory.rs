//! The engine without a disk, for tests: the same semantics, durable as long as the process lives.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::apply::{Applied, apply};
use crate::snapshot::State;
use crate::watch::Hub;
use crate::{Committed, Snapshot, Stop, StoreError, Txn};

pub(crate) struct Memory {
    hub: Arc<Hub>,
    newest: Mutex<State>,
}

impl Memory {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Memory { hub, newest: Mutex::new(State::default()) }
    }

    pub(crate) fn commit(&self, txn: &Txn) -> Result<Committed, StoreError> {
        self.enter(&mut self.newest.lock(), txn)
    }

    pub(crate) fn commit_after<E>(
        &self,
        first: impl FnOnce(&Snapshot) -> Result<Txn, E>,
        txn: Txn,
    ) -> Result<Result<Committed, E>, StoreError> {
        let mut newest = self.newest.lock();
        match first(&Snapshot::new(Arc::new(newest.clone()))) {
            Ok(before) => self.enter(&mut newest, &before.then(txn)).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Publishing under the same lock keeps the events in the order of their revisions.
    fn enter(&self, newest: &mut State, txn: &Txn) -> Result<Committed, StoreError> {
        if self.hub.is_stopped() {
            return Err(StoreError::Stopped { why: Stop::Closed });
        }
        let revision = newest.revision.next();
        let Applied { committed, events } = apply(newest, txn, revision)?;
        if !events.is_empty() {
            self.hub.publish(Arc::new(newest.clone()), events, 1);
        }
        Ok(committed)
    }
}
