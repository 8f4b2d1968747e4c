use kedge_store::{Draft, Expect, Options, Store, Txn};

use super::{file, rotate, seal};

async fn open(data: &std::path::Path, wanted: bool) -> Result<Store, kedge_store::StoreError> {
    let seal = seal(data, wanted).unwrap();
    Store::open(&data.join("store"), Options { seal, ..Options::default() }).await
}

fn holds(data: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(data.join("store")).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

const KEY: &str = "/registry/secrets/default/s";

#[tokio::test]
async fn secrets_are_sealed_once_asked_for_and_keys_can_change() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = open(data, false).await.unwrap();
    store.commit(Txn::new().put(KEY, Expect::Absent, Draft::new("hunter2"))).await.unwrap();
    store.close().await;
    assert!(holds(data, "hunter2"));
    assert!(rotate(data).await.is_err(), "nothing to rotate");

    open(data, true).await.unwrap().close().await;
    assert!(!holds(data, "hunter2"), "turning it on covers what was there");
    let first = std::fs::read_to_string(file(data)).unwrap();
    let store = open(data, false).await.unwrap();
    assert_eq!(store.snapshot().get(KEY).unwrap().bytes(), "hunter2", "it stays on");
    assert!(rotate(data).await.is_err(), "a server runs");
    assert_eq!(std::fs::read_to_string(file(data)).unwrap(), first);
    store.close().await;

    rotate(data).await.unwrap();
    let second = std::fs::read_to_string(file(data)).unwrap();
    assert!(second.lines().count() == 1 && second != first);
    let store = open(data, false).await.unwrap();
    assert_eq!(store.snapshot().get(KEY).unwrap().bytes(), "hunter2");
    store.close().await;

    std::fs::write(file(data), first).unwrap();
    let refused = open(data, false).await.err().unwrap().to_string();
    assert!(refused.contains("encrypted values, and the key for them is missing"), "{refused}");
}
