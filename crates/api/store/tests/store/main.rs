//! What every engine promises, and what happens when disks and processes fail. One binary, so that it links once.

// The lints know `#[test]` functions as tests, but not what those call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod contract;
mod crash;
mod etcd;
mod faults;
mod log;
mod model;
mod powerloss;
mod sealed;
mod watchers;

use std::path::Path;
use std::time::Duration;

use kedge_store::{Draft, Expect, Options, Revision, Store, StoreError, Txn};

/// Small, so that a test sees many segments and snapshots in little time.
fn small() -> Options {
    Options {
        segment_bytes: 64 << 10,
        snapshot_after_bytes: 256 << 10,
        snapshot_bytes_per_second: u64::MAX,
        ..Options::default()
    }
}

async fn open(dir: &Path) -> Store {
    Store::open(dir, small()).await.unwrap()
}

async fn put(store: &Store, key: &str, value: &str) -> Result<Revision, StoreError> {
    let draft = Draft::with_revision_at(format!("{value}@"), value.len() + 1);
    store.commit(Txn::new().put(key, Expect::Any, draft)).await.map(|committed| committed.revision)
}

/// Everything in a store, to be compared.
fn contents(store: &Store) -> Vec<(String, String, u64, u64)> {
    let snapshot = store.snapshot();
    let all = snapshot.range("", None);
    all.map(|(key, entry)| {
        let text = String::from_utf8_lossy(entry.bytes()).into_owned();
        (key.to_string(), text, entry.created().get(), entry.modified().get())
    })
    .collect()
}

/// Waits until `holds`, and fails saying what was still untrue.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still untrue after ten seconds: {what}");
}
