//! Recent events in order, each at a position that never changes. Knows neither watchers nor limits.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Event, Revision};

pub(crate) struct Ring {
    events: VecDeque<Arc<Event>>,
    /// The position of the first event that is still here.
    start: u64,
    /// The newest revision whose events may no longer be here: one can resume from it and from all later ones.
    floor: Revision,
}

impl Ring {
    pub(crate) fn new(floor: Revision) -> Self {
        Ring { events: VecDeque::new(), start: 0, floor }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + self.events.len() as u64
    }

    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    pub(crate) fn get(&self, position: u64) -> Option<&Arc<Event>> {
        let index = position.checked_sub(self.start)?;
        self.events.get(usize::try_from(index).ok()?)
    }

    /// Where the events after `revision` begin.
    pub(crate) fn position_after(&self, revision: Revision) -> u64 {
        self.start + self.events.partition_point(|event| event.revision <= revision) as u64
    }

    pub(crate) fn push(&mut self, event: Arc<Event>) {
        self.events.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<Arc<Event>> {
        let event = self.events.pop_front()?;
        self.start += 1;
        self.floor = event.revision;
        // A burst should not keep its memory for ever.
        if self.events.capacity() > 4 * self.events.len() + 1024 {
            self.events.shrink_to(2 * self.events.len());
        }
        Some(event)
    }

    /// Forgets everything up to `floor`; whoever was reading has lost its place.
    pub(crate) fn reset(&mut self, floor: Revision) {
        self.start = self.end() + 1;
        self.events = VecDeque::new();
        self.floor = floor;
    }
}
