//! Many watchers of one store, some of which go away and come back.

use kedge_store::{Draft, Expect, Options, Store, Txn};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_watchers_get_every_event_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).await.unwrap();
    let start = store.revision();
    let watchers: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            let mut watch = store.watch("/registry/pods/", start).unwrap();
            tokio::spawn(async move {
                let (mut seen, mut taken) = (Vec::new(), 0);
                while seen.len() < 2 * 400 {
                    let event = watch.next().await.unwrap();
                    // Whoever has seen an event finds it, or what came after it, in a snapshot taken then.
                    assert!(store.snapshot().revision() >= event.revision);
                    seen.push((event.revision, event.key.to_string()));
                    // Every few events some go away and come back where they were.
                    taken += 1;
                    if taken % (7 + number) == 0 {
                        let resume = watch.seen();
                        seen.retain(|(revision, _)| *revision <= resume);
                        watch = store.watch("/registry/pods/", resume).unwrap();
                    }
                }
                seen
            })
        })
        .collect();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..50 {
                    let value = || Draft::new("x");
                    let txn = Txn::new()
                        .put(format!("/registry/pods/{writer}/{number}"), Expect::Absent, value())
                        .put(format!("/registry/nodes/{writer}-{number}"), Expect::Absent, value())
                        .put(format!("/registry/pods/{writer}/{number}-too"), Expect::Absent, value());
                    store.commit(txn).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut histories = Vec::new();
    for watcher in watchers {
        histories.push(watcher.await.unwrap());
    }
    let snapshot = store.snapshot();
    let mut expected: Vec<_> = snapshot
        .range("/registry/pods/", None)
        .map(|(key, entry)| (entry.modified(), key.to_string()))
        .collect();
    expected.sort();
    for history in histories {
        assert!(history.is_sorted_by_key(|(revision, _)| *revision));
        let mut history = history;
        history.sort();
        assert_eq!(history, expected);
    }
}
