//! The seats of one priority level and those who wait for one. Queues are served in turn, so that a long one holds up itself alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::level::{Level, Queuing};

pub(super) struct Gate {
    name: String,
    state: Mutex<State>,
    exempt: AtomicBool,
    /// Read by other levels, which may use what this one doesn't.
    used: AtomicUsize,
    lendable: AtomicUsize,
    nominal: AtomicUsize,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) dispatched: AtomicU64,
    pub(super) full: AtomicU64,
    pub(super) late: AtomicU64,
}

struct State {
    level: Level,
    /// Those that it may borrow from.
    others: Vec<Weak<Gate>>,
    queues: BTreeMap<usize, VecDeque<(u64, oneshot::Sender<()>)>>,
    waiting: usize,
    /// The queue that was served last.
    last: usize,
    /// Numbers those who wait.
    next: u64,
}

/// What whoever comes to a level gets.
pub(super) enum Entry {
    Free,
    Seat(Seat),
    Wait(Waiting),
}

/// Why there is no seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSeat {
    Full,
    Late,
}

impl Gate {
    pub(super) fn new(level: Level) -> Self {
        let name = level.name.clone();
        let state =
            State { level, others: Vec::new(), queues: BTreeMap::new(), waiting: 0, last: 0, next: 0 };
        Self {
            name,
            exempt: AtomicBool::new(state.level.exempt),
            state: Mutex::new(state),
            used: AtomicUsize::new(0),
            lendable: AtomicUsize::new(0),
            nominal: AtomicUsize::new(1),
            counts: Counts::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes over what is said of the level now. Those who wait stay where they are.
    pub(super) fn change(&self, level: Level, nominal: usize) {
        self.nominal.store(nominal, Ordering::Relaxed);
        self.lendable.store(nominal * level.lendable as usize / 100, Ordering::Relaxed);
        self.exempt.store(level.exempt, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.level = level;
        self.dispatch(&mut state);
    }

    /// Learns of all levels there are.
    pub(super) fn meet(&self, all: &[Arc<Gate>]) {
        let others = all.iter().filter(|gate| gate.name != self.name).map(Arc::downgrade);
        self.state.lock().others = others.collect();
    }

    pub(super) fn seats(&self) -> usize {
        self.nominal.load(Ordering::Relaxed)
    }

    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// A seat at once, a place in a queue, or neither; none is needed where the level is exempt.
    pub(super) fn enter(gate: &Arc<Self>, flow: &str, alike: u64) -> Result<Entry, NoSeat> {
        if gate.exempt.load(Ordering::Relaxed) {
            gate.counts.dispatched.fetch_add(1, Ordering::Relaxed);
            return Ok(Entry::Free);
        }
        let mut state = gate.state.lock();
        if state.waiting == 0 && gate.used() < gate.limit(&state) {
            return Ok(Entry::Seat(gate.take()));
        }
        let Some(queuing) = state.level.queuing else { return Err(gate.refuse(flow)) };
        let queue = state.shortest(queuing, alike);
        if state.queues.get(&queue).map_or(0, VecDeque::len) >= queuing.queue_length_limit {
            return Err(gate.refuse(flow));
        }
        let (turn, comes) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting += 1;
        state.queues.entry(queue).or_default().push_back((number, turn));
        Ok(Entry::Wait(Waiting { gate: gate.clone(), queue, number, comes, done: false }))
    }

    fn refuse(&self, flow: &str) -> NoSeat {
        tracing::debug!(level = self.name, flow, "too many requests");
        self.counts.full.fetch_add(1, Ordering::Relaxed);
        NoSeat::Full
    }

    /// Its own seats, and what others lend of theirs at the moment.
    fn limit(&self, state: &State) -> usize {
        let own = self.nominal.load(Ordering::Relaxed);
        if self.used() < own {
            return own;
        }
        let others = state.others.iter().filter_map(Weak::upgrade);
        let idle: usize = others.map(|other| other.idle()).sum();
        let most =
            state.level.borrows.map_or(usize::MAX, |percent| own.saturating_mul(percent as usize) / 100);
        own + idle.min(most)
    }

    /// What it lends: never what it uses itself.
    fn idle(&self) -> usize {
        let free = self.nominal.load(Ordering::Relaxed).saturating_sub(self.used());
        free.min(self.lendable.load(Ordering::Relaxed))
    }

    fn take(self: &Arc<Self>) -> Seat {
        self.used.fetch_add(1, Ordering::Relaxed);
        self.counts.dispatched.fetch_add(1, Ordering::Relaxed);
        Seat(self.clone())
    }

    /// Gives free seats to those who wait, one queue after the other.
    fn dispatch(&self, state: &mut State) {
        while state.waiting > 0 && self.used() < self.limit(state) {
            let after = state.queues.range(state.last + 1..).next();
            let Some((&queue, _)) = after.or_else(|| state.queues.iter().next()) else { return };
            state.last = queue;
            let Some(line) = state.queues.get_mut(&queue) else { return };
            let first = line.pop_front();
            if line.is_empty() {
                state.queues.remove(&queue);
            }
            let Some((_, turn)) = first else { continue };
            state.waiting -= 1;
            // Whoever has gone away in the meantime needs none.
            if turn.send(()).is_ok() {
                self.used.fetch_add(1, Ordering::Relaxed);
                self.counts.dispatched.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn leave(&self) {
        let mut state = self.state.lock();
        self.used.fetch_sub(1, Ordering::Relaxed);
        if state.waiting > 0 {
            self.dispatch(&mut state);
        }
    }
}

impl State {
    /// The shortest of the queues that requests of this likeness may choose from. Few flows share all of theirs with a given one.
    fn shortest(&self, queuing: Queuing, alike: u64) -> usize {
        let queues = queuing.queues.max(1);
        let mut hash = alike;
        let hand = (0..queuing.hand_size.max(1)).map(|_| {
            // Another number each time, spread over all queues.
            hash = hash.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (hash >> 33) as usize % queues
        });
        hand.min_by_key(|queue| self.queues.get(queue).map_or(0, VecDeque::len)).unwrap_or(0)
    }
}

/// A place in a queue, given up however the waiting ends.
pub(super) struct Waiting {
    gate: Arc<Gate>,
    queue: usize,
    number: u64,
    comes: oneshot::Receiver<()>,
    done: bool,
}

impl Waiting {
    pub(super) async fn turn(mut self, patience: Duration) -> Result<Seat, NoSeat> {
        match tokio::time::timeout(patience, &mut self.comes).await {
            Ok(Ok(())) => {
                self.done = true;
                Ok(Seat(self.gate.clone()))
            }
            Ok(Err(_)) | Err(_) => {
                self.gate.counts.late.fetch_add(1, Ordering::Relaxed);
                Err(NoSeat::Late)
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut state = self.gate.state.lock();
        if self.comes.try_recv().is_ok() {
            // The turn came while we were leaving.
            self.gate.used.fetch_sub(1, Ordering::Relaxed);
            self.gate.dispatch(&mut state);
            return;
        }
        let State { queues, waiting, .. } = &mut *state;
        if let Some(line) = queues.get_mut(&self.queue) {
            let before = line.len();
            line.retain(|(number, _)| *number != self.number);
            *waiting -= before - line.len();
            if line.is_empty() {
                queues.remove(&self.queue);
            }
        }
    }
}

/// One request under way.
pub(crate) struct Seat(Arc<Gate>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.leave();
    }
}
