//! Tells subscribers which objects changed. A change that nobody took yet is kept once, however often it happens: it only
//! says what to look at again, so nothing is lost and nothing piles up. Knows no object's content.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Key;

/// Something about this object is different now; it may also be gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    /// `Pod`
    pub kind: String,
    pub key: Key,
    /// Who controls it, or did before it went: the one whose plan may change.
    pub controller: Option<Controller>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Controller {
    pub kind: String,
    pub name: String,
    pub uid: String,
}

/// A subscriber's changes.
pub struct Changes {
    pending: Arc<Pending>,
}

impl Changes {
    /// Waits for the next change.
    pub async fn next(&mut self) -> Change {
        loop {
            let told = self.pending.told.notified();
            if let Some(change) = self.pending.take() {
                return change;
            }
            told.await;
        }
    }

    /// The next change if there is one.
    pub fn try_next(&mut self) -> Option<Change> {
        self.pending.take()
    }
}

#[derive(Default)]
struct Pending {
    queue: Mutex<Queue>,
    told: Notify,
}

#[derive(Default)]
struct Queue {
    order: VecDeque<Change>,
    known: HashSet<Change>,
}

impl Pending {
    fn take(&self) -> Option<Change> {
        let mut queue = self.queue.lock();
        let change = queue.order.pop_front()?;
        queue.known.remove(&change);
        Some(change)
    }

    fn add(&self, change: &Change) {
        let mut queue = self.queue.lock();
        if queue.known.insert(change.clone()) {
            queue.order.push_back(change.clone());
            drop(queue);
            self.told.notify_one();
        }
    }
}

#[derive(Default)]
pub(super) struct Subscribers(Mutex<Vec<Weak<Pending>>>);

impl Subscribers {
    pub(super) fn subscribe(&self) -> Changes {
        let pending = Arc::new(Pending::default());
        self.0.lock().push(Arc::downgrade(&pending));
        Changes { pending }
    }

    pub(super) fn tell(&self, change: &Change) {
        self.0.lock().retain(|subscriber| match subscriber.upgrade() {
            Some(pending) => {
                pending.add(change);
                true
            }
            None => false,
        });
    }
}
