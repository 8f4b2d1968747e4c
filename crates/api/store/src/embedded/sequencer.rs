//! Decides the order of writes: one short critical section checks a transaction against the newest state, pending
//! writes included, gives it a revision and adds it to the batch that fills. Touches no disk and publishes nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::Options;
use crate::apply::{Applied, apply};
use crate::error::{Stop, StoreError};
use crate::format::{self, step};
use crate::seal::Sealer;
use crate::snapshot::State;
use crate::{Committed, Event, Revision, Snapshot, Txn, Write};

pub(crate) type Answer = Result<Committed, StoreError>;

pub(crate) struct Sequencer {
    inner: Mutex<Inner>,
    filled: Condvar,
    max_txn: usize,
    max_batch: usize,
    sealer: Sealer,
}

struct Inner {
    /// The state with every pending write in it.
    newest: State,
    /// The last revision given out. Does not go back when a write fails, so a revision never has two meanings.
    given: Revision,
    /// Waiting for the writer, oldest first; the last one fills.
    waiting: VecDeque<Batch>,
    /// The writer has a batch that is not settled.
    writing: bool,
    /// The writer sleeps and must be woken.
    idle: bool,
    stopped: Option<StoreError>,
}

/// Writes that become durable together.
pub(crate) struct Batch {
    /// An unsealed record.
    pub(crate) record: Vec<u8>,
    pub(crate) events: Vec<Event>,
    pub(crate) commits: u64,
    /// Why it cannot be written; nothing of it is then.
    pub(crate) spoilt: Option<StoreError>,
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// The state after it; none while it fills.
    after: Option<State>,
}

/// What became of a transaction that was handed in.
pub(crate) enum Submitted {
    Settled(Committed),
    Pending(oneshot::Receiver<Answer>),
}

impl Sequencer {
    pub(crate) fn new(state: State, options: &Options) -> Self {
        let inner = Inner {
            given: state.revision,
            newest: state,
            waiting: VecDeque::new(),
            writing: false,
            idle: false,
            stopped: None,
        };
        // Half a segment, so that not much of one is left unused when the next record does not fit.
        let max_txn = usize::try_from(options.segment_bytes / 2).unwrap_or(usize::MAX).max(8 << 20);
        let sealer = Sealer::new(options.seal.clone());
        Sequencer { inner: Mutex::new(inner), filled: Condvar::new(), max_txn, max_batch: 1 << 20, sealer }
    }

    pub(crate) fn submit(&self, txn: &Txn) -> Result<Submitted, StoreError> {
        let size = self.size(txn)?;
        self.enter(self.open()?, txn, size)
    }

    /// As `submit`, behind what `first` adds once it has seen the newest state. A refusal of `first` comes with what it
    /// has to wait for, because it may rest on writes that are not durable.
    pub(crate) fn submit_after<E>(
        &self,
        first: impl FnOnce(&Snapshot) -> Result<Txn, E>,
        txn: Txn,
    ) -> Result<(Submitted, Option<E>), StoreError> {
        let inner = self.open()?;
        let newest = Snapshot::new(Arc::new(inner.newest.clone()));
        let decided = first(&newest);
        // While it lives, every change of the map would copy what they share.
        drop(newest);
        let (txn, refusal) = match decided {
            Ok(before) => (before.then(txn), None),
            Err(refusal) => (Txn::new(), Some(refusal)),
        };
        let size = self.size(&txn)?;
        Ok((self.enter(inner, &txn, size)?, refusal))
    }

    fn size(&self, txn: &Txn) -> Result<usize, StoreError> {
        match size(txn) {
            size if size > self.max_txn => Err(StoreError::TooLarge { size, limit: self.max_txn }),
            size => Ok(size),
        }
    }

    fn open(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
        let inner = self.inner.lock();
        match &inner.stopped {
            Some(stopped) => Err(stopped.clone()),
            None => Ok(inner),
        }
    }

