//! The contract suite: every function takes a store that somebody else made and knows no engine.

use kedge_store::{Change, Draft, Expect, Revision, Store, StoreError, Txn, WatchEnd};

/// One test per promise and engine, so that a failure names both.
macro_rules! contract {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $name() { super::$name(kedge_store::Store::memory()).await })+
        }
        mod embedded {
            $(#[tokio::test] async fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(crate::open(dir.path()).await).await
            })+
        }
        mod etcd {
            $(#[tokio::test] async fn $name() {
                let etcd = crate::etcd::Server::start();
                super::$name(etcd.store().await).await
            })+
        }
    };
}

contract!(
    an_empty_store_is_at_some_revision_with_nothing,
    a_put_reads_back_with_its_revision_written_in,
    expectations_hold_or_nothing_happens,
    a_transaction_happens_at_one_revision_or_not_at_all,
    a_transaction_without_effect_takes_no_revision,
    nonsense_is_refused,
    a_deletion_hands_out_the_last_value_with_its_own_revision,
    a_snapshot_does_not_change,
    ranges_are_ordered_and_resumable,
    a_watch_sees_every_change_once_in_order,
    a_watch_resumes_after_any_revision_it_was_told,
    a_watch_from_the_future_is_refused,
    a_watch_tells_how_far_it_has_seen,
    concurrent_writers_of_one_key_never_lose_an_update,
    what_goes_first_sees_the_newest_state_and_may_refuse,
    closing_ends_watches,
);

fn body(text: &str) -> Draft {
    Draft::with_revision_at(format!("{text}@"), text.len() + 1)
}

async fn put(store: &Store, key: &str, text: &str) -> Revision {
    store.commit(Txn::new().put(key, Expect::Any, body(text))).await.unwrap().revision
}

async fn delete(store: &Store, key: &str) -> Revision {
    store.commit(Txn::new().delete(key, Expect::Present)).await.unwrap().revision
}

fn read(store: &Store, key: &str) -> Option<String> {
    store.snapshot().get(key).map(|entry| String::from_utf8(entry.bytes().to_vec()).unwrap())
}

fn keys(store: &Store, prefix: &str, after: Option<&str>) -> Vec<String> {
    store.snapshot().range(prefix, after).map(|(key, _)| key.to_string()).collect()
}

async fn an_empty_store_is_at_some_revision_with_nothing(store: Store) {
    let snapshot = store.latest().await.unwrap();
    assert!(snapshot.is_empty());
    assert_eq!(snapshot.count("/registry/"), 0);
    assert!(store.watch("/registry/pods/", snapshot.revision()).is_ok());
}

async fn a_put_reads_back_with_its_revision_written_in(store: Store) {
    let before = store.revision();
    let committed =
        store.commit(Txn::new().put("/registry/pods/a/b", Expect::Absent, body("one"))).await.unwrap();
    assert!(committed.revision > before);
    assert_eq!(read(&store, "/registry/pods/a/b"), Some(format!("one@{}", committed.revision)));
    let snapshot = store.snapshot();
    let entry = snapshot.get("/registry/pods/a/b").unwrap();
    assert_eq!(committed.entries, [Some(entry.clone())]);
    assert_eq!((entry.created(), entry.modified()), (committed.revision, committed.revision));

    let second = put(&store, "/registry/pods/a/b", "two").await;
    let entry = store.snapshot().get("/registry/pods/a/b").unwrap().clone();
    assert_eq!((entry.created(), entry.modified()), (committed.revision, second));
    assert!(store.snapshot().revision() >= second);
    assert_eq!(store.snapshot().bytes(), entry.bytes().len() as u64);
}

