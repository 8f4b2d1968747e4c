//! The embedded engine over restarts: rotation, snapshots, damage, backups.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_store::{
    Change, Damage, Draft, Expect, Limits, Options, Revision, Store, StoreError, Txn, WatchEnd,
};

use crate::{contents, open, put, small, until};

fn files(dir: &Path, kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(kind))
        .collect();
    found.sort();
    found
}

async fn fill(store: &Store, from: usize, to: usize, size: usize) {
    for number in from..to {
        put(store, &format!("/registry/pods/ns/{number:05}"), &"x".repeat(size)).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 20, 10).await;
    let delete = Txn::new().delete("/registry/pods/ns/00003", Expect::Present);
    let last = store.commit(delete).await.unwrap().revision;
    let before = contents(&store);
    drop(store);
    let store = open(dir.path()).await;
    assert_eq!((contents(&store), store.revision()), (before, last));
    assert_eq!(put(&store, "/registry/pods/ns/new", "x").await.unwrap(), last.next());
}

#[tokio::test]
async fn watches_resume_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let first = put(&store, "/registry/pods/ns/a", "x").await.unwrap();
    put(&store, "/registry/pods/ns/a", "y").await.unwrap();
    drop(store);
    let store = open(dir.path()).await;
    let mut watch = store.watch("/registry/pods/", first).unwrap();
    match watch.next().await.unwrap().change {
        Change::Put { now, before } => {
            assert_eq!((now.bytes(), before.unwrap().bytes()), (&"y@2".into(), &"x@1".into()));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_log_is_cut_short_and_its_segments_are_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    // Ten times what starts a snapshot, most of it overwritten.
    for round in 0..10 {
        fill(&store, 0, 64, 4 << 10).await;
        until(&format!("a snapshot after round {round}"), || !files(dir.path(), "snapshot-").is_empty())
            .await;
    }
    until("older snapshots are gone", || files(dir.path(), "snapshot-").len() == 1).await;
    until("it is counted how often", || store.stats().compactions >= 1).await;
    let bytes: u64 =
        fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 2 << 20, "{bytes} bytes of files for 256 KiB of values");
    let before = contents(&store);
    for _ in 0..3 {
        store.close().await;
        drop(open(dir.path()).await);
    }
    let store = open(dir.path()).await;
    assert_eq!(contents(&store), before);
}

#[tokio::test]
async fn files_are_for_their_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a/b");
    let store = open(&folder).await;
    fill(&store, 0, 100, 8 << 10).await;
    until("a snapshot", || !files(&folder, "snapshot-").is_empty()).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in files(&folder, "") {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_folder_is_opened_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    assert!(matches!(Store::open(dir.path(), small()).await, Err(StoreError::Locked { .. })));
    drop(store);
    open(dir.path()).await;
}

#[tokio::test]
async fn nothing_is_written_while_nobody_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 10, 100).await;
    let batches = store.stats().batches;
    let times = || -> Vec<_> {
        files(dir.path(), "").iter().map(|file| fs::metadata(file).unwrap().modified().unwrap()).collect()
    };
    let before = times();
    for _ in 0..10 {
        store.commit(Txn::new().check("/registry/pods/ns/00001", Expect::Present)).await.unwrap();
        store.commit(Txn::new().delete("/registry/pods/ns/none", Expect::Any)).await.unwrap();
        assert!(store.commit(Txn::new().check("/nowhere", Expect::Present)).await.is_err());
    }
    assert_eq!((times(), store.stats().batches), (before, batches));
}

#[tokio::test]
async fn a_torn_end_is_cut_off_and_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 3, 100).await;
    let before = contents(&store);
    put(&store, "/registry/pods/ns/last", &"y".repeat(1000)).await.unwrap();
    drop(store);
    let log = files(dir.path(), "log-").pop().unwrap();
    let whole = fs::read(&log).unwrap();
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
    for torn in [1, 8, 500, 990, 1050] {
        let mut damaged = whole.clone();
        damaged[end - torn + 1..=end].fill(0);
        fs::write(&log, &damaged).unwrap();
        let store = open(dir.path()).await;
        assert_eq!(contents(&store), before, "torn off {torn} bytes");
        assert_eq!(put(&store, "/registry/pods/ns/other", "z").await.unwrap(), Revision::new(4));
        drop(store);
        assert_eq!(contents(&open(dir.path()).await).len(), 4, "torn off {torn} bytes");
    }
}

#[tokio::test]
async fn damage_anywhere_else_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 40, 4 << 10).await;
    drop(store);
    let logs = files(dir.path(), "log-");
    assert!(logs.len() > 2, "{logs:?}");
    for (case, file, at) in [
        ("the first record of the first segment", &logs[0], 48),
        ("a length in the first segment", &logs[0], 48 + 5),
        ("a value in the first segment", &logs[0], 2000),
        ("the header of the first segment", &logs[0], 20),
        ("the last record of the first segment", &logs[0], 58_000),
        ("the first record of the last segment", &logs[logs.len() - 1], 60),
    ] {
        let whole = fs::read(file).unwrap();
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(file, &damaged).unwrap();
        match Store::open(dir.path(), small()).await {
            Err(StoreError::Corrupt { .. }) => {}
            Err(other) => panic!("{case}: {other}"),
            Ok(_) => panic!("{case}: opened"),
        }
        fs::write(file, &whole).unwrap();
    }
    let hidden = dir.path().join("hidden");
    fs::rename(&logs[1], &hidden).unwrap();
    let missing = Store::open(dir.path(), small()).await;
    assert!(matches!(missing, Err(StoreError::Corrupt { why: Damage::Missing, .. })));
    fs::rename(&hidden, &logs[1]).unwrap();
    assert_eq!(contents(&open(dir.path()).await).len(), 40, "whole again");
}

