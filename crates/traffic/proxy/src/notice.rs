//! Which Services are to be looked at again. Notes it while the watches go on, and wakes whoever looks.

use std::collections::BTreeSet;

use kedge_client::{Key, Listener, Seen};
use kedge_facts::{Node, Service, Slice};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::proxy::zone;

#[derive(Default)]
pub(crate) struct Notice {
    node: String,
    noted: Mutex<Noted>,
    woken: Notify,
}

/// Some, or everybody.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) keys: BTreeSet<Key>,
    pub(crate) everybody: bool,
}

impl Notice {
    pub(crate) fn new(node: &str) -> Self {
        Self { node: node.to_owned(), ..Self::default() }
    }

    /// Waits until there is something; all that came until then is one.
    pub(crate) async fn next(&self) -> Noted {
        loop {
            let noted = std::mem::take(&mut *self.noted.lock());
            if noted != Noted::default() {
                return noted;
            }
            self.woken.notified().await;
        }
    }

    fn note(&self, keys: impl IntoIterator<Item = Key>) {
        self.noted.lock().keys.extend(keys);
        self.woken.notify_one();
    }
}

impl Listener for Notice {
    fn saw(&self, seen: &Seen<'_>) {
        if seen.is::<Service>() {
            self.note([seen.key.clone()]);
        } else if seen.is::<Slice>() {
            let sides = [seen.before::<Slice>(), seen.now::<Slice>()];
            let names = sides.into_iter().flatten().filter_map(|slice| slice.service());
            self.note(names.map(|name| Key::new(seen.key.namespace.clone(), name)));
        } else if seen.is::<Node>() && seen.key.name == self.node {
            // Which endpoints are near depends on where we are.
            if seen.before::<Node>().and_then(zone) != seen.now::<Node>().and_then(zone) {
                self.noted.lock().everybody = true;
                self.woken.notify_one();
            }
        }
    }
}
