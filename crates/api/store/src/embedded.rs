//! The default engine: everything in memory, every write first in a log of our own. Wires its parts and owns their threads.
//! Knows neither the layout of a record nor what a watcher does with an event.

mod folder;
mod keeper;
mod log;
mod options;
mod recover;
mod sequencer;
pub(crate) mod snapshot_file;
mod writer;

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use self::folder::Folder;
pub(crate) use self::folder::file_error;
use self::keeper::Keeper;
pub use self::options::Options;
use self::sequencer::{Sequencer, Submitted};
use self::writer::{Counters, Writer};
use crate::error::{Attempt, Stop, StoreError};
use crate::watch::Hub;
use crate::{Committed, Revision, Snapshot, Stats, Txn};

pub(crate) struct Embedded {
    sequencer: Arc<Sequencer>,
    counters: Arc<Counters>,
    keeper: Arc<Keeper>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held until the store is closed; the kernel lets go of it even if the process is killed.
    lock: Mutex<Option<File>>,
}

impl Embedded {
    /// Opens or makes the store in `dir`. Blocks.
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<(Arc<Hub>, Self), StoreError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|error| file_error(Attempt::Create, dir, error))?;
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            options.disk.sync_dir(parent).map_err(|error| file_error(Attempt::Sync, parent, error))?;
        }
        let lock = Mutex::new(Some(lock(dir)?));
        let folder = Arc::new(Folder { dir: dir.to_owned(), disk: options.disk.clone() });
        let recovered = recover::recover(&folder, options)?;
        let hub = Arc::new(recovered.hub);
        let sequencer = Arc::new(Sequencer::new(recovered.state, options));
        let counters = Arc::new(Counters::default());
        let keeper = Arc::new(Keeper::new(folder, recovered.segments, recovered.spares, options));

        let writer = Writer {
            sequencer: sequencer.clone(),
            hub: hub.clone(),
            keeper: keeper.clone(),
            counters: counters.clone(),
            log: recovered.log,
            snapshot_after: options.snapshot_after_bytes,
        };
        let keeping = keeper.clone();
        let threads = vec![
            spawn(dir, "kedge-log", move || writer.run())?,
            spawn(dir, "kedge-snapshot", move || keeping.run())?,
        ];
        let threads = Mutex::new(threads);
        Ok((hub, Embedded { sequencer, counters, keeper, threads, lock }))
    }

    pub(crate) async fn commit(&self, txn: &Txn) -> Result<Committed, StoreError> {
        settled(self.sequencer.submit(txn)?).await
    }

    pub(crate) async fn commit_after<E>(
        &self,
        first: impl FnOnce(&Snapshot) -> Result<Txn, E>,
        txn: Txn,
    ) -> Result<Result<Committed, E>, StoreError> {
        let (submitted, refusal) = self.sequencer.submit_after(first, txn)?;
        let committed = settled(submitted).await?;
        Ok(refusal.map_or(Ok(committed), Err))
    }

    pub(crate) fn add_stats(&self, stats: &mut Stats) {
        self.counters.add_to(stats);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.sequencer.is_stopped()
    }

    /// Takes no more writes, settles those taken, and waits for the threads. Blocks for about one sync.
    pub(crate) fn close(&self) {
        self.sequencer.close();
        self.keeper.close();
        for thread in self.threads.lock().drain(..) {
            // A thread that panicked has already dropped its callers' channels, which is how they learn of it.
            let _ = thread.join();
        }
        self.lock.lock().take();
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

/// Makes the empty log that belongs to a snapshot at `newest`. Blocks.
pub(crate) fn begin_log(dir: &Path, newest: Revision) -> Result<(), StoreError> {
    let options = Options::default();
    let folder = Arc::new(Folder { dir: dir.to_owned(), disk: options.disk });
    log::Log::begin(folder, options.segment_bytes, 1, newest).map(|_| ())
}

async fn settled(submitted: Submitted) -> Result<Committed, StoreError> {
    match submitted {
        Submitted::Settled(committed) => Ok(committed),
        Submitted::Pending(answer) => answer.await.unwrap_or(Err(StoreError::Stopped { why: Stop::Died })),
    }
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| file_error(Attempt::Open, &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Locked { dir: dir.to_owned() }),
        Err(std::fs::TryLockError::Error(error)) => Err(file_error(Attempt::Open, &path, error)),
    }
}

fn spawn(dir: &Path, name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| file_error(Attempt::Open, dir, error))
}