#[tokio::test]
async fn a_damaged_snapshot_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 100, 8 << 10).await;
    until("a snapshot", || !files(dir.path(), "snapshot-").is_empty()).await;
    drop(store);
    let snapshot = files(dir.path(), "snapshot-").pop().unwrap();
    let whole = fs::read(&snapshot).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (case, bytes) in [
        ("flipped", &flipped[..]),
        ("cut", &whole[..whole.len() - 40]),
        ("short", &whole[..20]),
        ("empty", &[]),
    ] {
        fs::write(&snapshot, bytes).unwrap();
        assert!(matches!(Store::open(dir.path(), small()).await, Err(StoreError::Corrupt { .. })), "{case}");
    }
}

#[tokio::test]
async fn a_snapshot_without_its_log_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 100, 8 << 10).await;
    until("a snapshot", || !files(dir.path(), "snapshot-").is_empty()).await;
    drop(store);
    for segment in files(dir.path(), "log-") {
        fs::remove_file(segment).unwrap();
    }
    let refused = Store::open(dir.path(), small()).await.err().map(|error| error.to_string());
    assert!(refused.as_deref().is_some_and(|text| text.contains("the whole log")), "{refused:?}");
}

#[tokio::test]
async fn a_backup_taken_under_load_restores_to_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("data")).await;
    fill(&store, 0, 100, 100).await;
    let writer = tokio::spawn({
        let store = store.clone();
        async move { fill(&store, 0, 200, 2000).await }
    });
    let file = dir.path().join("backup.kedge");
    let backup = store.backup(&file).await.unwrap();
    writer.await.unwrap();
    let into = dir.path().join("restored");
    let restored = Store::restore(&file, &into).unwrap();
    assert_eq!((restored.objects, restored.bytes), (backup.objects, backup.bytes));
    let again = open(&into).await;
    assert!(contents(&again).iter().all(|(.., modified)| *modified <= backup.revision.get()));
    assert_eq!(again.snapshot().len() as u64, backup.objects);
    let next = put(&again, "/registry/pods/ns/new", "x").await.unwrap();
    assert!(next > store.revision(), "{next} may have been given out before");
    assert!(matches!(again.watch("/registry/", store.revision()), Err(StoreError::Compacted { .. })));

    assert!(matches!(Store::restore(&file, &into), Err(StoreError::NotEmpty { .. })));
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let refused = Store::restore(&file, &dir.path().join("never"));
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
}

#[tokio::test]
async fn the_past_is_forgotten_within_bounds() {
    let dir = tempfile::tempdir().unwrap();
    for (case, ring) in [
        ("by number", Limits { events: 100, bytes: usize::MAX }),
        ("by size", Limits { events: usize::MAX, bytes: 64 << 10 }),
    ] {
        let store = Store::open(&dir.path().join(case), Options { ring, ..small() }).await.unwrap();
        let start = store.revision();
        let mut slow = store.watch("/registry/pods/", start).unwrap();
        let mut other = store.watch("/registry/services/", start).unwrap();
        put(&store, "/registry/services/ns/a", "x").await.unwrap();
        fill(&store, 0, 300, 1000).await;
        let stats = store.stats();
        assert!(stats.ring_events <= 100 && stats.ring_bytes <= 200 << 10, "{case}: {stats:?}");
        assert_eq!(slow.next().await.unwrap_err(), WatchEnd::Lagged, "{case}");
        assert!(matches!(store.watch("/registry/pods/", start), Err(StoreError::Compacted { .. })), "{case}");
        assert_eq!(other.next().await.unwrap_err(), WatchEnd::Lagged, "{case}: its event is forgotten too");
        let quiet = store.watch("/registry/nodes/", start);
        assert!(quiet.is_ok(), "{case}: nothing of this group was ever forgotten");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_do_not_wait_for_readers() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fill(&store, 0, 200, 100).await;
    let snapshot = store.snapshot();
    // A reader in the middle of a list for as long as the writers work.
    let mut list = snapshot.range("/registry/pods/", None);
    list.next().unwrap();
    fill(&store, 0, 200, 50).await;
    assert_eq!(list.map(|(_, entry)| entry.bytes().len()).min(), Some(100 + 1 + 1));
    assert!(store.snapshot().revision() > snapshot.revision());
}

#[tokio::test]
async fn too_large_a_transaction_is_refused_and_a_large_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    put(&store, "/registry/pods/ns/large", &"x".repeat(3 << 20)).await.unwrap();
    let huge = Txn::new().put("/registry/pods/ns/huge", Expect::Any, Draft::new(vec![0; 9 << 20]));
    assert!(matches!(store.commit(huge).await, Err(StoreError::TooLarge { .. })));
    put(&store, "/registry/pods/ns/small", "x").await.unwrap();
    let before = contents(&store);
    drop(store);
    assert_eq!(contents(&open(dir.path()).await), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_are_shared() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()).await);
    let writers: Vec<_> = (0..32)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    put(&store, &format!("/registry/pods/{writer}/{number}"), "x").await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.commits, stats.objects), (640, 640));
    assert!(stats.batches < 320, "{} syncs for 640 commits", stats.batches);
}