async fn expectations_hold_or_nothing_happens(store: Store) {
    let at = put(&store, "/registry/pods/a/there", "x").await;
    let old = Revision::new(at.get() - 1);
    for (key, expect, holds) in [
        ("/registry/pods/a/there", Expect::Any, true),
        ("/registry/pods/a/there", Expect::Present, true),
        ("/registry/pods/a/there", Expect::At(at), true),
        ("/registry/pods/a/there", Expect::At(old), false),
        ("/registry/pods/a/there", Expect::Absent, false),
        ("/registry/pods/a/gone", Expect::Any, true),
        ("/registry/pods/a/gone", Expect::Absent, true),
        ("/registry/pods/a/gone", Expect::Present, false),
        ("/registry/pods/a/gone", Expect::At(at), false),
    ] {
        let checked = store.commit(Txn::new().check(key, expect)).await;
        match (checked, holds) {
            (Ok(_), true) => {}
            (Err(StoreError::Conflict { key: named, expected, found }), false) => {
                let there = key.ends_with("there").then_some(at);
                assert_eq!((named.as_str(), expected, found), (key, expect, there));
            }
            (other, _) => panic!("{key} {expect:?}: {other:?}"),
        }
        if !holds {
            let refused = store.commit(Txn::new().put(key, expect, body("y"))).await;
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{key} {expect:?}: {refused:?}");
            let refused = store.commit(Txn::new().delete(key, expect)).await;
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{key} {expect:?}: {refused:?}");
        }
    }
    assert_eq!(read(&store, "/registry/pods/a/there"), Some(format!("x@{at}")));
    assert_eq!(read(&store, "/registry/pods/a/gone"), None);
}

async fn a_transaction_happens_at_one_revision_or_not_at_all(store: Store) {
    put(&store, "/registry/pods/a/old", "old").await;
    let whole = Txn::new()
        .put("/registry/pods/a/x", Expect::Absent, body("x"))
        .delete("/registry/pods/a/old", Expect::Present)
        .check("/registry/namespaces/a", Expect::Absent)
        .put("/registry/services/a/y", Expect::Any, body("y"));
    let committed = store.commit(whole.clone()).await.unwrap();
    let at = committed.revision;
    let texts: Vec<_> = committed
        .entries
        .iter()
        .map(|entry| entry.as_ref().map(|entry| (entry.bytes().clone(), entry.modified())))
        .collect();
    let text = |text: &str| Some((format!("{text}@{at}").into(), at));
    assert_eq!(texts, [text("x"), text("old"), None, text("y")]);

    // The same again fails at its first expectation, and nothing of it happens.
    let refused = store.commit(whole).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(keys(&store, "/registry/", None), ["/registry/pods/a/x", "/registry/services/a/y"]);
    assert_eq!(read(&store, "/registry/services/a/y"), Some(format!("y@{at}")));
}

async fn a_transaction_without_effect_takes_no_revision(store: Store) {
    let at = put(&store, "/registry/pods/a/x", "x").await;
    for txn in [
        Txn::new(),
        Txn::new().check("/registry/pods/a/x", Expect::At(at)),
        Txn::new().delete("/registry/pods/a/gone", Expect::Any),
        Txn::new()
            .delete("/registry/pods/a/gone", Expect::Absent)
            .check("/registry/pods/a/x", Expect::Present),
    ] {
        let committed = store.commit(txn.clone()).await.unwrap();
        assert_eq!(committed.revision, at, "{txn:?}");
        assert!(committed.entries.iter().all(Option::is_none) && committed.entries.len() == txn.len());
    }
    assert_eq!(put(&store, "/registry/pods/a/x", "x").await, at.next());
}

async fn nonsense_is_refused(store: Store) {
    let twice = Txn::new().put("/registry/a/b", Expect::Any, body("x")).delete("/registry/a/b", Expect::Any);
    assert!(matches!(store.commit(twice).await, Err(StoreError::Twice { .. })));
    let hole = Txn::new().put("/registry/a/b", Expect::Any, Draft::with_revision_at("abc", 4));
    assert!(matches!(store.commit(hole).await, Err(StoreError::Hole { offset: 4, len: 3, .. })));
    assert!(store.snapshot().is_empty());
}

async fn a_deletion_hands_out_the_last_value_with_its_own_revision(store: Store) {
    let made = put(&store, "/registry/pods/a/x", "x").await;
    let committed = store.commit(Txn::new().delete("/registry/pods/a/x", Expect::At(made))).await.unwrap();
    let last = committed.entries[0].as_ref().unwrap();
    assert_eq!(last.bytes(), &format!("x@{}", committed.revision));
    assert_eq!((last.created(), last.modified()), (made, committed.revision));
    assert_eq!(read(&store, "/registry/pods/a/x"), None);
    let again = put(&store, "/registry/pods/a/x", "x").await;
    assert_eq!(store.snapshot().get("/registry/pods/a/x").unwrap().created(), again, "it is a new one");
}

