//! An index that follows the store: built once from a snapshot, then kept by events, and never behind: whoever reads it
//! has it catch up first. What nobody reads costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use kedge_store::{Change, Store, Watch, WatchEnd};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

/// What can be kept by events. `source` is the place of the key's prefix in the follower's list.
pub(crate) trait Follows: Default {
    fn put(&mut self, source: usize, key: &str, bytes: &[u8]);

    fn remove(&mut self, source: usize, key: &str);

    /// After a number of the above.
    fn settle(&mut self) {}
}

pub(crate) struct Follower<I> {
    store: Store,
    prefixes: &'static [&'static str],
    index: RwLock<I>,
    feed: Mutex<Vec<Watch>>,
    /// The store's revision up to which the index is known to be current.
    current: AtomicU64,
}

impl<I: Follows> Follower<I> {
    pub(crate) fn new(store: Store, prefixes: &'static [&'static str]) -> Self {
        Self {
            store,
            prefixes,
            index: RwLock::default(),
            feed: Mutex::new(Vec::new()),
            current: AtomicU64::new(u64::MAX),
        }
    }

    /// As the store is now.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, I> {
        self.catch_up();
        self.index.read()
    }

    fn catch_up(&self) {
        let newest = self.store.revision().get();
        if self.current.load(Ordering::Acquire) == newest {
            return;
        }
        let mut feed = self.feed.lock();
        if feed.is_empty() || self.drain(&mut feed).is_err() {
            self.rebuild(&mut feed);
        }
        // Not the store's number: a state can be read a moment before its events reach the watches.
        let drained = feed.iter().map(|watch| watch.seen().get()).min().unwrap_or(newest);
        self.current.store(drained, Ordering::Release);
    }

    fn drain(&self, feed: &mut [Watch]) -> Result<(), WatchEnd> {
        let mut changed = false;
        for (source, (watch, prefix)) in feed.iter_mut().zip(self.prefixes).enumerate() {
            while let Some(event) = watch.try_next() {
                let event = event?;
                let key = event.key.as_str().strip_prefix(*prefix).unwrap_or_default();
                let mut index = self.index.write();
                match &event.change {
                    Change::Put { now, .. } => index.put(source, key, now.bytes()),
                    Change::Delete { .. } => index.remove(source, key),
                }
                changed = true;
            }
        }
        if changed {
            self.index.write().settle();
        }
        Ok(())
    }

    fn rebuild(&self, feed: &mut Vec<Watch>) {
        let snapshot = self.store.snapshot();
        let mut index = I::default();
        feed.clear();
        for (source, prefix) in self.prefixes.iter().enumerate() {
            for (key, entry) in snapshot.range(prefix, None) {
                index.put(source, key.as_str().strip_prefix(*prefix).unwrap_or_default(), entry.bytes());
            }
            // A closed store refuses watches; then nothing changes any more and what we have stays true.
            if let Ok(watch) = self.store.watch(prefix, snapshot.revision()) {
                feed.push(watch);
            }
        }
        index.settle();
        *self.index.write() = index;
    }
}
