//! The pods that wait for a node: those whose turn it is, by priority and then by waiting time; those that failed a moment ago;
//! those for whom something has to change first; and those that are not to be scheduled yet. Knows the time it is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::pod::PodView;

/// A pod that nothing seems to help is tried again after this time, in case that we overlooked something.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);

pub struct Queue {
    entries: HashMap<String, Entry>,
    active: BTreeMap<Place, String>,
    resting: BTreeSet<(Timestamp, String)>,
    waiting: BTreeSet<(Timestamp, String)>,
    /// How many of those who wait were rejected by each plugin.
    rejected_by: HashMap<&'static str, usize>,
    /// How many of them by none.
    helpless: usize,
    first_rest: SignedDuration,
    longest_rest: SignedDuration,
}

/// Whose turn it is first.
type Place = (Reverse<i32>, Timestamp, Option<Timestamp>, kedge_engine::Key);

struct Entry {
    pod: Arc<PodView>,
    state: State,
    attempts: u32,
    last_attempt: Timestamp,
    first_seen: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Active(Place),
    /// After a failure, until then.
    Resting(Timestamp),
    /// Until something changes that one of these plugins cares for; any change if there are none.
    Waiting {
        since: Timestamp,
        plugins: BTreeSet<&'static str>,
    },
    Gated,
    /// Somebody is at it.
    Taken,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    pub active: usize,
    pub resting: usize,
    pub waiting: usize,
    pub gated: usize,
}

/// A pod whose turn it is.
#[derive(Clone, Debug)]
pub struct Turn {
    pub pod: Arc<PodView>,
    pub attempts: u32,
    /// When it first asked for a node.
    pub since: Timestamp,
}

impl Queue {
    pub fn new(first_rest: SignedDuration, longest_rest: SignedDuration) -> Self {
        Self {
            entries: HashMap::new(),
            active: BTreeMap::new(),
            resting: BTreeSet::new(),
            waiting: BTreeSet::new(),
            rejected_by: HashMap::new(),
            helpless: 0,
            first_rest,
            longest_rest,
        }
    }

    /// A pod without a node, new or changed. Returns whether somebody's turn has come nearer.
    pub fn put(&mut self, pod: Arc<PodView>, now: Timestamp) -> bool {
        let gated = !pod.gates.is_empty();
        let uid = pod.uid.clone();
        let Some(entry) = self.entries.get_mut(&uid) else {
            let state = State::Gated;
            self.entries
                .insert(uid.clone(), Entry { pod, state, attempts: 0, last_attempt: now, first_seen: now });
            return !gated && self.activate(&uid, now);
        };
        let before = std::mem::replace(&mut entry.pod, pod.clone());
        match entry.state {
            State::Gated => !gated && self.activate(&uid, now),
            State::Waiting { .. } => is_worth_a_try(&before, &pod) && self.activate_or_rest(&uid, now),
            State::Active(_) | State::Resting(_) | State::Taken => false,
        }
    }

    pub fn remove(&mut self, uid: &str) {
        self.leave(uid);
        self.entries.remove(uid);
    }

    /// The pod whose turn it is now.
    pub fn take(&mut self, now: Timestamp) -> Option<Turn> {
        self.flush(now);
        let (_, uid) = self.active.pop_first()?;
        let entry = self.entries.get_mut(&uid)?;
        entry.state = State::Taken;
        entry.attempts = entry.attempts.saturating_add(1);
        entry.last_attempt = now;
        Some(Turn { pod: entry.pod.clone(), attempts: entry.attempts, since: entry.first_seen })
    }

    /// It fits nowhere, and these plugins said so.
    pub fn wait(&mut self, uid: &str, plugins: BTreeSet<&'static str>, now: Timestamp) {
        self.leave(uid);
        if self.entries.contains_key(uid) {
            self.waiting.insert((now, uid.to_owned()));
            for plugin in &plugins {
                *self.rejected_by.entry(plugin).or_default() += 1;
            }
            self.helpless += usize::from(plugins.is_empty());
            self.enter(uid, State::Waiting { since: now, plugins });
        }
    }

    /// Something went wrong that has nothing to do with the cluster.
    pub fn rest(&mut self, uid: &str) {
        self.leave(uid);
        let Some(entry) = self.entries.get(uid) else { return };
        let until = self.rested_at(entry);
        self.resting.insert((until, uid.to_owned()));
        self.enter(uid, State::Resting(until));
    }

