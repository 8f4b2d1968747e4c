//! What watchers see and the cursor that each of them holds. Knows no engine and never slows a writer down.

mod hub;
mod ring;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use hub::Group;
pub(crate) use hub::Hub;
pub use hub::Limits;

use crate::{Entry, Key, Revision};

/// One change of one key. Cloning shares the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub key: Key,
    pub revision: Revision,
    pub change: Change,
}

/// What happened to a key, with what was there before, so that a watcher can tell whether it came into its view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put {
        now: Entry,
        before: Option<Entry>,
    },
    Delete {
        /// The last value with the revision of the deletion written into it.
        last: Entry,
        before: Entry,
    },
}

impl Change {
    /// The value as of this change.
    pub fn entry(&self) -> &Entry {
        match self {
            Change::Put { now, .. } => now,
            Change::Delete { last, .. } => last,
        }
    }

    pub fn before(&self) -> Option<&Entry> {
        match self {
            Change::Put { before, .. } => before.as_ref(),
            Change::Delete { before, .. } => Some(before),
        }
    }
}

/// Why a watch ended. It can be started again from a fresh snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    #[error("the watcher fell behind what the store remembers")]
    Lagged,
    #[error("the store was closed")]
    Stopped,
}

/// A place in the history of one prefix that moves forward as events are taken.
pub struct Watch {
    hub: Arc<Hub>,
    group: Arc<Group>,
    prefix: Box<str>,
    /// Where in the group's ring to go on reading.
    cursor: u64,
    /// Read from the ring and not yet handed out, so that the ring's lock is taken once for many events.
    taken: VecDeque<Event>,
    /// Everything up to here was handed out or did not match, once `taken` is empty.
    drained: Revision,
    seen: Revision,
}

/// How many events are copied out of the ring at a time.
const CHUNK: usize = 64;

impl Watch {
    /// The next event, as soon as there is one.
    pub async fn next(&mut self) -> Result<Event, WatchEnd> {
        let group = Arc::clone(&self.group);
        loop {
            // Registered before looking, so that a wake-up between looking and waiting is not lost.
            let mut woken = pin!(group.changed.notified());
            woken.as_mut().enable();
            if let Some(found) = self.try_next() {
                return found;
            }
            woken.await;
        }
    }

    /// The next event if it is already there.
    pub fn try_next(&mut self) -> Option<Result<Event, WatchEnd>> {
        if self.taken.is_empty()
            && let Err(end) = self.refill()
        {
            return Some(Err(end));
        }
        let event = self.taken.pop_front()?;
        self.seen = match self.taken.front() {
            None => self.drained,
            // A transaction of which some events are still to come has not been seen whole.
            Some(next) if next.revision == event.revision => event.revision.before().max(self.seen),
            Some(_) => event.revision,
        };
        Some(Ok(event))
    }

    /// Everything up to this revision was handed out or did not match the prefix: safe to resume from.
    pub fn seen(&self) -> Revision {
        if !self.taken.is_empty() {
            return self.seen;
        }
        // Read first: what is pushed after it may lie behind the cursor that we compare next.
        let pushed = self.hub.pushed();
        let end = self.group.ring.lock().end();
        if end == self.cursor { pushed.max(self.seen) } else { self.seen }
    }

    fn refill(&mut self) -> Result<(), WatchEnd> {
        let pushed = self.hub.pushed();
        let ring = self.group.ring.lock();
        if self.cursor < ring.start() {
            return Err(WatchEnd::Lagged);
        }
        let mut last = None;
        while let Some(event) = ring.get(self.cursor) {
            // Never splits a transaction, so that `drained` is a revision that one can resume from.
            if self.taken.len() >= CHUNK && last != Some(event.revision) {
                break;
            }
            last = Some(event.revision);
            if event.key.as_str().starts_with(&*self.prefix) {
                self.taken.push_back(Event::clone(event));
            }
            self.cursor += 1;
        }
        let whole = match (self.cursor == ring.end(), last) {
            (false, last) => last.unwrap_or(self.drained),
            // A transaction that is being published may have more events to come, behind those of another group.
            (true, Some(last)) if last > pushed => last.before().max(pushed),
            (true, _) => pushed,
        };
        self.drained = whole.max(self.drained);
        drop(ring);
        if self.taken.is_empty() {
            self.seen = self.drained;
            if self.hub.is_stopped() {
                return Err(WatchEnd::Stopped);
            }
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hub.left();
    }
}
