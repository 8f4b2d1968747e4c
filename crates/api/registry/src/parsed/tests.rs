use kedge_store::{Draft, Expect, Store, Txn};

use super::*;

#[tokio::test]
async fn an_entry_is_read_once_and_another_one_by_itself() {
    let store = Store::memory();
    let put = async |name: &str, bytes: String| {
        store.commit(Txn::new().put(name, Expect::Any, Draft::new(bytes))).await.unwrap();
        store.snapshot().get(name).unwrap().clone()
    };
    let first = put("/a", r#"{"a":1}"#.to_owned()).await;
    let read = parsed(&first).unwrap();
    assert!(Arc::ptr_eq(&read, &parsed(&first).unwrap()), "the same entry is read once");
    let second = put("/a", r#"{"a":2}"#.to_owned()).await;
    assert_eq!(parsed(&second).unwrap()["a"], 2);
    assert_eq!(parsed(&first).unwrap()["a"], 1);
    for at in 0..4 * SLOTS {
        let entry = put(&format!("/{at}"), format!(r#"{{"a":{at}}}"#)).await;
        assert_eq!(parsed(&entry).unwrap()["a"], at);
    }
    let large = put("/large", format!(r#"{{"a":"{}"}}"#, "x".repeat(LARGEST))).await;
    assert!(!Arc::ptr_eq(&parsed(&large).unwrap(), &parsed(&large).unwrap()));
    assert!(parsed(&put("/broken", "{".to_owned()).await).is_err());
}
