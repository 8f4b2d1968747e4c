//! Work that ends: jobs, and the timetables that start them.

use serde_json::Value;

use super::page::Page;
use super::pod::{selects, template};
use super::shown::{controller, is_there, items, number, parse, plain, plain_or, selector, text, yes};
use super::{Given, labels_and_annotations, name_and_namespace};
use crate::print::age;

/// A list of indexes longer than this is cut at the next comma.
const MOST_INDEXES: usize = 50;

pub(super) fn job(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    page.field(0, "Selector", selects(object));
    labels_and_annotations(page, object);
    if let Some(controller) = controller(object) {
        page.field(0, "Controlled By", controller);
    }
    if is_there(&spec["parallelism"]) {
        page.field(0, "Parallelism", number(&spec["parallelism"]));
    }
    page.field(0, "Completions", plain_or(&spec["completions"], "<unset>"));
    for (label, field) in [
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ] {
        if is_there(&spec[field]) {
            page.field(0, label, plain(&spec[field]));
        }
    }
    for (label, field) in [("Start Time", "startTime"), ("Completed At", "completionTime")] {
        if is_there(&status[field]) {
            page.field(0, label, now.date(&status[field]));
        }
    }
    if let (Some(start), Some(end)) = (parse(&status["startTime"]), parse(&status["completionTime"])) {
        page.field(0, "Duration", age::short(end.as_second() - start.as_second()));
    }
    deadline(page, spec);
    let ready = match status["ready"].as_i64() {
        Some(ready) => format!(" ({ready} Ready)"),
        None => String::new(),
    };
    let (active, succeeded) = (number(&status["active"]), number(&status["succeeded"]));
    let failed = number(&status["failed"]);
    page.field(
        0,
        "Pods Statuses",
        format_args!("{active} Active{ready} / {succeeded} Succeeded / {failed} Failed"),
    );
    if spec["completionMode"] == "Indexed" {
        page.field(0, "Completed Indexes", indexes(text(&status["completedIndexes"])));
    }
    template(page, &spec["template"], now);
}

fn deadline(page: &mut Page, spec: &Value) {
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64() {
        page.field(0, "Active Deadline Seconds", format_args!("{seconds}s"));
    }
}

fn indexes(list: &str) -> String {
    if list.is_empty() {
        return "<none>".to_owned();
    }
    let comma = list.get(MOST_INDEXES..).and_then(|rest| rest.find(','));
    match comma {
        Some(comma) => format!("{}...", &list[..=MOST_INDEXES + comma]),
        None => list.to_owned(),
    }
}

pub(super) fn cron_job(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.field(0, "Schedule", text(&spec["schedule"]));
    page.field(0, "Concurrency Policy", text(&spec["concurrencyPolicy"]));
    page.field(0, "Suspend", yes(&spec["suspend"]));
    for (label, field) in [
        ("Time Zone", "timeZone"),
        ("Successful Job History Limit", "successfulJobsHistoryLimit"),
        ("Failed Job History Limit", "failedJobsHistoryLimit"),
    ] {
        page.field(0, label, plain_or(&spec[field], "<unset>"));
    }
    match spec["startingDeadlineSeconds"].as_i64() {
        Some(seconds) => page.field(0, "Starting Deadline Seconds", format_args!("{seconds}s")),
        None => page.field(0, "Starting Deadline Seconds", "<unset>"),
    }
    let job = &spec["jobTemplate"]["spec"];
    match &job["selector"] {
        Value::Null => page.field(0, "Selector", "<unset>"),
        labels => page.field(0, "Selector", selector(labels)),
    }
    for (label, field) in [("Parallelism", "parallelism"), ("Completions", "completions")] {
        page.field(0, label, plain_or(&job[field], "<unset>"));
    }
    deadline(page, job);
    template(page, &job["template"], now);
    match &status["lastScheduleTime"] {
        Value::Null => page.field(0, "Last Schedule Time", "<unset>"),
        time => page.field(0, "Last Schedule Time", now.date(time)),
    }
    let active: Vec<&str> = items(&status["active"]).iter().map(|job| text(&job["name"])).collect();
    page.field(0, "Active Jobs", if active.is_empty() { "<none>".to_owned() } else { active.join(", ") });
}
