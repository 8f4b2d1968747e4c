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

/// How often they are gone through.
const SWEEP: Duration = Duration::from_secs(60);

/// Oldest first.
#[derive(Default)]
pub(crate) struct Pins(Mutex<VecDeque<(Timestamp, Snapshot)>>);

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

    pub(crate) fn keep(&self, snapshot: Snapshot, now: Timestamp) {
        let mut pins = self.0.lock();
        drop_old(&mut pins, now);
        pins.retain(|(_, kept)| kept.revision() != snapshot.revision());
        pins.push_back((now, snapshot));
        if pins.len() > AT_MOST {
            pins.pop_front();
        }
    }

    pub(crate) fn find(&self, revision: Revision, now: Timestamp) -> Option<Snapshot> {
        let mut pins = self.0.lock();
        drop_old(&mut pins, now);
        pins.iter().find(|(_, kept)| kept.revision() == revision).map(|(_, kept)| kept.clone())
    }
}

fn drop_old(pins: &mut VecDeque<(Timestamp, Snapshot)>, now: Timestamp) {
    while pins.front().is_some_and(|(since, _)| now.duration_since(*since) > FOR) {
        pins.pop_front();
    }
}

#[cfg(test)]
mod tests;
