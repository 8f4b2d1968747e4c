//! The one thread that makes batches durable, publishes them in order and only then answers their callers, while the
//! sequencer fills the next. Decides nothing about transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::keeper::Keeper;
use super::log::Log;
use super::sequencer::{Batch, Sequencer};
use crate::Stats;
use crate::error::StoreError;
use crate::snapshot::State;
use crate::watch::Hub;

pub(crate) struct Writer {
    pub(crate) sequencer: Arc<Sequencer>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) log: Log,
    pub(crate) snapshot_after: u64,
}

/// Figures that the writer keeps while it works.
#[derive(Default)]
pub(crate) struct Counters {
    batches: AtomicU64,
    sync_nanos: AtomicU64,
    longest_nanos: AtomicU64,
}

impl Writer {
    pub(crate) fn run(mut self) {
        while let Some((mut batch, after)) = self.sequencer.next() {
            if batch.has_writes() {
                if let Err(error) = self.write(&mut batch, &after) {
                    self.fail(batch, error);
                    continue;
                }
                self.publish(&mut batch, after);
            }
            batch.answer();
            self.house_keeping();
        }
    }

    fn write(&mut self, batch: &mut Batch, after: &State) -> Result<(), StoreError> {
        if let Some(error) = batch.spoilt.take() {
            return Err(error);
        }
        if !self.log.fits(&batch.record) {
            let ended = self.log.segment();
            let spare = self.keeper.take_spare(batch.record.len());
            self.log.rotate(spare, batch.record.len())?;
            self.keeper.ended(ended);
        }
        let began = Instant::now();
        self.log.append(&mut batch.record, after.revision)?;
        self.counters.synced(began.elapsed());
        Ok(())
    }

    fn publish(&self, batch: &mut Batch, after: Arc<State>) {
        self.hub.publish(after, std::mem::take(&mut batch.events), batch.commits);
    }

    /// A full disk can be mended while we run, files that are all in use are given back, and nothing was written. After any other failure nobody knows what
    /// the disk holds or will hold, so writing ends for good; reading goes on.
    fn fail(&self, batch: Batch, error: StoreError) {
        let for_good = !matches!(error, StoreError::Full { .. } | StoreError::Unsealable { .. });
        tracing::error!(%error, for_good, "a write failed");
        self.sequencer.fail(batch, error, self.hub.snapshot().state().clone(), for_good);
        if for_good {
            self.hub.end();
        }
    }

    fn house_keeping(&mut self) {
        if self.log.is_half_full() {
            self.keeper.want_spare();
        }
        if self.log.grown >= self.snapshot_after {
            let snapshot = self.hub.snapshot();
            // A log as long as the values themselves at most doubles what is written and what is read at start.
            if self.log.grown >= snapshot.bytes() && self.keeper.want_snapshot(snapshot, self.log.segment()) {
                self.log.grown = 0;
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sequencer.abandon();
        self.hub.end();
    }
}

impl Counters {
    fn synced(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.sync_nanos.fetch_add(nanos, Ordering::Relaxed);
        self.longest_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn add_to(&self, stats: &mut Stats) {
        stats.batches = self.batches.load(Ordering::Relaxed);
        stats.sync_total = Duration::from_nanos(self.sync_nanos.load(Ordering::Relaxed));
        stats.sync_longest = Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed));
    }
}
