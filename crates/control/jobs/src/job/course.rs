//! One turn of a job: what is noted, which pods lose their finalizer, go or come, and what is said at the end. The order is what
//! keeps the count exact; see `tally`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kedge_children::conditions::at;
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Plan, Severity, Target};
use kube::ResourceExt;
use serde_json::json;

use super::ending::{self, Ending};
use super::making;
use super::scene::Scene;
use super::status::{self, Heads};
use super::tally::{self, Tally};
use super::tracked::Tracked;
use super::workers::{self, Staffing};

/// What is to happen to a job in one turn.
pub(super) struct Course<'a> {
    job: &'a Job,
    scene: &'a Scene,
    now: Timestamp,
    started: Option<Timestamp>,
    ending: Option<Ending>,
    staffing: Staffing,
}

impl<'a> Course<'a> {
    pub(super) fn decide(job: &'a Job, scene: &'a Scene, now: Timestamp) -> Self {
        let started = scene.facts.status.start_time.as_ref().map(|time| time.0);
        let started = started.or_else(|| Some(now).filter(|_| !scene.facts.is_suspended()));
        let mut ending = ending::of(scene, started, now);
        let staffing = if ending.is_some() {
            Staffing { surplus: scene.active().cloned().collect(), ..Staffing::default() }
        } else if scene.facts.is_leaving {
            Staffing::default()
        } else {
            workers::staffing(scene, now)
        };
        let at_work = scene.active().count() - staffing.surplus.len() + staffing.missing.len();
        if ending.is_none() && at_work == 0 && scene.succeeded >= scene.facts.completions().unwrap_or(1) {
            ending = Some(Ending::completion());
        }
        Self { job, scene, now, started, ending, staffing }
    }

    pub(super) fn plan(self, is_free: impl Fn(&str) -> bool) -> Plan {
        let unwanted = &self.staffing.surplus;
        let tally = tally::tally(self.scene, self.ending.as_ref(), unwanted);
        let free: BTreeSet<&str> = tally.free.iter().map(|pod| pod.id()).collect();
        // A pod that goes while it can still be counted would count as failed.
        let leaves = |pod: &&Arc<Pod>| !pod.is_tracked() || free.contains(pod.id());
        let removed: Vec<&Arc<Pod>> = unwanted.iter().filter(leaves).collect();
        let (noted, turn) = self.noted(&tally);
        let started = noted.start_time.as_ref();
        let made = making::pods(self.job, self.scene, started, &self.staffing.missing, is_free);
        let told_turn = turn.map(|turn| Action::tell(self.job, Severity::Normal, turn.reason, turn.message));
        let steps: Vec<Action> =
            tally.free.iter().filter_map(|pod| pod.let_go()).chain(self.removal(&removed)).collect();
        let creations = self.creation(&made);

        let is_full = tally.is_full;
        let tally = tally.settled();
        let heads = heads(self.scene, &removed, made.len());
        let mut last = status::counted(noted.clone(), self.scene, &tally, heads);
        let ended = self.ending.as_ref().filter(|_| !is_full && !tally.has_notes() && heads.leaving == 0);
        let ended = ended.filter(|_| heads.active == 0);
        if let Some(ending) = ended {
            status::end(&mut last, ending, self.now);
        }
        let told_end = ended.map(|ending| self.told_end(ending, tally.succeeded)).unwrap_or_default();

        let first = Job { status: Some(noted), ..self.job.clone() };
        let second = Job { status: Some(last), ..self.job.clone() };
        let deadline = ending::deadline(self.scene, self.started).filter(|_| self.ending.is_none());
        let plan = if steps.is_empty() && creations.is_empty() {
            Plan::from(Action::status(self.job, &second)).then(told_turn).then(told_end)
        } else {
            let noted = Action::status(self.job, &first);
            let guard = Some(self.unchanged()).filter(|_| noted.is_none() && !creations.is_empty());
            let plan = Plan::from(noted).then(guard).then(told_turn).then(steps).then(creations);
            plan.then(Action::status(&first, &second)).then(told_end)
        };
        plan.again_at(self.staffing.look_again).again_at(deadline)
    }

    /// The status that is written before anything happens to a pod: who will be counted, and how the job is about to end.
    fn noted(&self, tally: &Tally) -> (JobStatus, Option<status::Turn>) {
        let facts = &self.scene.facts;
        let mut status = facts.status.clone();
        status.start_time = status.start_time.or_else(|| self.started.and_then(at));
        let turn = match &self.ending {
            Some(ending) => {
                status::note_ending(&mut status, ending, self.now);
                None
            }
            None if facts.is_leaving => None,
            None => status::suspend(&mut status, facts.is_suspended(), self.now),
        };
        (status::counted(status, self.scene, tally, heads(self.scene, &[], 0)), turn)
    }

    fn removal(&self, pods: &[&Arc<Pod>]) -> Vec<Action> {
        let told = pods.iter().map(|pod| {
            let message = format!("Deleted pod: {}", pod.name_any());
            Action::tell(self.job, Severity::Normal, "SuccessfulDelete", message)
        });
        pods.iter().map(|pod| Action::delete(&***pod)).chain(told).collect()
    }

    fn creation(&self, pods: &[Pod]) -> Vec<Action> {
        let told = pods.iter().map(|pod| {
            let message = format!("Created pod: {}", pod.name_any());
            Action::tell(self.job, Severity::Normal, "SuccessfulCreate", message)
        });
        pods.iter().map(Action::create).chain(told).collect()
    }

    /// Fails if somebody has changed the job: pods are made only for what it is now, never for a count that is out of date.
    fn unchanged(&self) -> Action {
        Action::Change { target: Target::of(self.job), subresource: "status", patch: json!({}) }
    }

    fn told_end(&self, ending: &Ending, succeeded: usize) -> Vec<Action> {
        let tell = |severity, reason, message: &str| Action::tell(self.job, severity, reason, message);
        if !ending.succeeds {
            return vec![tell(Severity::Warning, spoken(&ending.reason), &ending.message)];
        }
        let too_many = self.scene.facts.completions().is_some_and(|wanted| succeeded > wanted);
        let warning = too_many.then(|| {
            let message = "Too many succeeded pods running after completion count reached";
            tell(Severity::Warning, "TooManySucceededPods", message)
        });
        warning.into_iter().chain([tell(Severity::Normal, "Completed", "Job completed")]).collect()
    }
}

/// What there is once these pods are told to go and so many others are made.
fn heads(scene: &Scene, removed: &[&Arc<Pod>], made: usize) -> Heads {
    let ready = |pods: &mut dyn Iterator<Item = &Arc<Pod>>| pods.filter(|pod| pod.is_ready()).count();
    Heads {
        active: scene.active().count() - removed.len() + made,
        ready: ready(&mut scene.active()) - ready(&mut removed.iter().copied()),
        leaving: scene.leaving() + removed.len(),
    }
}

/// An event's reason is one of ours, also where the condition was noted by an earlier version.
fn spoken(reason: &str) -> &'static str {
    const KNOWN: &[&str] = &[
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
        "PodFailurePolicy",
    ];
    KNOWN.iter().find(|known| **known == reason).copied().unwrap_or("Failed")
}
