//! Jobs and cron jobs as rows.

use jiff::Timestamp;
use serde_json::Value;

use super::age::{human, parse, since};
use super::selector::selector;
use super::{
    Column, Printer, age, condition, containers, count, flag, is_leaving, name, number, text, text_or,
};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "Job" => Some(JOB),
        "CronJob" => Some(CRON_JOB),
        _ => None,
    }
}

const JOB: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Status"),
        Column::text("Completions"),
        Column::text("Duration"),
        Column::age(),
        Column::text("Containers").wide(),
        Column::text("Images").wide(),
        Column::text("Selector").wide(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let [names, images] = containers(&spec["template"]["spec"]["containers"]);
        vec![
            name(object),
            status(object).into(),
            completions(object).into(),
            duration(&object["status"], now).into(),
            age(object, now),
            names,
            images,
            selector(&spec["selector"]).into(),
        ]
    },
);

const CRON_JOB: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Schedule"),
        Column::text("Timezone"),
        Column::bool("Suspend"),
        Column::int("Active"),
        Column::text("Last Schedule"),
        Column::age(),
        Column::text("Containers").wide(),
        Column::text("Images").wide(),
        Column::text("Selector").wide(),
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let job = &spec["jobTemplate"]["spec"];
        let [names, images] = containers(&job["template"]["spec"]["containers"]);
        let last = &status["lastScheduleTime"];
        vec![
            name(object),
            text(&spec["schedule"]),
            text_or(&spec["timeZone"], "<none>"),
            if flag(&spec["suspend"]) { "True" } else { "False" }.into(),
            count(&status["active"]).into(),
            if last.is_null() { "<none>".into() } else { since(last, now).into() },
            age(object, now),
            names,
            images,
            selector(&job["selector"]).into(),
        ]
    },
);

/// The first of these conditions that holds names the job's state.
fn status(job: &Value) -> &'static str {
    let holds =
        |kind: &str| condition(&job["status"]["conditions"], kind).is_some_and(|one| one["status"] == "True");
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if is_leaving(job) => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let done = number(&job["status"]["succeeded"]);
    match (job["spec"]["completions"].as_i64(), number(&job["spec"]["parallelism"])) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        (None, _) => format!("{done}/1"),
    }
}

fn duration(status: &Value, now: Timestamp) -> String {
    let Some(start) = parse(&status["startTime"]) else { return String::new() };
    let end = parse(&status["completionTime"]).unwrap_or(now);
    human(end.as_second() - start.as_second())
}