async fn a_snapshot_does_not_change(store: Store) {
    let at = put(&store, "/registry/pods/a/x", "x").await;
    let before = store.snapshot();
    put(&store, "/registry/pods/a/x", "changed").await;
    put(&store, "/registry/pods/a/y", "new").await;
    delete(&store, "/registry/pods/a/x").await;
    assert_eq!(before.revision(), at);
    assert_eq!(before.get("/registry/pods/a/x").unwrap().bytes(), &format!("x@{at}"));
    assert_eq!(before.count("/registry/pods/"), 1);
    assert_eq!(keys(&store, "/registry/pods/", None), ["/registry/pods/a/y"]);
}

async fn ranges_are_ordered_and_resumable(store: Store) {
    for key in [
        "/registry/pods/b/1",
        "/registry/pods/a/2",
        "/registry/podsx/a/1",
        "/registry/pods/a/1",
        "/registry/poda",
    ] {
        put(&store, key, "v").await;
    }
    let pods = ["/registry/pods/a/1", "/registry/pods/a/2", "/registry/pods/b/1"];
    assert_eq!(keys(&store, "/registry/pods/", None), pods);
    for (after, left) in [
        ("/registry/pods/a/1", &pods[1..]),
        ("/registry/pods/a/11", &pods[1..]),
        ("/registry/pods/a/2", &pods[2..]),
        ("/registry/pods/b/1", &pods[3..]),
        ("/registry/a", &pods[..]),
        ("/registry/z", &pods[3..]),
    ] {
        assert_eq!(keys(&store, "/registry/pods/", Some(after)), left, "after {after}");
    }
    assert_eq!(store.snapshot().count("/registry/pods/a/"), 2);
    assert_eq!(store.snapshot().count(""), 5);
}

async fn a_watch_sees_every_change_once_in_order(store: Store) {
    let start = store.revision();
    let mut pods = store.watch("/registry/pods/", start).unwrap();
    let mut namespaced = store.watch("/registry/pods/b/", start).unwrap();
    let mut all = store.watch("/registry/", start).unwrap();
    let first = put(&store, "/registry/pods/a/x", "x").await;
    put(&store, "/registry/services/a/s", "s").await;
    let second = put(&store, "/registry/pods/a/x", "xx").await;
    put(&store, "/registry/pods/b/y", "y").await;
    let third = delete(&store, "/registry/pods/a/x").await;

    let mut seen = Vec::new();
    for _ in 0..4 {
        let event = pods.next().await.unwrap();
        let before = event.change.before().map(|entry| String::from_utf8_lossy(entry.bytes()).into_owned());
        let sort = matches!(event.change, Change::Put { .. });
        let now = String::from_utf8_lossy(event.change.entry().bytes()).into_owned();
        assert_eq!(event.change.entry().modified(), event.revision);
        seen.push((event.key.to_string(), sort, now, before));
    }
    let at = |text: &str, revision: Revision| format!("{text}@{revision}");
    let between = Revision::new(third.get() - 1);
    assert_eq!(
        seen,
        [
            ("/registry/pods/a/x".into(), true, at("x", first), None),
            ("/registry/pods/a/x".into(), true, at("xx", second), Some(at("x", first))),
            ("/registry/pods/b/y".into(), true, at("y", between), None),
            ("/registry/pods/a/x".into(), false, at("xx", third), Some(at("xx", second))),
        ]
    );
    assert!(pods.try_next().is_none());
    assert_eq!(namespaced.next().await.unwrap().key.as_str(), "/registry/pods/b/y");
    assert!(namespaced.try_next().is_none());
    let mut revisions = Vec::new();
    for _ in 0..5 {
        revisions.push(all.next().await.unwrap().revision);
    }
    assert!(revisions.is_sorted() && all.try_next().is_none(), "{revisions:?}");
}

async fn a_watch_resumes_after_any_revision_it_was_told(store: Store) {
    let start = store.revision();
    let mut made = Vec::new();
    for number in 0..150 {
        made.push(put(&store, &format!("/registry/pods/a/{number}"), "x").await);
    }
    for resume in [0usize, 1, 63, 64, 65, 149, 150] {
        let after = resume.checked_sub(1).map_or(start, |index| made[index]);
        let mut watch = store.watch("/registry/pods/", after).unwrap();
        let mut seen = Vec::new();
        while let Some(event) = watch.try_next() {
            seen.push(event.unwrap().revision);
        }
        assert_eq!(seen, made[resume..], "after {resume} writes");
    }
}

