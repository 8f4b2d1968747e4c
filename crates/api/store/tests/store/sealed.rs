//! Values that a seal concerns stand nowhere in the clear: not in the log, not in a snapshot, not in a backup, and not in
//! what is left of the time before the seal.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kedge_store::{Options, Seal, Store, StoreError, Txn, Unopened};

use super::{contents, put, small};

/// A seal that anyone could break, but that keeps a seal's promises: by name, bound to the key, changes are noticed.
struct Toy {
    name: String,
    key: u8,
    old: Option<u8>,
}

pub(super) fn toy(key: u8, old: Option<u8>) -> Arc<dyn Seal> {
    Arc::new(Toy { name: format!("toy{key}"), key, old })
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte))
}

impl Seal for Toy {
    fn name(&self) -> &str {
        &self.name
    }

    fn concerns(&self, key: &str) -> bool {
        key.starts_with("/registry/secrets/")
    }

    fn seal(&self, key: &str, value: &[u8]) -> Option<Vec<u8>> {
        if value.starts_with(b"cannot") {
            return None;
        }
        let check = sum(&[key.as_bytes(), value].concat());
        Some([self.key, check].into_iter().chain(value.iter().map(|byte| byte ^ self.key)).collect())
    }

    fn open(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        let [with, check, body @ ..] = sealed else { return Err(Unopened::Changed) };
        if *with != self.key && Some(*with) != self.old {
            return Err(Unopened::NoKey);
        }
        let value: Vec<u8> = body.iter().map(|byte| byte ^ with).collect();
        if sum(&[key.as_bytes(), &value].concat()) == *check { Ok(value) } else { Err(Unopened::Changed) }
    }

    fn is_old(&self, sealed: &[u8]) -> bool {
        sealed.first() != Some(&self.key)
    }
}

async fn open(dir: &Path, seal: Option<Arc<dyn Seal>>) -> Result<Store, StoreError> {
    Store::open(dir, Options { seal, ..small() }).await
}

/// The files under a folder that hold this text.
fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

const KEY: &str = "/registry/secrets/default/s";

#[tokio::test]
async fn a_seal_covers_what_was_there_before_it_and_all_that_follows() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), None).await.unwrap();
    put(&store, KEY, "hunter2").await.unwrap();
    put(&store, "/registry/secrets/default/gone", "hunter1").await.unwrap();
    store
        .commit(Txn::new().delete("/registry/secrets/default/gone", kedge_store::Expect::Any))
        .await
        .unwrap();
    // Enough to fill segments and to have some put aside for writing over.
    for i in 0..300 {
        put(&store, &format!("/registry/pods/default/p{}", i % 10), &"x".repeat(4096)).await.unwrap();
    }
    let before = contents(&store);
    store.close().await;
    assert!(!files_with(dir.path(), "hunter2").is_empty(), "it stood in the clear");

    let store = open(dir.path(), Some(toy(7, None))).await.unwrap();
    assert_eq!(contents(&store), before, "nobody who reads sees a difference");
    put(&store, KEY, "hunter3").await.unwrap();
    for i in 0..300 {
        put(&store, &format!("/registry/secrets/default/s{}", i % 10), "hunter4").await.unwrap();
    }
    let backup = dir.path().join("backup");
    store.backup(&backup).await.unwrap();
    let after = contents(&store);
    store.close().await;
    assert_eq!(files_with(dir.path(), "hunter"), Vec::<String>::new());

    let store = open(dir.path(), Some(toy(7, None))).await.unwrap();
    assert_eq!(contents(&store), after, "from the log");
    store.close().await;
    for seal in [None, Some(toy(8, None))] {
        let refused = open(dir.path(), seal).await.err();
        assert!(matches!(refused, Some(StoreError::NoKey { .. })), "{refused:?}");
    }
    let store = open(dir.path(), Some(toy(8, Some(7)))).await.unwrap();
    assert_eq!(contents(&store), after, "sealed anew");
    store.close().await;
    let store = open(dir.path(), Some(toy(8, None))).await.unwrap();
    assert_eq!(contents(&store), after, "the old key is not needed any more");

    let into = dir.path().join("restored");
    assert!(Store::restore(&backup, &dir.path().join("never")).is_err());
    Store::restore_sealed(&backup, &into, toy(8, Some(7))).unwrap();
    assert_eq!(files_with(&into, "hunter"), Vec::<String>::new());
    let restored = open(&into, Some(toy(8, None))).await.unwrap();
    let values = |all: &[(String, String, u64, u64)]| {
        all.iter().map(|one| (one.0.clone(), one.1.clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&contents(&restored)), values(&after));
}

#[tokio::test]
async fn what_cannot_be_sealed_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), Some(toy(7, None))).await.unwrap();
    put(&store, KEY, "good").await.unwrap();
    let refused = put(&store, KEY, "cannot be").await;
    assert!(matches!(refused, Err(StoreError::Unsealable { .. })), "{refused:?}");
    let held =
        |store: &Store| String::from_utf8_lossy(store.snapshot().get(KEY).unwrap().bytes()).into_owned();
    assert!(held(&store).starts_with("good"));
    put(&store, KEY, "better").await.unwrap();
    store.close().await;
    let store = open(dir.path(), Some(toy(7, None))).await.unwrap();
    assert!(held(&store).starts_with("better"));
}
