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
use self::recover::Recovered;
use self::sequencer::{Sequencer, Submitted};
use self::writer::{Counters, Writer};
use crate::error::{Attempt, Stop, StoreError};
use crate::seal::Sealer;
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
        let mut recovered = recover::recover(&folder, options)?;
        if let Some(seal) = options.seal.as_ref().filter(|seal| !is_marked(&folder, seal.name())) {
            rewrite(&folder, options, recovered)?;
            mark(&folder, seal.name())?;
            recovered = recover::recover(&folder, options)?;
        }
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
        stats.compactions = self.keeper.shortened();
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

/// Says with which seal everything in the folder was written.
const MARK: &str = "seal";

fn is_marked(folder: &Folder, name: &str) -> bool {
    let mut found = vec![0; name.len()];
    let read = folder.disk.open(&folder.dir.join(MARK)).and_then(|file| {
        let whole = file.size()? == name.len() as u64;
        file.read_exact(&mut found, 0)?;
        Ok(whole)
    });
    // What cannot be read is written anew, with everything that it is about.
    read.unwrap_or(false) && found == name.as_bytes()
}

fn mark(folder: &Folder, name: &str) -> Result<(), StoreError> {
    let path = folder.dir.join(MARK);
    let unfinished = path.with_extension("tmp");
    let written = folder.disk.create(&unfinished).and_then(|file| {
        file.write_all(name.as_bytes(), 0)?;
        file.sync()
    });
    written.map_err(|error| file_error(Attempt::Write, &unfinished, error))?;
    folder.rename(&unfinished, &path)?;
    folder.sync()
}

/// Writes everything anew as it would be written today, and removes every file of before: even what is no longer true
/// stood in them in the clear. Interrupted at any point, the next start finds a whole store and goes on.
fn rewrite(folder: &Arc<Folder>, options: &Options, recovered: Recovered) -> Result<(), StoreError> {
    let Recovered { state, log, .. } = recovered;
    drop(log);
    let revision = state.revision;
    let sealer = Sealer::new(options.seal.clone());
    let before = folder.list()?;
    let snapshot = Snapshot::new(Arc::new(state));
    snapshot_file::write(&*folder.disk, &folder.snapshot(revision), &snapshot, &sealer, |_| true)?;
    // The log that goes on must be there before the one that it goes on from is gone.
    let next = before.segments.last().map_or(1, |last| last + 1);
    drop(log::Log::begin(folder.clone(), options.segment_bytes, next, revision)?);
    for segment in &before.segments {
        folder.remove(&folder.segment(*segment))?;
    }
    for spare in &before.spares {
        folder.remove(&folder.spare(*spare))?;
    }
    // One at the same revision was written over.
    for older in before.snapshots.iter().filter(|older| **older != revision) {
        folder.remove(&folder.snapshot(*older))?;
    }
    folder.sync()
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
