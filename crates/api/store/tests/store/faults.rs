//! A disk that fails on demand: what the callers hear, and what is there afterwards.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use kedge_store::{Disk, DiskFile, Options, OsDisk, Store, StoreError};
use tokio::task::JoinSet;

use crate::{contents, open, put, small};

/// Says when to fail. Shared by the test and every file.
#[derive(Default)]
struct Plan {
    /// Syncs of the log that still succeed; negative: no limit.
    syncs_left: AtomicI64,
    /// Bytes that can still be written; negative: no limit.
    room: AtomicI64,
    /// Writes that still succeed before one fails halfway with an I/O error; negative: no limit.
    writes_left: AtomicI64,
    /// No write takes more than this; zero: no limit.
    most: AtomicU64,
    /// Files that can still be opened or made; negative: no limit.
    files_left: AtomicI64,
}

#[derive(Clone)]
struct FaultDisk(Arc<Plan>);

struct FaultFile {
    file: Box<dyn DiskFile>,
    plan: Arc<Plan>,
}

impl FaultDisk {
    fn new() -> Self {
        let plan = Plan::default();
        for limit in [&plan.syncs_left, &plan.room, &plan.writes_left, &plan.files_left] {
            limit.store(-1, Ordering::SeqCst);
        }
        FaultDisk(Arc::new(plan))
    }

    fn options(&self) -> Options {
        Options { disk: Arc::new(self.clone()), ..small() }
    }

    fn another_file(&self) -> io::Result<()> {
        // EMFILE
        if spend(&self.0.files_left) { Ok(()) } else { Err(io::Error::from_raw_os_error(24)) }
    }

    fn wrap(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FaultFile { file, plan: self.0.clone() })
    }
}

/// Uses up one of a limited number; false if there is none left.
fn spend(limit: &AtomicI64) -> bool {
    limit.load(Ordering::SeqCst) < 0 || limit.fetch_sub(1, Ordering::SeqCst) > 0 || {
        limit.store(0, Ordering::SeqCst);
        false
    }
}

impl Disk for FaultDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.another_file()?;
        OsDisk.create(path).map(|file| self.wrap(file))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.another_file()?;
        OsDisk.open(path).map(|file| self.wrap(file))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        OsDisk.list(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.another_file()?;
        OsDisk.sync_dir(dir)
    }
}

impl DiskFile for FaultFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(into, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        if !spend(&self.plan.writes_left) {
            self.file.write_at(&bytes[..bytes.len() / 2], at)?;
            return Err(io::Error::from_raw_os_error(5));
        }
        let mut len = bytes.len();
        if self.plan.most.load(Ordering::SeqCst) > 0 {
            len = len.min(self.plan.most.load(Ordering::SeqCst) as usize);
        }
        let room = self.plan.room.load(Ordering::SeqCst);
        if room >= 0 {
            len = len.min(room as usize);
            self.plan.room.store(room - len as i64, Ordering::SeqCst);
            if len == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        self.file.write_at(&bytes[..len], at)
    }

    fn sync(&self) -> io::Result<()> {
        match spend(&self.plan.syncs_left) {
            true => self.file.sync(),
            false => Err(io::Error::from_raw_os_error(5)),
        }
    }
}

#[tokio::test]
async fn a_failed_sync_reaches_every_caller_and_is_never_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultDisk::new();
    let store = Store::open(dir.path(), disk.options()).await.unwrap();
    put(&store, "/registry/pods/ns/before", "x").await.unwrap();
    let (before, revision) = (contents(&store), store.revision());
    let mut watch = store.watch("/registry/", revision).unwrap();
    disk.0.syncs_left.store(0, Ordering::SeqCst);

    let mut writers = JoinSet::new();
    for number in 0..20 {
        let store = store.clone();
        writers.spawn(async move { put(&store, &format!("/registry/pods/ns/{number}"), "x").await });
    }
    while let Some(answer) = writers.join_next().await {
        let answer = answer.unwrap();
        assert!(matches!(answer, Err(StoreError::Sync { .. })), "{answer:?}");
    }
    assert_eq!((contents(&store), store.revision()), (before.clone(), revision), "nothing became visible");
    assert!(watch.try_next().is_none());

    // The disk works again, but what it did with the failed pages nobody knows: only a restart helps.
    disk.0.syncs_left.store(-1, Ordering::SeqCst);
    let late = put(&store, "/registry/pods/ns/late", "x").await;
    assert!(matches!(late, Err(StoreError::Sync { .. })), "{late:?}");
    assert_eq!(contents(&store), before, "reading goes on");
    drop(store);
    let store = open(dir.path()).await;
    assert!(contents(&store).contains(&before[0]), "what was acknowledged is there");
    put(&store, "/registry/pods/ns/late", "x").await.unwrap();
}

