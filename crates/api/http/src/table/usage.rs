//! What nodes and pods use, as rows: of a pod what all its containers use together.

use kedge_kinds::quantity::Quantity;

use super::{Column, Printer, items, name, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "NodeMetrics" => Some(NODES),
        "PodMetrics" => Some(PODS),
        _ => None,
    }
}

const COLUMNS: &[Column] = &[
    Column::name(),
    Column { format: "quantity", ..Column::text("cpu") },
    Column { format: "quantity", ..Column::text("memory") },
    Column { format: "duration", ..Column::text("Window") },
];

const NODES: Printer = Printer::new(COLUMNS, |object, _| {
    let usage = &object["usage"];
    vec![name(object), text(&usage["cpu"]), text(&usage["memory"]), text(&object["window"])]
});

const PODS: Printer = Printer::new(COLUMNS, |object, _| {
    let sum = |of: &str| {
        let all = items(&object["containers"]).iter().filter_map(|one| one["usage"][of].as_str());
        let all = all.filter_map(|text| text.parse::<Quantity>().ok());
        all.reduce(|sum, one| sum.plus(&one)).map(|sum| sum.to_string()).unwrap_or_default().into()
    };
    vec![name(object), sum("cpu"), sum("memory"), text(&object["window"])]
});