    fn enter(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        txn: &Txn,
        size: usize,
    ) -> Result<Submitted, StoreError> {
        inner.make_room(size, self.max_batch);
        let revision = inner.given.next();
        let (answer, events) = match apply(&mut inner.newest, txn, revision) {
            Ok(Applied { committed, events }) => (Ok(committed), events),
            Err(refused) => (Err(refused), Vec::new()),
        };
        // What was decided on top of a write that is not durable must not be told before it is.
        if events.is_empty() && !inner.writing && inner.waiting.is_empty() {
            return answer.map(Submitted::Settled);
        }
        if !events.is_empty() {
            inner.given = revision;
        }
        let (sender, receiver) = oneshot::channel();
        let idle = inner.idle;
        inner.filling().add(revision, events, &self.sealer, sender, answer);
        drop(inner);
        if idle {
            self.filled.notify_one();
        }
        Ok(Submitted::Pending(receiver))
    }

    /// The next batch to write; none when the store is closed and everything is settled. The batch before has been
    /// settled or failed when this is called.
    pub(crate) fn next(&self) -> Option<(Batch, Arc<State>)> {
        let mut inner = self.inner.lock();
        inner.writing = false;
        loop {
            if let Some(mut batch) = inner.waiting.pop_front() {
                inner.writing = true;
                let after = batch.after.take().unwrap_or_else(|| inner.newest.clone());
                return Some((batch, Arc::new(after)));
            }
            if inner.stopped.is_some() {
                return None;
            }
            inner.idle = true;
            self.filled.wait(&mut inner);
            inner.idle = false;
        }
    }

    /// Refuses everything that is pending because `batch` could not be written, and goes back to the state that is
    /// durable. Stops for good unless a later write may succeed.
    pub(crate) fn fail(&self, batch: Batch, error: StoreError, durable: State, for_good: bool) {
        let mut inner = self.inner.lock();
        inner.newest = durable;
        let failed: Vec<_> = [batch].into_iter().chain(inner.waiting.drain(..)).collect();
        if for_good {
            inner.stopped = Some(error.clone());
        }
        drop(inner);
        for (caller, _) in failed.into_iter().flat_map(|batch| batch.answers) {
            // A caller that no longer waits does not mind.
            let _ = caller.send(Err(error.clone()));
        }
    }

    /// The writer is gone. Whoever waits for it is told by its channel's end; whoever comes later is refused.
    pub(crate) fn abandon(&self) {
        let mut inner = self.inner.lock();
        inner.stopped.get_or_insert(StoreError::Stopped { why: Stop::Died });
        let waiting = std::mem::take(&mut inner.waiting);
        drop(inner);
        drop(waiting);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.inner.lock().stopped.is_some()
    }

    pub(crate) fn close(&self) {
        self.inner.lock().stopped.get_or_insert(StoreError::Stopped { why: Stop::Closed });
        self.filled.notify_one();
    }
}

impl Inner {
    /// Ends the batch that fills if `size` more bytes would make it too large.
    fn make_room(&mut self, size: usize, max: usize) {
        if let Some(last) = self.waiting.back_mut()
            && last.has_writes()
            && last.record.len() + size > max
        {
            last.after = Some(self.newest.clone());
            self.waiting.push_back(Batch::new());
        }
    }

    fn filling(&mut self) -> &mut Batch {
        if self.waiting.is_empty() {
            self.waiting.push_back(Batch::new());
        }
        let last = self.waiting.len() - 1;
        &mut self.waiting[last]
    }
}

impl Batch {
    fn new() -> Self {
        Batch {
            record: format::unsealed(),
            events: Vec::new(),
            commits: 0,
            spoilt: None,
            answers: Vec::new(),
            after: None,
        }
    }

    fn add(
        &mut self,
        revision: Revision,
        mut events: Vec<Event>,
        sealer: &Sealer,
        caller: oneshot::Sender<Answer>,
        answer: Answer,
    ) {
        if !events.is_empty() {
            if let Err(error) = step::encode_txn(&mut self.record, revision, &events, sealer) {
                self.spoilt = Some(error);
            }
            self.events.append(&mut events);
            self.commits += 1;
        }
        self.answers.push((caller, answer));
    }

    /// Whether there is anything to write; a batch may hold answers only.
    pub(crate) fn has_writes(&self) -> bool {
        self.commits > 0
    }

    /// Tells every caller what became of its transaction.
    pub(crate) fn answer(self) {
        for (caller, answer) in self.answers {
            let _ = caller.send(answer);
        }
    }
}

fn size(txn: &Txn) -> usize {
    txn.ops
        .iter()
        .map(|op| match &op.write {
            Write::Put(draft) => step::size(&op.key, draft.bytes.len()),
            Write::Delete | Write::Check => step::size(&op.key, 0),
        })
        .sum()
}
