//! Flow schemas and priority levels as rows.

use serde_json::Value;

use super::{Column, Printer, age, condition, name, number, text, text_or};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "FlowSchema" => Some(SCHEMA),
        "PriorityLevelConfiguration" => Some(LEVEL),
        _ => None,
    }
}

const SCHEMA: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("PriorityLevel"),
        Column::text("MatchingPrecedence"),
        Column::text("DistinguisherMethod"),
        Column::age(),
        Column::text("MissingPL"),
    ],
    |object, now| {
        let spec = &object["spec"];
        let dangling = condition(&object["status"]["conditions"], "Dangling");
        vec![
            name(object),
            text(&spec["priorityLevelConfiguration"]["name"]),
            number(&spec["matchingPrecedence"]).into(),
            text_or(&spec["distinguisherMethod"]["type"], "<none>"),
            age(object, now),
            dangling.map_or_else(|| "?".into(), |condition| text(&condition["status"])),
        ]
    },
);

const LEVEL: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Type"),
        Column::text("NominalConcurrencyShares"),
        Column::text("Queues"),
        Column::text("HandSize"),
        Column::text("QueueLengthLimit"),
        Column::age(),
    ],
    |object, now| {
        let limited = &object["spec"]["limited"];
        let queuing = &limited["limitResponse"]["queuing"];
        let within = |part: &Value, field: &str| -> Value {
            if part.is_object() { number(&part[field]).into() } else { "<none>".into() }
        };
        vec![
            name(object),
            text(&object["spec"]["type"]),
            within(limited, "nominalConcurrencyShares"),
            within(queuing, "queues"),
            within(queuing, "handSize"),
            within(queuing, "queueLengthLimit"),
            age(object, now),
        ]
    },
);
