//! Every webhook that is configured, in the order in which they are asked. Never behind the store: it catches up before
//! each use, which costs one comparison when nothing was written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_store::{Change, Store, Watch, WatchEnd};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use super::hook::Hook;

const MUTATING: &str = "/registry/mutatingwebhookconfigurations/";
const VALIDATING: &str = "/registry/validatingwebhookconfigurations/";

/// All of them at one moment.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) mutating: Vec<Arc<Hook>>,
    pub(crate) validating: Vec<Arc<Hook>>,
}

pub(crate) struct Index {
    store: Store,
    hooks: RwLock<Arc<Hooks>>,
    feed: Mutex<Feed>,
    /// The store's revision up to which `hooks` is known to be current.
    current: AtomicU64,
}

/// By name, which is the order in which Kubernetes asks configurations.
type Configurations = BTreeMap<Arc<str>, Vec<Arc<Hook>>>;

#[derive(Default)]
struct Feed {
    mutating: Configurations,
    validating: Configurations,
    watches: Vec<(&'static str, Watch)>,
}

impl Index {
    pub(crate) fn new(store: Store) -> Self {
        let index = Self {
            store,
            hooks: RwLock::default(),
            feed: Mutex::default(),
            current: AtomicU64::new(u64::MAX),
        };
        index.catch_up();
        index
    }

    pub(crate) fn hooks(&self) -> Arc<Hooks> {
        self.catch_up();
        self.hooks.read().clone()
    }

    fn catch_up(&self) {
        let newest = self.store.revision().get();
        if self.current.load(Ordering::Acquire) == newest {
            return;
        }
        let mut feed = self.feed.lock();
        let changed = match feed.watches.is_empty() {
            true => Err(()),
            false => feed.drain().map_err(|_| ()),
        };
        let changed = changed.unwrap_or_else(|()| {
            feed.rebuild(&self.store);
            true
        });
        if changed {
            *self.hooks.write() = Arc::new(feed.hooks());
        }
        // Not the store's number: a state can be read a moment before its events reach the watches.
        let seen = feed.watches.iter().map(|(_, watch)| watch.seen().get()).min().unwrap_or(newest);
        self.current.store(seen, Ordering::Release);
    }
}

impl Feed {
    fn drain(&mut self) -> Result<bool, WatchEnd> {
        let mut changed = false;
        let Self { mutating, validating, watches } = self;
        for (prefix, watch) in watches {
            let configurations = if *prefix == MUTATING { &mut *mutating } else { &mut *validating };
            while let Some(event) = watch.try_next() {
                let event = event?;
                let name = event.key.as_str().strip_prefix(*prefix).unwrap_or_default();
                match &event.change {
                    Change::Put { now, .. } => put(configurations, name, now.bytes()),
                    Change::Delete { .. } => drop(configurations.remove(name)),
                }
                changed = true;
            }
        }
        Ok(changed)
    }

    fn rebuild(&mut self, store: &Store) {
        let snapshot = store.snapshot();
        *self = Self::default();
        for prefix in [MUTATING, VALIDATING] {
            let configurations = if prefix == MUTATING { &mut self.mutating } else { &mut self.validating };
            for (key, entry) in snapshot.range(prefix, None) {
                put(configurations, key.as_str().strip_prefix(prefix).unwrap_or_default(), entry.bytes());
            }
            // A closed store refuses watches; then nothing changes any more and what we have stays true.
            if let Ok(watch) = store.watch(prefix, snapshot.revision()) {
                self.watches.push((prefix, watch));
            }
        }
    }

    fn hooks(&self) -> Hooks {
        let all = |configurations: &Configurations| configurations.values().flatten().cloned().collect();
        Hooks { mutating: all(&self.mutating), validating: all(&self.validating) }
    }
}

fn put(configurations: &mut Configurations, name: &str, bytes: &[u8]) {
    let name: Arc<str> = name.into();
    let Ok(configuration) = serde_json::from_slice::<Value>(bytes) else {
        tracing::error!("the webhook configuration {name} can't be read; what it asked for stays as it was");
        return;
    };
    let hooks = configuration.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let hooks = hooks.map(|hook| Arc::new(Hook::read(&name, hook))).collect();
    configurations.insert(name, hooks);
}
