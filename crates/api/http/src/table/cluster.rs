//! Small kinds of several groups as rows: priority and runtime classes, leases.

use super::{Column, Printer, age, flag, name, number, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "PriorityClass" => Some(PRIORITY_CLASS),
        "Lease" => Some(LEASE),
        "RuntimeClass" => Some(RUNTIME_CLASS),
        _ => None,
    }
}

const PRIORITY_CLASS: Printer = Printer::new(
    &[
        Column::name(),
        Column::int("Value"),
        Column::bool("Global-Default"),
        Column::age(),
        Column::text("PreemptionPolicy"),
    ],
    |object, now| {
        vec![
            name(object),
            number(&object["value"]).into(),
            flag(&object["globalDefault"]).into(),
            age(object, now),
            text(&object["preemptionPolicy"]),
        ]
    },
);

const LEASE: Printer =
    Printer::new(&[Column::name(), Column::text("Holder"), Column::age()], |object, now| {
        vec![name(object), text(&object["spec"]["holderIdentity"]), age(object, now)]
    });

const RUNTIME_CLASS: Printer =
    Printer::new(&[Column::name(), Column::text("Handler"), Column::age()], |object, now| {
        vec![name(object), text(&object["handler"]), age(object, now)]
    });
