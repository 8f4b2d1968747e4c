//! Keeps the log short without stopping anyone: writes snapshots from an O(1) copy on a thread of its own, then
//! recycles the segments that they make needless, and has the next segment ready before it is needed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Options;
use super::folder::Folder;
use super::log::{Segment, make_spare};
use super::snapshot_file;
use crate::error::{Attempt, StoreError};
use crate::seal::Sealer;
use crate::{Revision, Snapshot};

/// Segments kept for writing over; more than this are removed.
const SPARES: usize = 2;

pub(crate) struct Keeper {
    folder: Arc<Folder>,
    segment_bytes: u64,
    bytes_per_second: u64,
    sealer: Sealer,
    inner: Mutex<Inner>,
    wanted: Condvar,
    /// How often the log was cut short.
    shortened: AtomicU64,
}

struct Inner {
    /// Those that the log has ended, oldest first.
    ended: Vec<Segment>,
    spares: Vec<u64>,
    /// No number is used twice: the writer may still be about to rename the spare that it took.
    next_spare: u64,
    want_spare: bool,
    /// What to write, and the segment that the log was in when it was taken.
    want_snapshot: Option<(Snapshot, Segment)>,
    writing: bool,
    closed: bool,
}

enum Job {
    Spare,
    Snapshot(Snapshot, Segment),
}

impl Keeper {
    pub(crate) fn new(folder: Arc<Folder>, ended: Vec<Segment>, spares: Vec<u64>, options: &Options) -> Self {
        let inner = Inner {
            ended,
            next_spare: spares.iter().max().map_or(1, |last| last + 1),
            spares,
            want_spare: false,
            want_snapshot: None,
            writing: false,
            closed: false,
        };
        Keeper {
            folder,
            segment_bytes: options.segment_bytes,
            bytes_per_second: options.snapshot_bytes_per_second.max(1),
            sealer: Sealer::new(options.seal.clone()),
            inner: Mutex::new(inner),
            wanted: Condvar::new(),
            shortened: AtomicU64::new(0),
        }
    }

    /// A segment to write over that has room for a record of `len` bytes.
    pub(crate) fn take_spare(&self, len: usize) -> Option<PathBuf> {
        let mut inner = self.inner.lock();
        inner.want_spare = false;
        // Spares have the usual size; a larger record needs a segment made for it.
        let usual = len as u64 + 1024 <= self.segment_bytes;
        usual.then(|| inner.spares.pop()).flatten().map(|number| self.folder.spare(number))
    }

    pub(crate) fn ended(&self, segment: Segment) {
        self.inner.lock().ended.push(segment);
    }

    pub(crate) fn want_spare(&self) {
        let mut inner = self.inner.lock();
        if inner.spares.is_empty() && !inner.want_spare {
            inner.want_spare = true;
            self.wanted.notify_one();
        }
    }

    /// False if the last one is not done yet.
    pub(crate) fn want_snapshot(&self, snapshot: Snapshot, during: Segment) -> bool {
        let mut inner = self.inner.lock();
        if inner.writing || inner.want_snapshot.is_some() {
            return false;
        }
        inner.want_snapshot = Some((snapshot, during));
        self.wanted.notify_one();
        true
    }

    pub(crate) fn close(&self) {
        self.inner.lock().closed = true;
        self.wanted.notify_one();
    }

    pub(crate) fn run(&self) {
        while let Some(job) = self.next() {
            let done = match job {
                Job::Spare => self.add_spare(),
                Job::Snapshot(snapshot, during) => self.shorten(&snapshot, during),
            };
            if let Err(error) = done {
                // The log still holds everything. It grows until the next try, and a full disk shows in commits.
                tracing::warn!(%error, "housekeeping failed; it will be tried again");
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut inner = self.inner.lock();
        inner.writing = false;
        loop {
            if inner.closed {
                return None;
            }
            if inner.want_spare && inner.spares.is_empty() {
                return Some(Job::Spare);
            }
            if let Some((snapshot, during)) = inner.want_snapshot.take() {
                inner.writing = true;
                return Some(Job::Snapshot(snapshot, during));
            }
            self.wanted.wait(&mut inner);
        }
    }

    fn add_spare(&self) -> Result<(), StoreError> {
        let number = self.number();
        let path = self.folder.spare(number);
        let made = make_spare(&self.folder, &path.with_extension("tmp"), self.segment_bytes)
            .and_then(|_| self.folder.disk.rename(&path.with_extension("tmp"), &path));
        let mut inner = self.inner.lock();
        // Asked for once for each segment: a failure is not repeated in a loop.
        inner.want_spare = false;
        made.map_err(|error| {
            let _ = self.folder.disk.remove(&path.with_extension("tmp"));
            super::file_error(Attempt::Create, &path, error)
        })?;
        inner.spares.push(number);
        Ok(())
    }

    fn shorten(&self, snapshot: &Snapshot, during: Segment) -> Result<(), StoreError> {
        let began = Instant::now();
        let pace = |written: u64| {
            let due = Duration::from_secs_f64(written as f64 / self.bytes_per_second as f64);
            self.rest(due.saturating_sub(began.elapsed()))
        };
        let path = self.folder.snapshot(snapshot.revision());
        if !snapshot_file::write(&*self.folder.disk, &path, snapshot, &self.sealer, pace)? {
            return Ok(());
        }
        self.drop_snapshots_before(snapshot.revision())?;
        self.recycle(during)?;
        self.shortened.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn shortened(&self) -> u64 {
        self.shortened.load(Ordering::Relaxed)
    }

    /// Waits that long, less if the store is closed; false then.
    fn rest(&self, long: Duration) -> bool {
        let mut inner = self.inner.lock();
        let until = Instant::now() + long;
        while !inner.closed && !self.wanted.wait_until(&mut inner, until).timed_out() {}
        !inner.closed
    }

    fn drop_snapshots_before(&self, revision: Revision) -> Result<(), StoreError> {
        for older in self.folder.list()?.snapshots.into_iter().filter(|known| *known < revision) {
            self.folder.remove(&self.folder.snapshot(older))?;
        }
        Ok(())
    }

    /// Every segment that had ended when the snapshot was taken is now needless.
    fn recycle(&self, during: Segment) -> Result<(), StoreError> {
        let needless: Vec<Segment> =
            self.inner.lock().ended.extract_if(.., |ended| ended.sequence < during.sequence).collect();
        let mut spares = Vec::new();
        for segment in needless {
            let path = self.folder.segment(segment.sequence);
            let usual = self.folder.open(&path)?.size().is_ok_and(|size| size == self.segment_bytes);
            if usual && self.inner.lock().spares.len() + spares.len() < SPARES {
                let number = self.number();
                self.folder.rename(&path, &self.folder.spare(number))?;
                spares.push(number);
            } else {
                self.folder.remove(&path)?;
            }
        }
        // Written over only once its old name is durably gone, or a crash could bring back that name with new content.
        self.folder.sync()?;
        self.inner.lock().spares.append(&mut spares);
        Ok(())
    }

    fn number(&self) -> u64 {
        let mut inner = self.inner.lock();
        inner.next_spare += 1;
        inner.next_spare
    }
}
