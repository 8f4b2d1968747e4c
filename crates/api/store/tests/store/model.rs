//! Random histories against the simplest thing that could be right: an ordered map and a counter.

use std::collections::BTreeMap;

use kedge_store::{Change, Draft, Expect, Revision, Store, StoreError, Txn};
use proptest::prelude::*;

use crate::{contents, open};

type Model = BTreeMap<String, (String, u64, u64)>;

#[derive(Clone, Debug)]
enum Do {
    Commit(Vec<(u8, How, Option<u8>)>),
    Reopen,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Any,
    Absent,
    Present,
    Now,
    Stale,
}

fn step() -> impl Strategy<Value = Do> {
    let how = prop_oneof![
        4 => Just(How::Any),
        1 => Just(How::Absent),
        1 => Just(How::Present),
        2 => Just(How::Now),
        1 => Just(How::Stale),
    ];
    let op = (0u8..12, how, proptest::option::of(any::<u8>()));
    prop_oneof![30 => proptest::collection::vec(op, 1..4).prop_map(Do::Commit), 1 => Just(Do::Reopen)]
}

fn key(number: u8) -> String {
    format!("/registry/kind{}/ns/{number}", number % 3)
}

/// What the model makes of a transaction; None if it must be refused.
fn expected(model: &Model, ops: &[(u8, How, Option<u8>)], revision: u64) -> (Txn, Option<Model>) {
    let (mut txn, mut after, mut holds) = (Txn::new(), model.clone(), true);
    for (index, (number, how, value)) in ops.iter().enumerate() {
        let key = key(*number);
        let found = model.get(&key).map(|(_, _, modified)| *modified);
        let expect = match how {
            How::Any => Expect::Any,
            How::Absent => Expect::Absent,
            How::Present => Expect::Present,
            How::Now => found.map_or(Expect::Absent, |at| Expect::At(Revision::new(at))),
            How::Stale => Expect::At(Revision::new(found.unwrap_or(7).wrapping_sub(1))),
        };
        holds &= expect.holds(found.map(Revision::new));
        holds &= ops[..index].iter().all(|(earlier, ..)| earlier != number);
        txn = match value {
            Some(value) => {
                let text = format!("{}<>", "v".repeat(usize::from(*value) * 8));
                let created = after.get(&key).map_or(revision, |(_, created, _)| *created);
                let stored = text.replace("<>", &format!("<{revision}>"));
                after.insert(key.clone(), (stored, created, revision));
                let at = text.len() - 1;
                txn.put(key, expect, Draft::with_revision_at(text, at))
            }
            None => {
                after.remove(&key);
                txn.delete(key, expect)
            }
        };
    }
    (txn, holds.then_some(after))
}

/// Runs a history; `reopen` gives the store of the next life.
async fn run(mut store: Store, steps: Vec<Do>, reopen: impl AsyncFn(Store) -> Store) {
    let (mut model, mut revision) = (Model::new(), store.revision().get());
    let mut watched = Model::new();
    let mut watch = store.watch("/", store.revision()).unwrap();
    for step in steps {
        match step {
            Do::Reopen => {
                let seen = watch.seen();
                store = reopen(store).await;
                watch =
                    store.watch("/", seen).unwrap_or_else(|_| store.watch("/", store.revision()).unwrap());
            }
            Do::Commit(ops) => {
                let (txn, after) = expected(&model, &ops, revision + 1);
                match (store.commit(txn.clone()).await, after) {
                    (Ok(committed), Some(after)) => {
                        revision += u64::from(after != model);
                        assert_eq!(committed.revision.get(), revision, "{txn:?}");
                        model = after;
                    }
                    (Err(StoreError::Conflict { .. } | StoreError::Twice { .. }), None) => {}
                    (got, after) => panic!("{txn:?}: got {got:?}, expected {after:?}"),
                }
            }
        }
        while let Some(event) = watch.try_next() {
            let event = event.unwrap();
            let key = event.key.to_string();
            match event.change {
                Change::Delete { .. } => watched.remove(&key),
                Change::Put { now, .. } => {
                    let text = String::from_utf8_lossy(now.bytes()).into_owned();
                    watched.insert(key, (text, now.created().get(), now.modified().get()))
                }
            };
        }
        let listed = model
            .iter()
            .map(|(key, (text, created, modified))| (key.clone(), text.clone(), *created, *modified));
        assert_eq!(contents(&store), listed.collect::<Vec<_>>());
        assert_eq!(watched, model, "what a watcher pieced together");
    }
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

#[test]
fn memory_agrees_with_the_model() {
    proptest!(ProptestConfig::with_cases(100), |(steps in proptest::collection::vec(step(), 1..60))| {
        block_on(run(Store::memory(), steps, async |store| store));
    });
}

#[test]
fn embedded_agrees_with_the_model_over_restarts() {
    proptest!(ProptestConfig::with_cases(20), |(steps in proptest::collection::vec(step(), 1..60))| {
        block_on(async {
            let dir = tempfile::tempdir().unwrap();
            run(open(dir.path()).await, steps, async |store| {
                store.close().await;
                drop(store);
                open(dir.path()).await
            })
            .await;
        });
    });
}
