//! The handle that everyone else holds. Chooses the engine and knows none from the inside.

use std::path::Path;
use std::sync::Arc;

use crate::backup::{self, Backup};
use crate::embedded::{Embedded, Options};
use crate::etcd::{Etcd, EtcdOptions};
use crate::memory::Memory;
use crate::seal::{Seal, Sealer};
use crate::snapshot::State;
use crate::watch::{Hub, Limits};
use crate::{Committed, Revision, Snapshot, Stats, Stop, StoreError, Txn, Watch};

/// One ordered map with one history. Cloning gives another handle to the same store.
#[derive(Clone)]
pub struct Store {
    hub: Arc<Hub>,
    engine: Arc<Engine>,
    sealer: Sealer,
}

enum Engine {
    Memory(Memory),
    Embedded(Embedded),
    Etcd(Box<Etcd>),
}

impl Store {
    /// A store without a disk, for tests.
    pub fn memory() -> Store {
        let hub = Arc::new(Hub::new(State::default(), Limits::default()));
        Store { engine: Arc::new(Engine::Memory(Memory::new(hub.clone()))), hub, sealer: Sealer::default() }
    }

    /// Opens the store in folder `dir`, or makes one there.
    pub async fn open(dir: &Path, options: Options) -> Result<Store, StoreError> {
        let dir = dir.to_owned();
        let sealer = Sealer::new(options.seal.clone());
        let (hub, embedded) = blocking(move || Embedded::open(&dir, &options)).await?;
        Ok(Store { hub, engine: Arc::new(Engine::Embedded(embedded)), sealer })
    }

    /// A store whose truth is an etcd cluster, shared with other servers; this one holds a mirror of it.
    pub async fn etcd(endpoints: &[String], options: EtcdOptions) -> Result<Store, StoreError> {
        let sealer = Sealer::new(options.seal.clone());
        let (hub, etcd) = Etcd::connect(endpoints, options).await?;
        Ok(Store { hub, engine: Arc::new(Engine::Etcd(Box::new(etcd))), sealer })
    }

    /// What is published at this moment; never waits.
    pub fn snapshot(&self) -> Snapshot {
        self.hub.snapshot()
    }

    /// A snapshot that holds every write acknowledged, by any server, before this call.
    pub async fn latest(&self) -> Result<Snapshot, StoreError> {
        match &*self.engine {
            Engine::Memory(_) | Engine::Embedded(_) => Ok(self.snapshot()),
            Engine::Etcd(etcd) => {
                // Boxed, so that reads of a store in memory carry no room for it.
                Box::pin(etcd.catch_up()).await?;
                Ok(self.snapshot())
            }
        }
    }

    pub fn revision(&self) -> Revision {
        self.hub.revision()
    }

    /// Carries out `txn`; returns once it is durable and visible. A caller that stops waiting does not undo it.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, StoreError> {
        match &*self.engine {
            Engine::Memory(memory) => memory.commit(&txn),
            Engine::Embedded(embedded) => embedded.commit(&txn).await,
            Engine::Etcd(etcd) => Box::pin(etcd.commit(&txn)).await,
        }
    }

    /// Carries out `txn` together with what `first` adds in front of it, which sees the newest state there is, writes
    /// that are not visible yet included, and may refuse. So those who all change one key need not fail and try again.
    /// `first` keeps every other writer waiting: it has to be short. In a shared store it sees the mirror, which may be
    /// behind: what it adds must expect what it saw, and a conflict is the caller's to try again.
    pub async fn commit_after<E>(
        &self,
        first: impl FnOnce(&Snapshot) -> Result<Txn, E>,
        txn: Txn,
    ) -> Result<Result<Committed, E>, StoreError> {
        match &*self.engine {
            Engine::Memory(memory) => memory.commit_after(first, txn),
            Engine::Embedded(embedded) => embedded.commit_after(first, txn).await,
            Engine::Etcd(etcd) => match first(&self.snapshot()) {
                Ok(before) => Box::pin(etcd.commit(&before.then(txn))).await.map(Ok),
                Err(refusal) => Ok(Err(refusal)),
            },
        }
    }

    /// Whether other servers write to it too.
    pub fn is_shared(&self) -> bool {
        matches!(&*self.engine, Engine::Etcd(_))
    }

    /// Returns when the published state is at `revision` or later. One of the future may take for ever.
    pub async fn reached(&self, revision: Revision) {
        self.hub.reached(revision).await;
    }

    /// Every event after revision `after` of a key that starts with `prefix`, in order, without end.
    pub fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, StoreError> {
        Hub::watch(&self.hub, prefix, after)
    }

    /// Writes the newest state to one file at `to`, which exists only once it is whole. Blocks nobody.
    pub async fn backup(&self, to: &Path) -> Result<Backup, StoreError> {
        let (snapshot, to, sealer) = (self.latest().await?, to.to_owned(), self.sealer.clone());
        blocking(move || backup::write(&snapshot, &to, &sealer)).await
    }

    /// Makes a store in the new or empty folder `into` from a backup, to be opened afterwards.
    pub fn restore(from: &Path, into: &Path) -> Result<Backup, StoreError> {
        backup::restore(from, into, &Sealer::default())
    }

    /// The same for a store with a seal, from a backup that may be of one.
    pub fn restore_sealed(from: &Path, into: &Path, seal: Arc<dyn Seal>) -> Result<Backup, StoreError> {
        backup::restore(from, into, &Sealer::new(Some(seal)))
    }

    pub fn stats(&self) -> Stats {
        let mut stats = self.hub.stats();
        match &*self.engine {
            Engine::Memory(_) | Engine::Etcd(_) => stats.batches = stats.commits,
            Engine::Embedded(embedded) => embedded.add_stats(&mut stats),
        }
        stats
    }

    /// Whether it takes no more writes, because it was closed or because nobody knows what the disk holds.
    pub fn is_stopped(&self) -> bool {
        self.hub.is_stopped()
            || match &*self.engine {
                Engine::Memory(_) | Engine::Etcd(_) => false,
                Engine::Embedded(embedded) => embedded.is_stopped(),
            }
    }

    /// Returns once it takes no more writes.
    pub async fn stopped(&self) {
        self.hub.until_over(|| self.is_stopped()).await;
    }

    /// Takes no more writes, settles those taken, and ends every watch. Reading goes on.
    pub async fn close(&self) {
        let engine = self.engine.clone();
        let settled = blocking(move || {
            match &*engine {
                Engine::Memory(_) => {}
                Engine::Embedded(embedded) => embedded.close(),
                Engine::Etcd(etcd) => etcd.close(),
            }
            Ok(())
        });
        // Only a runtime that is itself going down refuses; then the last handle settles it.
        let _ = settled.await;
        self.hub.stop();
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Stopped { why: Stop::Died }))
}
