//! Which objects are due for a look, one look at a time for each. Knows no clock: it is told the time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_client::Key;

const FIRST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub struct Queue {
    /// Due now, in the order in which they came.
    due: VecDeque<Key>,
    known: HashSet<Key>,
    /// Being looked at; true if they were woken meanwhile.
    busy: HashMap<Key, bool>,
    later: BTreeSet<(Timestamp, Key)>,
    moments: BTreeMap<Key, Timestamp>,
    failures: HashMap<Key, u32>,
}

impl Queue {
    /// To be looked at as soon as possible.
    pub fn add(&mut self, key: Key) {
        if let Some(woken) = self.busy.get_mut(&key) {
            *woken = true;
            return;
        }
        if self.known.insert(key.clone()) {
            self.due.push_back(key);
        }
    }

    /// To be looked at not before a moment; of several moments the earliest counts.
    pub fn add_at(&mut self, key: Key, moment: Timestamp) {
        if self.moments.get(&key).is_some_and(|known| *known <= moment) {
            return;
        }
        if let Some(known) = self.moments.insert(key.clone(), moment) {
            self.later.remove(&(known, key.clone()));
        }
        self.later.insert((moment, key));
    }

    /// The next one to look at. It is nobody else's until it is done.
    pub fn take(&mut self, now: Timestamp) -> Option<Key> {
        while let Some((moment, _)) = self.later.first() {
            if *moment > now {
                break;
            }
            if let Some((_, key)) = self.later.pop_first() {
                self.moments.remove(&key);
                self.add(key);
            }
        }
        let key = self.due.pop_front()?;
        self.known.remove(&key);
        self.busy.insert(key.clone(), false);
        Some(key)
    }

    /// Nothing waits for its moment any longer: for when moments mean nothing, since the clock was set.
    pub fn hasten(&mut self) {
        self.moments.clear();
        for (_, key) in std::mem::take(&mut self.later) {
            self.add(key);
        }
    }

    /// The look is over.
    pub fn done(&mut self, key: &Key) {
        self.failures.remove(key);
        self.release(key);
    }

    /// The look failed: once more, later each time.
    pub fn failed(&mut self, key: &Key, now: Timestamp) {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_WAIT.saturating_mul(1 << (*failures).min(20)).min(LONGEST_WAIT);
        *failures += 1;
        let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::ZERO);
        // Whatever woke it meanwhile must not make it fail without a pause.
        self.busy.remove(key);
        self.add_at(key.clone(), now.saturating_add(wait).unwrap_or(Timestamp::MAX));
    }

    fn release(&mut self, key: &Key) {
        if self.busy.remove(key) == Some(true) {
            self.add(key.clone());
        }
    }

    /// When something becomes due that isn't yet.
    pub fn next_moment(&self) -> Option<Timestamp> {
        self.later.first().map(|(moment, _)| *moment)
    }

    /// Nothing is due now and nothing is being looked at.
    pub fn is_quiet(&self) -> bool {
        self.due.is_empty() && self.busy.is_empty()
    }

    /// How many wait for a look.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }
}

#[cfg(test)]
mod tests;
