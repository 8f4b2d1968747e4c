//! Who may write into a namespace at the same time as whom, and what is to be counted anew. Holds no figures: those are
//! in the store.

use std::collections::{BTreeSet, hash_map::DefaultHasher};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Namespaces share gates: there is no limit to their number, and a gate is only ever closed for a moment.
const GATES: usize = 64;

pub(crate) struct Quotas {
    gates: [RwLock<()>; GATES],
    pub(super) due: Mutex<Due>,
    pub(super) wake: Notify,
}

/// What the worker has to look at.
#[derive(Default)]
pub(super) struct Due {
    pub(super) now: BTreeSet<Arc<str>>,
    /// Every namespace that has quotas.
    pub(super) all: bool,
    pub(super) later: BTreeSet<(Timestamp, Arc<str>)>,
}

/// Held while a write is under way. Who holds it alone knows that nothing in the namespace changes meanwhile by this
/// server's hand.
pub(crate) enum Pass<'q> {
    Shared(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'q, ()>),
    Alone(#[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'q, ()>),
}

impl Default for Quotas {
    fn default() -> Self {
        Self { gates: std::array::from_fn(|_| RwLock::new(())), due: Mutex::default(), wake: Notify::new() }
    }
}

impl Quotas {
    fn gate(&self, namespace: &str) -> &RwLock<()> {
        let mut hasher = DefaultHasher::new();
        namespace.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % GATES as u64).unwrap_or(0);
        self.gates.get(at).unwrap_or(&self.gates[0])
    }

    pub(super) async fn pass(&self, namespace: &str) -> Pass<'_> {
        Pass::Shared(self.gate(namespace).read().await)
    }

    /// Waits until every write that is under way in the namespace is done, and keeps others from beginning.
    pub(crate) async fn alone(&self, namespace: &str) -> Pass<'_> {
        Pass::Alone(self.gate(namespace).write().await)
    }

    pub(super) fn count_anew(&self, namespace: &str) {
        self.due.lock().now.insert(namespace.into());
        self.wake.notify_one();
    }

    /// Other kinds are served from now on, which some quota may count.
    pub(crate) fn count_all_anew(&self) {
        self.due.lock().all = true;
        self.wake.notify_one();
    }

    pub(super) fn count_anew_at(&self, then: Timestamp, namespace: &str) {
        let mut due = self.due.lock();
        let entry = (then, Arc::from(namespace));
        // Whoever waits for an earlier moment is woken by that.
        let sooner = due.later.first().is_none_or(|first| entry < *first);
        due.later.insert(entry);
        if sooner {
            self.wake.notify_one();
        }
    }
}
