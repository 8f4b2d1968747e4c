//! Events at the end of a page: what happened, when, how often and who says so.

use serde_json::Value;

use super::page::Page;
use super::shown::{Now, is_there, number, text};

pub(super) fn describe(page: &mut Page, events: &[Value], now: &Now) {
    if events.is_empty() {
        page.field(0, "Events", "<none>");
        return;
    }
    let mut events: Vec<&Value> = events.iter().collect();
    // Newer reporters set no last time, and theirs come first.
    events.sort_by_key(|event| super::shown::parse(&event["lastTimestamp"]));
    page.head(0, "Events");
    page.line(1, "Type\tReason\tAge\tFrom\tMessage");
    page.line(1, "----\t------\t----\t----\t-------");
    for event in events {
        let source = Some(text(&event["source"]["component"])).filter(|source| !source.is_empty());
        let source = source.unwrap_or_else(|| text(&event["reportingComponent"]));
        let message = text(&event["message"]).trim();
        let message = match text(&event["involvedObject"]["fieldPath"]) {
            "" => message.to_owned(),
            path => format!("{path}: {message}"),
        };
        let age = age(event, now);
        page.line(
            1,
            format_args!("{}\t{}\t{age}\t{source}\t{message}", text(&event["type"]), text(&event["reason"])),
        );
    }
}

/// `3m2s (x4 over 10m)`
pub(crate) fn age(event: &Value, now: &Now) -> String {
    let first = if is_there(&event["eventTime"]) { &event["eventTime"] } else { &event["firstTimestamp"] };
    let first = now.since(first);
    let series = &event["series"];
    if is_there(series) {
        let last = now.since(&series["lastObservedTime"]);
        return format!("{last} (x{} over {first})", number(&series["count"]));
    }
    match number(&event["count"]) {
        count @ 2.. => format!("{} (x{count} over {first})", now.since(&event["lastTimestamp"])),
        _ => first,
    }
}
