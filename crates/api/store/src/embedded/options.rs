//! What an operator or a test may choose about the embedded engine.

use std::sync::Arc;

use crate::disk::{Disk, OsDisk};
use crate::seal::Seal;
use crate::watch::Limits;

#[derive(Clone)]
pub struct Options {
    /// The size of a part of the log, given to it when it is made.
    pub segment_bytes: u64,
    /// The log is cut short by a snapshot when it has grown by this much, and by as much as all values take.
    pub snapshot_after_bytes: u64,
    /// How fast a snapshot is written, so that it does not get in the way of commits.
    pub snapshot_bytes_per_second: u64,
    /// What watches can be resumed over.
    pub ring: Limits,
    pub disk: Arc<dyn Disk>,
    /// What keeps some values from standing in the clear.
    pub seal: Option<Arc<dyn Seal>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            segment_bytes: 16 << 20,
            snapshot_after_bytes: 32 << 20,
            snapshot_bytes_per_second: 64 << 20,
            ring: Limits::default(),
            disk: Arc::new(OsDisk),
            seal: None,
        }
    }
}
