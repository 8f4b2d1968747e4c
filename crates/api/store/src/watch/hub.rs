//! Publishes a new state together with its events, remembers recent events within bounds, and wakes watchers by
//! group of keys, so that nobody pays for events of other groups. Knows no engine: whoever publishes vouches for durability.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::ring::Ring;
use super::{Change, Watch};
use crate::key::group_of;
use crate::snapshot::State;
use crate::{Event, Revision, Snapshot, Stats, StoreError};

/// How much history stays in memory for watches to resume over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub events: usize,
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { events: 50_000, bytes: 16 << 20 }
    }
}

pub(crate) struct Hub {
    state: ArcSwap<State>,
    /// Held while publishing and while a watch begins, so that a watch begins before or after a batch, not amid it.
    groups: Mutex<Groups>,
    /// The newest revision whose events are all in the rings.
    pushed: AtomicU64,
    commits: AtomicU64,
    watchers: AtomicU64,
    stopped: AtomicBool,
    published: Notify,
    /// Told when no more writes are taken.
    ended: Notify,
    limits: Limits,
}

struct Groups {
    by_prefix: HashMap<Box<str>, Arc<Group>>,
    /// Everything in one order: read by watchers whose prefix spans groups, and what is forgotten first stands first.
    all: Arc<Group>,
    bytes: usize,
    /// What a group starts with that has had no event yet.
    floor: Revision,
}

/// The events of the keys that share a first part, and those who wait for more of them.
pub(crate) struct Group {
    pub(super) ring: Mutex<Ring>,
    pub(super) changed: Notify,
}

impl Group {
    fn new(floor: Revision) -> Arc<Self> {
        Arc::new(Group { ring: Mutex::new(Ring::new(floor)), changed: Notify::new() })
    }
}

impl Hub {
    pub(crate) fn new(state: State, limits: Limits) -> Self {
        let floor = state.revision;
        let groups = Groups { by_prefix: HashMap::new(), all: Group::new(floor), bytes: 0, floor };
        Hub {
            state: ArcSwap::from_pointee(state),
            groups: Mutex::new(groups),
            pushed: AtomicU64::new(floor.get()),
            commits: AtomicU64::new(0),
            watchers: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            published: Notify::new(),
            ended: Notify::new(),
            limits,
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.state.load_full())
    }

    pub(crate) fn revision(&self) -> Revision {
        self.state.load().revision
    }

    pub(super) fn pushed(&self) -> Revision {
        Revision::new(self.pushed.load(Ordering::Acquire))
    }

    /// Makes `state` what everyone reads and hands `events`, those since the state before, to the watchers.
    pub(crate) fn publish(&self, state: Arc<State>, events: Vec<Event>, commits: u64) {
        let revision = state.revision;
        let mut touched: Vec<Arc<Group>> = Vec::new();
        {
            let mut groups = self.groups.lock();
            // The state goes first: whoever has seen an event must not then read a state from before it.
            self.state.store(state);
            for run in
                events.chunk_by(|one, other| group_of(one.key.as_str()) == group_of(other.key.as_str()))
            {
                let group = groups.push(run);
                if !touched.iter().any(|known| Arc::ptr_eq(known, &group)) {
                    touched.push(group);
                }
            }
            groups.forget(self.limits);
            self.pushed.store(revision.get(), Ordering::Release);
            touched.push(groups.all.clone());
        }
        self.commits.fetch_add(commits, Ordering::Relaxed);
        for group in touched {
            group.changed.notify_waiters();
        }
        self.published.notify_waiters();
    }

    /// Takes in events from before the state that is published next, while nobody watches yet.
    pub(crate) fn remember(&self, events: Vec<Event>) {
        let mut groups = self.groups.lock();
        for event in events {
            groups.push(&[event]);
        }
        groups.forget(self.limits);
    }

    /// Makes `state` what everyone reads without knowing how it came about: nobody can resume from before it.
    pub(crate) fn replace(&self, state: State) {
        let mut groups = self.groups.lock();
        let floor = state.revision;
        self.state.store(Arc::new(state));
        groups.floor = floor;
        groups.bytes = 0;
        for group in groups.by_prefix.values().chain([&groups.all]) {
            group.ring.lock().reset(floor);
        }
        self.pushed.store(floor.get(), Ordering::Release);
        groups.by_prefix.values().chain([&groups.all]).for_each(|group| group.changed.notify_waiters());
        self.published.notify_waiters();
    }

