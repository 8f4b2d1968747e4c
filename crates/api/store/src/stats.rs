//! Figures about a store for whoever shows them. Decides nothing.

use std::time::Duration;

use crate::Revision;

/// Counted since the store was opened, or true at this moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub revision: Revision,
    /// Entries and the bytes of their values.
    pub objects: u64,
    pub bytes: u64,
    /// Transactions that changed something, and the batches that they were synced in.
    pub commits: u64,
    pub batches: u64,
    /// Time spent in syncing the log, and the longest single sync.
    pub sync_total: Duration,
    pub sync_longest: Duration,
    /// How often the log was cut short.
    pub compactions: u64,
    /// Events that a watch can still be resumed over.
    pub ring_events: u64,
    pub ring_bytes: u64,
    pub watchers: u64,
}
