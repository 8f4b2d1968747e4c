//! What a job says about itself: before its pods are touched, and after.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{JobCondition, JobStatus};
use kedge_children::conditions::at;

use super::ending::Ending;
use super::scene::Scene;
use super::tally::Tally;
use crate::finish::{COMPLETE, FAILED};

const SUSPENDED: &str = "Suspended";

/// How many pods there are of each sort.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) active: usize,
    pub(super) ready: usize,
    pub(super) leaving: usize,
}

/// The status with its counts, whatever else it says.
#[must_use]
pub(super) fn counted(mut status: JobStatus, scene: &Scene, tally: &Tally, heads: Heads) -> JobStatus {
    status.active = nonzero(heads.active);
    status.ready = Some(number(heads.ready));
    status.terminating = Some(number(heads.leaving));
    status.succeeded = nonzero(tally.succeeded);
    status.failed = nonzero(tally.failed);
    status.uncounted_terminated_pods = Some(tally.notes());
    if scene.facts.is_indexed() {
        let text = scene.succeeded_indexes.to_string();
        status.completed_indexes = Some(text).filter(|text| !text.is_empty());
        status.failed_indexes = scene.failed_indexes.as_ref().map(ToString::to_string);
    }
    status
}

/// Notes that the job is about to end.
pub(super) fn note_ending(status: &mut JobStatus, ending: &Ending, now: Timestamp) {
    ensure(status, ending.interim(), "True", &ending.reason, &ending.message, now);
}

/// Says that it has ended.
pub(super) fn end(status: &mut JobStatus, ending: &Ending, now: Timestamp) {
    let type_ = if ending.succeeds { COMPLETE } else { FAILED };
    ensure(status, type_, "True", &ending.reason, &ending.message, now);
    // One that was suspended from its first moment to its last has never started; yet what has ended has a beginning.
    status.start_time = status.start_time.take().or_else(|| at(now));
    if ending.succeeds {
        status.completion_time = at(now);
    }
}

/// What people should read when a job is put to sleep or woken.
pub(super) struct Turn {
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

pub(super) fn suspend(status: &mut JobStatus, suspended: bool, now: Timestamp) -> Option<Turn> {
    if suspended {
        let turn = Turn { reason: "Suspended", message: "Job suspended" };
        ensure(status, SUSPENDED, "True", "JobSuspended", turn.message, now).then(|| {
            status.start_time = None;
            turn
        })
    } else {
        let turn = Turn { reason: "Resumed", message: "Job resumed" };
        // The job's time runs from here: while it slept it was nobody's fault.
        ensure(status, SUSPENDED, "False", "JobResumed", turn.message, now).then(|| {
            status.start_time = at(now);
            turn
        })
    }
}

/// Whether that is news. That something is not so is no news where it never was.
fn ensure(
    status: &mut JobStatus,
    type_: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let new = JobCondition {
        type_: type_.to_owned(),
        status: value.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: at(now),
        last_transition_time: at(now),
    };
    let conditions = status.conditions.get_or_insert_default();
    let changed = match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(old) if old.status == new.status && old.reason == new.reason && old.message == new.message => {
            false
        }
        Some(old) => {
            *old = new;
            true
        }
        None if value == "False" => false,
        None => {
            conditions.push(new);
            true
        }
    };
    if conditions.is_empty() {
        status.conditions = None;
    }
    changed
}

fn nonzero(count: usize) -> Option<i32> {
    Some(number(count)).filter(|number| *number != 0)
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