async fn a_watch_from_the_future_is_refused(store: Store) {
    let newest = put(&store, "/registry/pods/a/x", "x").await;
    let asked = newest.next();
    match store.watch("/registry/pods/", asked) {
        Err(StoreError::Future { asked: named, newest: told }) => assert_eq!((named, told), (asked, newest)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a watch from the future began"),
    }
}

async fn a_watch_tells_how_far_it_has_seen(store: Store) {
    let start = store.revision();
    let mut pods = store.watch("/registry/pods/", start).unwrap();
    assert_eq!(pods.seen(), start);
    let both = Txn::new().put("/registry/pods/a/x", Expect::Any, body("x")).put(
        "/registry/pods/a/y",
        Expect::Any,
        body("y"),
    );
    let first = store.commit(both).await.unwrap().revision;
    assert!(pods.seen() < first, "nothing of it was handed out");
    pods.next().await.unwrap();
    assert!(pods.seen() < first, "half of it was handed out");
    pods.next().await.unwrap();
    assert_eq!(pods.seen(), first);
    let elsewhere = put(&store, "/registry/services/a/s", "s").await;
    assert_eq!(pods.seen(), elsewhere, "what does not match has been seen too");
}

async fn concurrent_writers_of_one_key_never_lose_an_update(store: Store) {
    put(&store, "/registry/counters/one", "0").await;
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    loop {
                        let entry = store.snapshot().get("/registry/counters/one").unwrap().clone();
                        let text = String::from_utf8_lossy(entry.bytes()).into_owned();
                        let count: u64 = text.split('@').next().unwrap().parse().unwrap();
                        let next = body(&(count + 1).to_string());
                        let txn =
                            Txn::new().put("/registry/counters/one", Expect::At(entry.modified()), next);
                        match store.commit(txn).await {
                            Ok(_) => break,
                            Err(StoreError::Conflict { .. }) => continue,
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(read(&store, "/registry/counters/one").unwrap().starts_with("80@"));
}

async fn what_goes_first_sees_the_newest_state_and_may_refuse(store: Store) {
    const COUNTER: &str = "/registry/counters/one";
    const MOST: u64 = 10;
    put(&store, COUNTER, "0").await;
    let shared = store.is_shared();
    let writers: Vec<_> = (0..32)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                loop {
                    let first = |newest: &kedge_store::Snapshot| {
                        let entry = newest.get(COUNTER).unwrap();
                        let text = String::from_utf8_lossy(entry.bytes()).into_owned();
                        let count: u64 = text.split('@').next().unwrap().parse().unwrap();
                        let next = body(&(count + 1).to_string());
                        match count {
                            MOST => Err("enough"),
                            _ => Ok(Txn::new().put(COUNTER, Expect::At(entry.modified()), next)),
                        }
                    };
                    let key = format!("/registry/counted/{writer}");
                    let txn = Txn::new().put(key, Expect::Absent, body("x"));
                    match store.commit_after(first, txn).await {
                        Ok(Ok(done)) => {
                            let last = done.entries.last().unwrap().as_ref().unwrap();
                            break assert_eq!(last.bytes(), format!("x@{}", done.revision).as_bytes());
                        }
                        Ok(Err(why)) => break assert_eq!(why, "enough"),
                        Err(StoreError::Conflict { .. }) if shared => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(store.snapshot().count("/registry/counted/"), MOST as usize);
    assert!(read(&store, COUNTER).unwrap().starts_with("10@"));
}

async fn closing_ends_watches(store: Store) {
    let mut watch = store.watch("/registry/pods/", store.revision()).unwrap();
    put(&store, "/registry/pods/a/x", "x").await;
    let waiting = tokio::spawn(async move { (watch.next().await.is_ok(), watch.next().await) });
    store.close().await;
    let (first, end) = waiting.await.unwrap();
    assert!(first, "what was there is handed out before the end");
    assert_eq!(end.unwrap_err(), WatchEnd::Stopped);
    let late = store.commit(Txn::new().put("/registry/pods/a/y", Expect::Any, body("y"))).await;
    assert!(matches!(late, Err(StoreError::Stopped { .. })), "{late:?}");
}
