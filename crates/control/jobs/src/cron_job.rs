//! Makes a Job whenever a schedule falls due, and clears away old ones. Which times are due follows from the schedule, the last
//! one that was met and the clock; nothing is counted in memory.

mod book;
mod due;
mod history;
mod making;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use kedge_children::claim;
use kedge_cron::Schedule;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Severity, Target, World};
use kube::ResourceExt;
use serde_json::json;

use self::book::Book;
use self::due::Due;
use crate::finish;

pub struct CronJobs;

impl Controller for CronJobs {
    type Root = CronJob;
    const NAME: &'static str = "cronjob-controller";

    fn watch(&self, world: &World) {
        world.watch::<Job>();
    }

    fn plan(&self, cron: &CronJob, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        let cache = world.cache::<Job>()?;
        let jobs: Vec<Arc<Job>> = cache
            .owned_by(&cron.uid().unwrap_or_default())
            .into_iter()
            .filter(|job| is_of(job, cron))
            .collect();
        let mut book = Book::open(cron, &jobs);
        let cleared = history::surplus(cron, &jobs);
        let plan = Plan::from(book.removals(&cleared));
        if cron.metadata.deletion_timestamp.is_some() || cron.spec.suspend == Some(true) {
            return Ok(plan.then(book.close()));
        }
        let due = match due(cron, now) {
            Ok(due) => due,
            Err(complaint) => return Ok(plan.then(book.close()).then([complaint.about(cron)])),
        };
        let plan = plan.again_at(due.next);
        let Some(moment) = due.moment else { return Ok(plan.then(book.close())) };
        let name = making::name(cron, moment);
        if let Some(there) = cache.get(&Key::new(cron.namespace().unwrap_or_default(), name)) {
            // Made by us and not noted, or somebody else's: either way this time has had its job.
            if is_of(&there, cron) {
                book.met(moment);
            }
            return Ok(plan.then(book.close()));
        }
        Ok(plan.then(start(cron, &jobs, book, &due, moment)))
    }

    fn refused(&self, cron: &CronJob, refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        let Some(refusal) = refusals.first() else { return Vec::new() };
        let (reason, told) = match &refusal.action {
            Action::Create { .. } => ("FailedCreate", format!("Error creating job: {}", refusal.message)),
            Action::Delete { .. } => ("FailedDelete", format!("Deleted job: {}", refusal.message)),
            Action::Change { .. } | Action::Tell(_) => return Vec::new(),
        };
        vec![Action::tell(cron, Severity::Warning, reason, told)]
    }
}

/// A new job, if the others allow it.
fn start(cron: &CronJob, jobs: &[Arc<Job>], mut book: Book<'_>, due: &Due, moment: Timestamp) -> Vec<Action> {
    let tell = |severity, reason, message: String| Action::tell(cron, severity, reason, message);
    let running: Vec<Arc<Job>> = jobs
        .iter()
        .filter(|job| book.has(job))
        .filter(|job| finish::finished(job).is_none())
        .cloned()
        .collect();
    let policy = cron.spec.concurrency_policy.as_deref().unwrap_or("Allow");
    let mut actions = Vec::new();
    if due.too_many {
        let message =
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
        actions.push(tell(Severity::Warning, "TooManyMissedTimes", message.to_owned()));
    }
    match policy {
        "Forbid" if !running.is_empty() => {
            let message =
                "Not starting job because prior execution is running and concurrency policy is Forbid";
            let told = tell(Severity::Normal, "JobAlreadyActive", message.to_owned());
            return book.close().into_iter().chain([told]).collect();
        }
        "Replace" => actions.extend(book.removals(&running)),
        _ => {}
    }
    let job = making::job(cron, moment, &due.zone);
    // Fails if somebody has changed the schedule meanwhile, or met this time already.
    actions.push(Action::Change { target: Target::of(cron), subresource: "status", patch: json!({}) });
    actions.push(Action::create(&job));
    actions.push(tell(Severity::Normal, "SuccessfulCreate", format!("Created job {}", job.name_any())));
    book.met(moment);
    actions.extend(book.close());
    actions
}

fn is_of(job: &Job, cron: &CronJob) -> bool {
    claim::controller(job).is_some_and(|owner| Some(&owner.uid) == cron.metadata.uid.as_ref())
}

/// What is wrong with a schedule: there is nothing to wait for until somebody changes it.
enum Complaint {
    Zone(String),
    Line(String),
    Never,
}

impl Complaint {
    fn about(&self, cron: &CronJob) -> Action {
        let schedule = &cron.spec.schedule;
        let (reason, message) = match self {
            Self::Zone(zone) => {
                ("UnknownTimeZone", format!("invalid timeZone: {zone:?}: unknown time zone {zone}"))
            }
            Self::Line(problem) => {
                ("UnparseableSchedule", format!("unparseable schedule: {schedule:?} : {problem}"))
            }
            Self::Never => (
                "InvalidSchedule",
                format!("invalid schedule: {schedule} : no time within five years fits it"),
            ),
        };
        Action::tell(cron, Severity::Warning, reason, message)
    }
}

fn due(cron: &CronJob, now: Timestamp) -> Result<Due, Complaint> {
    let zone = match cron.spec.time_zone.as_deref() {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| Complaint::Zone(name.to_owned()))?,
    };
    let schedule =
        Schedule::parse(&cron.spec.schedule).map_err(|problem| Complaint::Line(problem.to_string()))?;
    schedule.after(now, &zone).ok_or(Complaint::Never)?;
    Ok(Due::find(cron, &schedule, zone, now))
}

#[cfg(test)]
mod tests;
