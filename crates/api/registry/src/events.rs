//! Lets events go that nobody has written for some time. When each was last written stands in the event itself, so a
//! restart forgets nothing; what has to be looked at next is kept by the minute, so that one write more of an event costs
//! next to nothing, and nothing is done while none is due.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use kedge_store::{Change, Entry, Expect, Key, StoreError, Txn, Watch, WatchEnd};
use serde_json::Value;

use crate::object;
use crate::registry::{Registry, parse};

const PREFIX: &str = "/registry/events/";
/// How many go at the same time: they share their way to the disk.
const AT_ONCE: usize = 256;

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry, life: Duration) {
    let worker = Worker { registry: registry.clone(), life: signed(life), due: BTreeMap::new() };
    tokio::spawn(worker.work());
}

struct Worker {
    registry: Registry,
    life: SignedDuration,
    /// What to look at once this second has come.
    due: BTreeMap<i64, HashSet<Key>>,
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

impl Worker {
    async fn work(mut self) {
        loop {
            let snapshot = self.registry.store().snapshot();
            let Ok(mut watch) = self.registry.store().watch(PREFIX, snapshot.revision()) else { return };
            self.due.clear();
            for (key, entry) in snapshot.range(PREFIX, None) {
                self.expect(key, written(entry).unwrap_or_else(|| self.registry.clock().now()));
            }
            drop(snapshot);
            match self.follow(&mut watch).await {
                // It was busy for too long: everything is looked at anew.
                WatchEnd::Lagged => {}
                WatchEnd::Stopped => return,
            }
        }
    }

    async fn follow(&mut self, watch: &mut Watch) -> WatchEnd {
        let clock = self.registry.clock().clone();
        loop {
            let next =
                self.due.first_key_value().and_then(|(second, _)| Timestamp::from_second(*second).ok());
            let timer = async {
                match next {
                    Some(then) => clock.until(then).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = watch.next() => match event {
                    Ok(event) => if let Change::Put { .. } = event.change {
                        self.expect(&event.key, clock.now());
                    },
                    Err(end) => return end,
                },
                () = timer => if let Some((_, keys)) = self.due.pop_first() {
                    self.let_go(keys).await;
                },
            }
        }
    }

    /// Notes when an event written at this moment is over, rounded up to what is looked at together.
    fn expect(&mut self, key: &Key, written: Timestamp) {
        let grain = (self.life.as_secs() / 60).max(1);
        let over = written.as_second().saturating_add(self.life.as_secs());
        let due = over.saturating_add(grain - over.rem_euclid(grain));
        self.due.entry(due).or_default().insert(key.clone());
    }

    async fn let_go(&mut self, keys: HashSet<Key>) {
        let snapshot = self.registry.store().snapshot();
        let now = self.registry.clock().now();
        let is_over = |entry: &Entry| {
            written(entry).and_then(|then| then.checked_add(self.life).ok()).is_some_and(|over| over <= now)
        };
        // One that was written since is due later, too.
        let over = keys.into_iter().filter_map(|key| {
            let entry = snapshot.get(key.as_str()).filter(|entry| is_over(entry))?;
            Some((key, entry.modified()))
        });
        let over: Vec<_> = over.collect();
        drop(snapshot);
        let registry = &self.registry;
        let gone = futures::stream::iter(over).map(|(key, revision)| async move {
            let done = registry.store().commit(Txn::new().delete(&key, Expect::At(revision))).await;
            (key, done)
        });
        let mut gone = gone.buffer_unordered(AT_ONCE);
        let mut left = Vec::new();
        while let Some((key, done)) = gone.next().await {
            match done {
                // It is gone, or somebody wrote it or took it away.
                Ok(_) | Err(StoreError::Conflict { .. } | StoreError::Stopped { .. }) => {}
                Err(error) => {
                    tracing::warn!(key = key.as_str(), "an event that is over stays for now: {error}");
                    left.push(key);
                }
            }
        }
        drop(gone);
        for key in left {
            // As if it were new: a disk that is full today is none that is asked every second.
            self.expect(&key, now);
        }
    }
}

/// When the server last wrote it; what clients say about times doesn't count.
fn written(entry: &Entry) -> Option<Timestamp> {
    let event = parse(entry).ok()?;
    let managers = object::meta(&event, "managedFields").and_then(Value::as_array).into_iter().flatten();
    let times = managers.map(|manager| object::text(manager, &["time"]));
    let times = times.chain([object::meta_text(&event, "creationTimestamp")]);
    times.filter_map(|time| time.parse().ok()).max()
}

#[cfg(test)]
mod tests;
