//! When the node runs short of something: which signals say so, what it is called, and which pod has to go. Decides and does
//! nothing else; `keeper` looks and carries out.

mod keeper;
mod limits;
mod message;
mod rank;
mod threshold;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

pub(crate) use self::keeper::Keeper;
use self::threshold::{Signal, Threshold};
pub use self::threshold::{ThresholdError, Thresholds};

/// How much there is of something, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) available: i64,
    pub(crate) capacity: i64,
}

pub(crate) type Observations = BTreeMap<Signal, Observed>;

/// How a node is kept from running short.
#[derive(Clone, Debug)]
pub struct Eviction {
    pub thresholds: Thresholds,
    /// A node is said to be short of something for as long after it last was.
    pub transition: SignedDuration,
    /// Between two looks.
    pub every: std::time::Duration,
}

impl Default for Eviction {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            transition: SignedDuration::from_mins(5),
            every: std::time::Duration::from_secs(10),
        }
    }
}

/// What was seen before: since when a threshold is passed, and when something was last short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    since: BTreeMap<usize, Timestamp>,
    last: BTreeMap<&'static str, Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shortage {
    /// `MemoryPressure`…, as the node's conditions are called.
    pub(crate) pressures: Vec<&'static str>,
    /// The thresholds for which something has to be done, the most urgent first.
    pub(crate) urgent: Vec<Threshold>,
}

impl Eviction {
    /// What follows from what is seen, and what to remember of it.
    pub(crate) fn judge(&self, seen: &Observations, before: &History, now: Timestamp) -> (Shortage, History) {
        let mut history = History { since: BTreeMap::new(), last: before.last.clone() };
        let mut urgent = Vec::new();
        for (index, threshold) in self.thresholds.iter().enumerate() {
            let Some(observed) = seen.get(&threshold.signal) else { continue };
            if !threshold.is_passed(observed) {
                continue;
            }
            let since = before.since.get(&index).copied().unwrap_or(now);
            history.since.insert(index, since);
            history.last.insert(threshold.signal.pressure(), now);
            if now.duration_since(since) >= threshold.grace {
                urgent.push(threshold.clone());
            }
        }
        // Memory cannot be had back by anything but ending somebody, so it comes first.
        urgent.sort_by_key(|threshold| threshold.signal);
        history.last.retain(|_, last| *last == now || now.duration_since(*last) < self.transition);
        (Shortage { pressures: history.last.keys().copied().collect(), urgent }, history)
    }
}

#[cfg(test)]
mod tests;
