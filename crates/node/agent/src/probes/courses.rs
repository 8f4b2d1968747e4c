//! When each probe of a pod is due, and what its answers add up to. Pure: the time and the answers are handed in.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Probe};
use kedge_probes::Outcome;

use super::Kind;
use crate::memory::{Doing, Memory, Probed};
use crate::plan::{Situation, is_sidecar};

/// A container that is not ready yet is asked sooner than its period says, so that it becomes so as soon as it can. Such an
/// early failure says nothing and is neither counted nor told.
const EARLY: SignedDuration = SignedDuration::from_millis(100);

/// One probe of one container, by the container's id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) kind: Kind,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) key: Key,
    pub(crate) begun: Timestamp,
    pub(crate) outcome: Outcome,
}

/// What an attempt leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Something is known now that was not.
    pub(crate) news: bool,
    /// What people should read: the container, the reason and the message.
    pub(crate) tell: Option<(String, &'static str, String)>,
}

#[derive(Debug, Default)]
pub(crate) struct Courses {
    all: HashMap<Key, Course>,
}

#[derive(Clone, Debug)]
struct Course {
    container: String,
    period: SignedDuration,
    needed: Thresholds,
    next: Timestamp,
    /// The last answer, and how often it came in a row.
    last: Option<bool>,
    row: i32,
    flying: bool,
    /// It has said what it had to, until there is another container.
    held: bool,
    /// The next wait of a container that has never been ready.
    early: Option<SignedDuration>,
}

#[derive(Clone, Copy, Debug)]
struct Thresholds {
    successes: i32,
    failures: i32,
}

impl Courses {
    /// Has a course for each probe of what runs, and none for what doesn't.
    pub(crate) fn align(&mut self, situation: Situation<'_>, memory: &mut Memory) {
        let Situation { pod, view, steady: now, .. } = situation;
        let Some(spec) = &pod.spec else { return };
        // Whether somebody deleted it or it has to go for another reason.
        let leaving = pod.metadata.deletion_timestamp.is_some() || memory.verdict.is_some();
        let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
        let mut wanted = HashSet::new();
        for container in spec.containers.iter().chain(sidecars) {
            if Kind::ALL.iter().all(|kind| kind.of(container).is_none()) {
                continue;
            }
            let Some(made) = view.latest(&container.name).filter(|made| made.is_running()) else { continue };
            if is_being_greeted(memory, container) {
                continue;
            }
            adopt(situation, memory, &made.id);
            for kind in Kind::ALL {
                let Some(probe) = kind.of(container) else { continue };
                // Whoever is leaving is neither waited for nor brought back.
                if leaving && kind != Kind::Readiness {
                    continue;
                }
                let key = Key { id: made.id.clone(), kind };
                wanted.insert(key.clone());
                let started = made.started_at.map(|written| situation.past(written));
                self.all.entry(key).or_insert_with(|| Course::new(container, probe, kind, started, now));
            }
        }
        self.all.retain(|key, _| wanted.contains(key));
        memory.probed.retain(|id, _| view.containers.iter().any(|made| made.id == *id));
    }

    /// When the next attempt is due, if there is one.
    pub(crate) fn next(&self, memory: &Memory) -> Option<Timestamp> {
        self.waiting(memory).map(|(_, course)| course.next).min()
    }

    /// The attempts that are due, each with its container's name. They are under way from now on.
    pub(crate) fn due(&mut self, memory: &Memory, now: Timestamp) -> Vec<(Key, String)> {
        let due: Vec<Key> = self
            .waiting(memory)
            .filter(|(_, course)| course.next <= now)
            .map(|(key, _)| key.clone())
            .collect();
        let begun = due.into_iter().filter_map(|key| {
            let course = self.all.get_mut(&key)?;
            course.flying = true;
            Some((key, course.container.clone()))
        });
        begun.collect()
    }

