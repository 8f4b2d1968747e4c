//! API services as rows. Custom resource definitions come out plain, as they do upstream.

use serde_json::Value;

use super::{Column, Printer, age, condition, name};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    (kind == "APIService").then_some(API_SERVICE)
}

const API_SERVICE: Printer = Printer::new(
    &[Column::name(), Column::text("Service"), Column::text("Available"), Column::age()],
    |object, now| {
        let service = &object["spec"]["service"];
        let part = |field: &str| service[field].as_str().unwrap_or_default();
        let service = if service.is_object() {
            format!("{}/{}", part("namespace"), part("name"))
        } else {
            "Local".to_owned()
        };
        vec![name(object), service.into(), available(&object["status"]).into(), age(object, now)]
    },
);

fn available(status: &Value) -> String {
    let Some(condition) = condition(&status["conditions"], "Available") else { return "Unknown".to_owned() };
    let status = condition["status"].as_str().unwrap_or_default();
    match condition["reason"].as_str() {
        Some(reason) if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
        _ => status.to_owned(),
    }
}
