//! Snapshots that are kept for the pages still to come. Few and not for long: each holds what changed since then.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use kedge_store::{Revision, Snapshot};
use parking_lot::Mutex;

const AT_MOST: usize = 32;
const FOR: SignedDuration = SignedDuration::from_mins(5);
/// Those of which nobody has asked for a second page: most who want one ask at once. Who is slower gets it from the events since
/// then, as long as they are remembered.
const FIRST_FOR: SignedDuration = SignedDuration::from_secs(30);

/// How often they are gone through.
const SWEEP: Duration = Duration::from_secs(15);

/// Oldest first.
#[derive(Default)]
pub(crate) struct Pins(Mutex<VecDeque<Pin>>);

struct Pin {
    since: Timestamp,
    snapshot: Snapshot,
    /// Lists that have begun and not come to their last page.
    lists: usize,
    /// Somebody has asked for a second page.
    continued: bool,
}

impl Pins {
    /// Lets go of what nobody came back for, as long as there is anything to keep it in.
    pub(crate) fn sweep<T: Send + Sync + 'static>(owner: &Arc<T>, clock: Clock, pins: fn(&T) -> &Self) {
        let owner = Arc::downgrade(owner);
        tokio::spawn(async move {
            loop {
                clock.sleep(SWEEP).await;
                let Some(owner) = owner.upgrade() else { return };
                drop_old(&mut pins(&owner).0.lock(), clock.now());
            }
        });
    }

    /// Keeps the state that a page was read from for the next one. `begins`: this page is a list's first.
    pub(crate) fn keep(&self, snapshot: Snapshot, now: Timestamp, begins: bool) {
        let mut pins = self.0.lock();
        drop_old(&mut pins, now);
        let known = pins.iter().position(|pin| pin.snapshot.revision() == snapshot.revision());
        let (lists, continued) =
            known.and_then(|at| pins.remove(at)).map_or((0, false), |pin| (pin.lists, pin.continued));
        let lists = lists + usize::from(begins);
        pins.push_back(Pin { since: now, snapshot, lists, continued: continued || !begins });
        if pins.len() > AT_MOST {
            pins.pop_front();
        }
    }

    /// A list has come to its last page. Whoever still asks for an earlier one gets it from the events since then.
    pub(crate) fn release(&self, revision: Revision) {
        self.0.lock().retain_mut(|pin| {
            let mine = pin.snapshot.revision() == revision;
            pin.lists = pin.lists.saturating_sub(usize::from(mine));
            !mine || pin.lists > 0
        });
    }

    pub(crate) fn find(&self, revision: Revision, now: Timestamp) -> Option<Snapshot> {
        let mut pins = self.0.lock();
        drop_old(&mut pins, now);
        pins.iter().find(|pin| pin.snapshot.revision() == revision).map(|pin| pin.snapshot.clone())
    }
}

fn drop_old(pins: &mut VecDeque<Pin>, now: Timestamp) {
    pins.retain(|pin| now.duration_since(pin.since) <= if pin.continued { FOR } else { FIRST_FOR });
}

#[cfg(test)]
mod tests;