    /// Something has changed: whom it may help gets another turn. Returns whether there is anybody.
    pub fn wake(
        &mut self,
        now: Timestamp,
        helps: impl Fn(&PodView, &BTreeSet<&'static str>) -> bool,
    ) -> bool {
        let helped = |(_, uid): &(Timestamp, String)| {
            let entry = self.entries.get(uid)?;
            match &entry.state {
                State::Waiting { plugins, .. } if plugins.is_empty() || helps(&entry.pod, plugins) => {
                    Some(uid.clone())
                }
                _ => None,
            }
        };
        let woken: Vec<String> = self.waiting.iter().filter_map(helped).collect();
        for uid in &woken {
            self.activate_or_rest(uid, now);
        }
        !woken.is_empty()
    }

    /// When to look again although nothing has changed.
    pub fn next_moment(&self) -> Option<Timestamp> {
        let rested = self.resting.first().map(|(until, _)| *until);
        let waited = self.waiting.first().map(|(since, _)| later(*since, LONGEST_WAIT));
        rested.into_iter().chain(waited).min()
    }

    /// Whether anybody waits because of this plugin.
    pub fn waits_for(&self, plugin: &str) -> bool {
        self.rejected_by.get(plugin).is_some_and(|number| *number > 0)
    }

    /// Whether anybody waits whom any change may help.
    pub fn has_helpless(&self) -> bool {
        self.helpless > 0
    }

    pub fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    pub fn lengths(&self) -> Lengths {
        let gated = self.entries.values().filter(|entry| entry.state == State::Gated).count();
        let (active, resting, waiting) = (self.active.len(), self.resting.len(), self.waiting.len());
        Lengths { active, resting, waiting, gated }
    }

    fn flush(&mut self, now: Timestamp) {
        while let Some((until, uid)) = self.resting.first().cloned()
            && until <= now
        {
            self.resting.pop_first();
            self.activate(&uid, now);
        }
        while let Some((since, uid)) = self.waiting.first().cloned()
            && later(since, LONGEST_WAIT) <= now
        {
            self.activate_or_rest(&uid, now);
            self.waiting.remove(&(since, uid));
        }
    }

    fn activate_or_rest(&mut self, uid: &str, now: Timestamp) -> bool {
        let Some(entry) = self.entries.get(uid) else { return false };
        if self.rested_at(entry) > now {
            self.rest(uid);
            true
        } else {
            self.activate(uid, now)
        }
    }

    fn activate(&mut self, uid: &str, now: Timestamp) -> bool {
        self.leave(uid);
        let Some(entry) = self.entries.get_mut(uid) else { return false };
        let pod = &entry.pod;
        let place = (Reverse(pod.priority), now, pod.created, pod.key.clone());
        entry.state = State::Active(place.clone());
        self.active.insert(place, uid.to_owned());
        true
    }

    fn enter(&mut self, uid: &str, state: State) {
        if let Some(entry) = self.entries.get_mut(uid) {
            entry.state = state;
        }
    }

    fn leave(&mut self, uid: &str) {
        let Some(entry) = self.entries.get_mut(uid) else { return };
        match std::mem::replace(&mut entry.state, State::Taken) {
            State::Active(place) => {
                // A pod of the same name may have taken the place of one that we have not seen go.
                if self.active.get(&place).is_some_and(|other| other == uid) {
                    self.active.remove(&place);
                }
            }
            State::Resting(until) => drop(self.resting.remove(&(until, uid.to_owned()))),
            State::Waiting { since, plugins } => {
                self.waiting.remove(&(since, uid.to_owned()));
                for plugin in &plugins {
                    if let Some(number) = self.rejected_by.get_mut(plugin) {
                        *number -= 1;
                    }
                }
                self.helpless -= usize::from(plugins.is_empty());
            }
            State::Gated | State::Taken => {}
        }
    }

    /// Twice as long after each attempt.
    fn rested_at(&self, entry: &Entry) -> Timestamp {
        let doublings = entry.attempts.saturating_sub(1).min(16);
        let rest = self.first_rest.saturating_mul(1 << doublings).min(self.longest_rest);
        later(entry.last_attempt, rest)
    }
}

fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// What the scheduler itself writes into a pod is no reason to try again, except that nobody makes room for it any more.
fn is_worth_a_try(before: &PodView, now: &PodView) -> bool {
    let same = PodView {
        revision: now.revision.clone(),
        nominated: now.nominated.clone(),
        disrupted: now.disrupted,
        started: now.started,
        ..before.clone()
    };
    same != *now || (before.nominated.is_some() && now.nominated.is_none())
}

#[cfg(test)]
mod tests;