    /// Returns when the published state is at `revision` or later, or the store has stopped.
    pub(crate) async fn reached(&self, revision: Revision) {
        loop {
            let mut published = pin!(self.published.notified());
            published.as_mut().enable();
            if self.revision() >= revision || self.is_stopped() {
                return;
            }
            published.await;
        }
    }

    /// Returns when `is_over` holds, which is looked at whenever [`Hub::end`] is called.
    pub(crate) async fn until_over(&self, is_over: impl Fn() -> bool) {
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if is_over() {
                return;
            }
            ended.await;
        }
    }

    /// Tells those who wait for it that no more writes are taken. Reading and watching go on.
    pub(crate) fn end(&self) {
        self.ended.notify_waiters();
    }

    pub(crate) fn watch(hub: &Arc<Hub>, prefix: &str, after: Revision) -> Result<Watch, StoreError> {
        let mut groups = hub.groups.lock();
        let newest = hub.revision();
        if after > newest {
            return Err(StoreError::Future { asked: after, newest });
        }
        let group = match group_of(prefix) {
            Some(name) => groups.named(name),
            None => groups.all.clone(),
        };
        let cursor = {
            let ring = group.ring.lock();
            if after < ring.floor() {
                return Err(StoreError::Compacted { asked: after, oldest: ring.floor() });
            }
            ring.position_after(after)
        };
        hub.watchers.fetch_add(1, Ordering::Relaxed);
        Ok(Watch {
            hub: Arc::clone(hub),
            group,
            prefix: prefix.into(),
            cursor,
            taken: Default::default(),
            drained: after,
            seen: after,
        })
    }

    pub(super) fn left(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends every watch once it has handed out what is there.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let groups = self.groups.lock();
        groups.by_prefix.values().chain([&groups.all]).for_each(|group| group.changed.notify_waiters());
        self.published.notify_waiters();
        self.end();
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.state.load();
        let (ring_events, ring_bytes) = {
            let groups = self.groups.lock();
            let ring = groups.all.ring.lock();
            (ring.end() - ring.start(), groups.bytes as u64)
        };
        Stats {
            revision: state.revision,
            objects: state.map.len() as u64,
            bytes: state.bytes,
            commits: self.commits.load(Ordering::Relaxed),
            ring_events,
            ring_bytes,
            watchers: self.watchers.load(Ordering::Relaxed),
            ..Stats::default()
        }
    }
}

impl Groups {
    fn named(&mut self, prefix: &str) -> Arc<Group> {
        if let Some(group) = self.by_prefix.get(prefix) {
            return group.clone();
        }
        let group = Group::new(self.floor);
        self.by_prefix.insert(prefix.into(), group.clone());
        group
    }

    /// Adds a run of events of one group.
    fn push(&mut self, run: &[Event]) -> Arc<Group> {
        let name = run.first().and_then(|event| group_of(event.key.as_str()));
        let group = name.map(|name| self.named(name));
        let mut ring = group.as_ref().map(|group| group.ring.lock());
        let mut all = self.all.ring.lock();
        for event in run {
            self.bytes += cost(event);
            let event = Arc::new(event.clone());
            if let Some(ring) = &mut ring {
                ring.push(event.clone());
            }
            all.push(event);
        }
        drop((ring, all));
        group.unwrap_or_else(|| self.all.clone())
    }

    /// Drops the oldest events until what is left is within bounds.
    fn forget(&mut self, limits: Limits) {
        let all = self.all.clone();
        let mut all = all.ring.lock();
        while all.end() - all.start() > limits.events as u64 || self.bytes > limits.bytes {
            let Some(event) = all.pop() else { break };
            self.bytes -= cost(&event);
            if let Some(group) = group_of(event.key.as_str()).and_then(|name| self.by_prefix.get(name)) {
                group.ring.lock().pop();
            }
        }
    }
}

/// The memory that an event may keep alive, roughly.
fn cost(event: &Event) -> usize {
    let size = |entry: &crate::Entry| entry.bytes().len() + 160;
    let values = match &event.change {
        Change::Put { now, before } => size(now) + before.as_ref().map_or(0, size),
        Change::Delete { last, before } => size(last) + size(before),
    };
    values + event.key.as_str().len() + 120
}
