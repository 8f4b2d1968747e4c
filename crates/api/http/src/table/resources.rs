//! Devices that can be claimed as rows: classes, claims and slices of `resource.k8s.io`.

use serde_json::Value;

use super::{Column, Printer, age, count, is_leaving, name, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    Some(match kind {
        "DeviceClass" | "ResourceClaimTemplate" => NAMED,
        "ResourceClaim" => CLAIM,
        "ResourceSlice" => SLICE,
        _ => return None,
    })
}

const NAMED: Printer =
    Printer::new(&[Column::name(), Column::age()], |object, now| vec![name(object), age(object, now)]);

const CLAIM: Printer =
    Printer::new(&[Column::name(), Column::text("State"), Column::age()], |object, now| {
        vec![name(object), state(object).into(), age(object, now)]
    });

const SLICE: Printer = Printer::new(
    &[Column::name(), Column::text("Node"), Column::text("Driver"), Column::text("Pool"), Column::age()],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            text(&spec["nodeName"]),
            text(&spec["driver"]),
            text(&spec["pool"]["name"]),
            age(object, now),
        ]
    },
);

fn state(claim: &Value) -> String {
    let (leaving, status) = (is_leaving(claim), &claim["status"]);
    let allocated = status["allocation"].is_object();
    let mut states = Vec::new();
    states.extend(leaving.then_some("deleted"));
    states.extend((!leaving && !allocated).then_some("pending"));
    states.extend(allocated.then_some("allocated"));
    states.extend((allocated && count(&status["reservedFor"]) > 0).then_some("reserved"));
    states.join(",")
}