    fn waiting<'a>(&'a self, memory: &'a Memory) -> impl Iterator<Item = (&'a Key, &'a Course)> {
        self.all.iter().filter(move |(key, course)| {
            let started = self.has_started(memory, &key.id);
            !course.flying && !course.held && (key.kind == Kind::Startup) != started
        })
    }

    fn has_started(&self, memory: &Memory, id: &str) -> bool {
        let has_probe = self.all.contains_key(&Key { id: id.to_owned(), kind: Kind::Startup });
        let known = memory.probed.get(id).and_then(|probed| probed.started);
        known.unwrap_or(!has_probe)
    }

    /// What an answer counts as, and for which container; an early failure counts as nothing.
    pub(crate) fn counts(&self, tried: &Tried) -> Option<(&str, &'static str)> {
        let course = self.all.get(&tried.key)?;
        let result = match &tried.outcome {
            Outcome::Success | Outcome::Warning(_) => "successful",
            Outcome::Failure(_) if course.early.is_some_and(|wait| wait < course.period) => return None,
            Outcome::Failure(_) => "failed",
            Outcome::Unknown(_) => "unknown",
        };
        Some((&course.container, result))
    }

    /// Takes an answer. One about a container that is no longer there is nobody's.
    pub(crate) fn took(&mut self, tried: Tried, memory: &mut Memory, now: Timestamp) -> Heard {
        let Tried { key, begun, outcome } = tried;
        let Some(course) = self.all.get_mut(&key) else { return Heard::default() };
        course.flying = false;
        course.next = later(begun, course.period).max(now);
        let title = key.kind.title();
        let (fine, tell) = match outcome {
            Outcome::Success => (true, None),
            Outcome::Warning(text) => {
                (true, Some(("ProbeWarning", format!("{title} probe warning: {text}"))))
            }
            Outcome::Failure(text) => {
                if let Some(wait) = course.early.filter(|wait| *wait < course.period) {
                    course.early = Some(wait.saturating_mul(2));
                    course.next = later(now, wait);
                    return Heard::default();
                }
                (false, Some(("Unhealthy", format!("{title} probe failed: {text}"))))
            }
            Outcome::Unknown(text) => {
                let message = format!("{title} probe errored and resulted in unknown state: {text}");
                return Heard { news: false, tell: Some((course.container.clone(), "Unhealthy", message)) };
            }
        };
        course.early = None;
        let tell = tell.map(|(reason, message)| (course.container.clone(), reason, message));
        course.row = if course.last == Some(fine) { course.row.saturating_add(1) } else { 1 };
        course.last = Some(fine);
        let needed = if fine { course.needed.successes } else { course.needed.failures };
        if course.row < needed {
            return Heard { news: false, tell };
        }
        let probed = memory.probed.entry(key.id.clone()).or_default();
        let before = probed.clone();
        match (key.kind, fine) {
            (Kind::Startup, true) => probed.started = Some(true),
            (Kind::Readiness, _) => probed.ready = Some(fine),
            (Kind::Liveness, true) => {}
            (Kind::Startup | Kind::Liveness, false) => probed.dead = Some(key.kind),
        }
        course.held = key.kind == Kind::Startup || key.kind == Kind::Liveness && !fine;
        let news = *probed != before;
        Heard { news, tell }
    }
}

impl Course {
    fn new(
        container: &Container,
        probe: &Probe,
        kind: Kind,
        started: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let seconds = |seconds: Option<i32>, usual: i32| {
            SignedDuration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(usual).into())
        };
        let delay = seconds(probe.initial_delay_seconds, 0);
        let count = |count: Option<i32>, usual: i32| count.filter(|count| *count > 0).unwrap_or(usual);
        Self {
            container: container.name.clone(),
            period: seconds(probe.period_seconds, 10),
            needed: Thresholds {
                successes: count(probe.success_threshold, 1),
                failures: count(probe.failure_threshold, 3),
            },
            next: started.map_or(now, |started| later(started, delay).max(now)),
            last: None,
            row: 0,
            flying: false,
            held: false,
            early: (kind == Kind::Readiness && delay.is_zero()).then_some(EARLY),
        }
    }
}

/// A container is not asked anything before its first hook is over.
fn is_being_greeted(memory: &Memory, container: &Container) -> bool {
    let greeted = container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.post_start.is_some());
    greeted && memory.busy.get(&container.name) == Some(&Doing::Starting)
}

/// What the agent before this one found out about a container that runs on is taken over, so that nothing that was ready
/// stops being it because an agent started anew.
fn adopt(situation: Situation<'_>, memory: &mut Memory, id: &str) {
    if memory.probed.contains_key(id) {
        return;
    }
    let status = situation.pod.status.as_ref();
    let told = status.and_then(|status| {
        let main = status.container_statuses.iter().flatten();
        let mut all = main.chain(status.init_container_statuses.iter().flatten());
        all.find(|told| {
            told.container_id
                .as_deref()
                .and_then(|told| told.rsplit_once("//"))
                .is_some_and(|(_, told)| told == id)
        })
    });
    if let Some(told) = told {
        let probed =
            Probed { started: told.started.filter(|started| *started), ready: Some(told.ready), dead: None };
        memory.probed.insert(id.to_owned(), probed);
    }
}

fn later(moment: Timestamp, wait: SignedDuration) -> Timestamp {
    moment.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