#[tokio::test]
async fn a_failed_write_stops_the_store_and_its_half_is_not_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultDisk::new();
    let store = Store::open(dir.path(), disk.options()).await.unwrap();
    put(&store, "/registry/pods/ns/before", "x").await.unwrap();
    let before = contents(&store);
    let waiting = store.clone();
    let ended = tokio::spawn(async move { waiting.stopped().await });
    disk.0.writes_left.store(0, Ordering::SeqCst);
    let failed = put(&store, "/registry/pods/ns/half", &"y".repeat(500)).await;
    assert!(matches!(failed, Err(StoreError::Append { .. })), "{failed:?}");
    disk.0.writes_left.store(-1, Ordering::SeqCst);
    let late = put(&store, "/registry/pods/ns/late", "x").await;
    assert!(matches!(late, Err(StoreError::Append { .. })), "{late:?}");
    assert!(store.is_stopped(), "it says so");
    let told = tokio::time::timeout(Duration::from_secs(20), ended).await;
    assert!(told.is_ok(), "whoever waits for its end is told");
    drop(store);
    assert_eq!(contents(&open(dir.path()).await), before);
}

#[tokio::test]
async fn short_writes_are_finished() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultDisk::new();
    disk.0.most.store(1000, Ordering::SeqCst);
    let store = Store::open(dir.path(), disk.options()).await.unwrap();
    put(&store, "/registry/pods/ns/long", &"y".repeat(5000)).await.unwrap();
    let before = contents(&store);
    drop(store);
    assert_eq!(contents(&open(dir.path()).await), before);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_there_is_room() {
    // Room for nothing: the record itself cannot be written. Room for a little: the record is torn.
    // In both cases a segment is already there. A large record needs a new segment, which cannot be made.
    for (case, room, size) in
        [("none", 0, 100), ("a torn record", 60, 500), ("no new segment", 1000, 100 << 10)]
    {
        let dir = tempfile::tempdir().unwrap();
        let disk = FaultDisk::new();
        let store = Store::open(dir.path(), disk.options()).await.unwrap();
        put(&store, "/registry/pods/ns/before", "x").await.unwrap();
        let (before, revision) = (contents(&store), store.revision());
        disk.0.room.store(room, Ordering::SeqCst);
        for _ in 0..3 {
            let refused = put(&store, "/registry/pods/ns/after", &"y".repeat(size)).await;
            assert!(matches!(refused, Err(StoreError::Full { .. })), "{case}: {refused:?}");
        }
        assert_eq!((contents(&store), store.revision()), (before, revision), "{case}");

        disk.0.room.store(-1, Ordering::SeqCst);
        let next = put(&store, "/registry/pods/ns/after", &"z".repeat(size / 2)).await.unwrap();
        assert!(next > revision.next(), "{case}: the revisions of refused writes are not given out again");
        let after = contents(&store);
        drop(store);
        let again = open(dir.path()).await;
        assert_eq!((contents(&again), again.revision()), (after, next), "{case}");
    }
}

#[tokio::test]
async fn a_lack_of_files_refuses_writes_until_there_are_some() {
    // The segment cannot be made, or it is there and the folder cannot be opened to make its name durable.
    for left in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let disk = FaultDisk::new();
        let store = Store::open(dir.path(), disk.options()).await.unwrap();
        put(&store, "/registry/pods/ns/before", "x").await.unwrap();
        disk.0.files_left.store(left, Ordering::SeqCst);
        let refused = put(&store, "/registry/pods/ns/large", &"y".repeat(100 << 10)).await;
        assert!(matches!(refused, Err(StoreError::Full { .. })), "{left}: {refused:?}");
        // What would still fit before the segment that may be there must not go there.
        let refused = put(&store, "/registry/pods/ns/small", "y").await;
        assert!(matches!(refused, Err(StoreError::Full { .. })), "{left}: {refused:?}");
        assert!(!store.is_stopped(), "{left}");

        disk.0.files_left.store(-1, Ordering::SeqCst);
        put(&store, "/registry/pods/ns/small", "z").await.unwrap();
        let after = contents(&store);
        drop(store);
        assert_eq!(contents(&open(dir.path()).await), after, "{left}");
    }
}

#[tokio::test]
async fn a_snapshot_that_cannot_be_written_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultDisk::new();
    let store = Store::open(dir.path(), disk.options()).await.unwrap();
    disk.0.room.store(600 << 10, Ordering::SeqCst);
    let mut written = 0;
    while put(&store, &format!("/registry/pods/ns/{written}"), &"x".repeat(8 << 10)).await.is_ok() {
        written += 1;
    }
    assert!(written > 20, "{written}");
    let before = contents(&store);
    assert_eq!(before.len(), written);
    drop(store);
    assert_eq!(contents(&open(dir.path()).await), before);
}
