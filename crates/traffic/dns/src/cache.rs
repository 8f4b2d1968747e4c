//! Remembers what others answered, for as long as they said and in so much room. Knows no socket.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::wire::{Foreign, Name};

/// Nobody is believed for longer.
const LONGEST: u32 = 3600;
const LONGEST_ABSENCE: u32 = 300;
/// So that a question that nobody answers does not keep everybody busy.
const FAILURE: u32 = 1;

/// What makes two questions the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) name: Name,
    pub(crate) kind: u16,
    pub(crate) class: u16,
    pub(crate) signatures: bool,
    pub(crate) unchecked: bool,
}

/// Nobody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

/// What came of a question, and how many seconds ago.
pub(crate) type Outcome = Result<(Arc<Foreign>, u32), Failed>;

/// Two generations: what nobody asked for while the younger one filled up goes with the older one.
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    room: usize,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Question, Held>,
    old: HashMap<Question, Held>,
    /// What the young hold, in octets.
    size: usize,
}

#[derive(Clone)]
struct Held {
    answer: Result<Arc<Foreign>, Failed>,
    /// In seconds.
    since: i64,
    until: i64,
}

impl Held {
    fn size(&self, question: &Question) -> usize {
        let answer = self.answer.as_ref().map_or(0, |answer| answer.size() + size_of::<Foreign>());
        size_of::<(Question, Held)>() + question.name.octets().len() + answer
    }
}

impl Cache {
    /// Holds about so many octets.
    pub(crate) fn new(room: usize) -> Self {
        Self { generations: Mutex::default(), room }
    }

    pub(crate) fn get(&self, question: &Question, now: Timestamp) -> Option<Outcome> {
        let now = now.as_second();
        let mut generations = self.generations.lock();
        let held = match generations.young.get(question) {
            Some(held) => held.clone(),
            None => {
                let held = generations.old.remove(question).filter(|held| held.until > now)?;
                generations.put(question.clone(), held.clone(), self.room);
                held
            }
        };
        let age = u32::try_from(now - held.since).unwrap_or(0);
        (held.until > now).then(|| held.answer.map(|answer| (answer, age)))
    }

    pub(crate) fn put(&self, question: Question, answer: Result<Arc<Foreign>, Failed>, now: Timestamp) {
        let life = match &answer {
            Ok(answer) if answer.is_positive() => answer.lifetime().map(|life| life.min(LONGEST)),
            Ok(answer) => answer.lifetime().map(|life| life.min(LONGEST_ABSENCE)),
            Err(Failed) => Some(FAILURE),
        };
        let Some(life) = life.filter(|life| *life > 0) else { return };
        let since = now.as_second();
        let held = Held { answer, since, until: since + i64::from(life) };
        self.generations.lock().put(question, held, self.room);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let generations = self.generations.lock();
        generations.young.len() + generations.old.len()
    }
}

impl Generations {
    fn put(&mut self, question: Question, held: Held, room: usize) {
        self.size += held.size(&question);
        if let Some(before) = self.young.insert(question.clone(), held) {
            self.size = self.size.saturating_sub(before.size(&question));
        }
        if self.size > room / 2 {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
    }
}

#[cfg(test)]
mod tests;
