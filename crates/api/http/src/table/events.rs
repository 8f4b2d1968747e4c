//! Events as rows. The core and the `events.k8s.io` form name the same facts differently; one row shows both.

use serde_json::Value;

use super::age::since;
use super::{Column, Printer, name, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    (kind == "Event").then_some(EVENT)
}

const EVENT: Printer = Printer::new(
    &[
        Column::text("Last Seen"),
        Column::text("Type"),
        Column::text("Reason"),
        Column::text("Object"),
        Column::text("Subobject").wide(),
        Column::text("Source").wide(),
        Column::text("Message"),
        Column::text("First Seen").wide(),
        Column::text("Count").wide(),
        Column::name().wide(),
    ],
    |event, now| {
        let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
        let first = if first.is_null() { &event["eventTime"] } else { first };
        let last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
        let last = if last.is_null() { first } else { last };
        let count = either(event, "count", "deprecatedCount").as_i64().filter(|count| *count != 0);
        let (last, count) = if event["series"].is_object() {
            (&event["series"]["lastObservedTime"], event["series"]["count"].as_i64().unwrap_or_default())
        } else {
            (last, count.unwrap_or(1))
        };
        let about = either(event, "involvedObject", "regarding");
        vec![
            since(last, now).into(),
            text(&event["type"]),
            text(&event["reason"]),
            target(about).into(),
            text(&about["fieldPath"]),
            source(event).into(),
            either(event, "message", "note").as_str().unwrap_or_default().trim().into(),
            since(first, now).into(),
            count.into(),
            name(event),
        ]
    },
);

fn either<'v>(event: &'v Value, core: &str, grouped: &str) -> &'v Value {
    if event[core].is_null() { &event[grouped] } else { &event[core] }
}

fn target(about: &Value) -> String {
    let kind = about["kind"].as_str().unwrap_or_default().to_lowercase();
    match about["name"].as_str() {
        Some(name) if !name.is_empty() => format!("{kind}/{name}"),
        _ => kind,
    }
}

fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let known = |of: &Value, or: &Value| {
        let filled = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        filled(of).or_else(|| filled(or)).unwrap_or_default()
    };
    let reporter = either(event, "reportingComponent", "reportingController");
    let component = known(&source["component"], reporter);
    match known(&source["host"], &event["reportingInstance"]) {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}
