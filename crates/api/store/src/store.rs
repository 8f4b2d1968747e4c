//! The handle that everyone else holds. Chooses the engine and knows none from the inside.

use std::sync::Arc;

use crate::memory::Memory;
use crate::snapshot::State;
use crate::watch::{Hub, Limits};
use crate::{Committed, Revision, Snapshot, Stats, StoreError, Txn, Watch};

/// One ordered map with one history. Cloning gives another handle to the same store.
#[derive(Clone)]
pub struct Store {
    hub: Arc<Hub>,
    engine: Arc<Engine>,
}

enum Engine {
    Memory(Memory),
}

impl Store {
    /// A store without a disk, for tests.
    pub fn memory() -> Store {
        let hub = Arc::new(Hub::new(State::default(), Limits::default()));
        Store { engine: Arc::new(Engine::Memory(Memory::new(hub.clone()))), hub }
    }

    /// What is published at this moment; never waits.
    pub fn snapshot(&self) -> Snapshot {
        self.hub.snapshot()
    }

    /// A snapshot that holds every write acknowledged, by any server, before this call.
    pub async fn latest(&self) -> Result<Snapshot, StoreError> {
        match &*self.engine {
            Engine::Memory(_) => Ok(self.snapshot()),
        }
    }

    pub fn revision(&self) -> Revision {
        self.hub.revision()
    }

    /// Carries out `txn`; returns once it is durable and visible. A caller that stops waiting does not undo it.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, StoreError> {
        match &*self.engine {
            Engine::Memory(memory) => memory.commit(&txn),
        }
    }

    /// Every event after revision `after` of a key that starts with `prefix`, in order, without end.
    pub fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, StoreError> {
        Hub::watch(&self.hub, prefix, after)
    }

    pub fn stats(&self) -> Stats {
        self.hub.stats()
    }

    /// Stops taking writes, ends every watch, and returns when what was taken is settled.
    pub async fn close(&self) {
        self.hub.stop();
    }
}
