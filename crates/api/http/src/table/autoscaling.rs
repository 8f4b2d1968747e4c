//! Horizontal autoscalers and scales as rows. Version 1 knows only the processor; version 2 a list of measures.

use serde_json::Value;

use super::{Column, Printer, age, items, name, number};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "HorizontalPodAutoscaler" => Some(AUTOSCALER),
        "Scale" => Some(SCALE),
        _ => None,
    }
}

const SCALE: Printer = Printer::new(
    &[Column::text("Name"), Column::int("Desired"), Column::int("Available"), Column::age()],
    |object, now| {
        let replicas = |of: &str| number(&object[of]["replicas"]).into();
        vec![name(object), replicas("spec"), replicas("status"), age(object, now)]
    },
);

const AUTOSCALER: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Reference"),
        Column::text("Targets"),
        Column::text("MinPods"),
        Column::text("MaxPods"),
        Column::text("Replicas"),
        Column::age(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let part = |field: &str| spec["scaleTargetRef"][field].as_str().unwrap_or_default();
        let least =
            spec["minReplicas"].as_i64().map_or_else(|| "<unset>".to_owned(), |least| least.to_string());
        vec![
            name(object),
            format!("{}/{}", part("kind"), part("name")).into(),
            targets(object).into(),
            least.into(),
            number(&spec["maxReplicas"]).into(),
            number(&object["status"]["currentReplicas"]).into(),
            age(object, now),
        ]
    },
);

/// The first two measures, each as `now/wanted`.
fn targets(object: &Value) -> String {
    let (spec, status) = (&object["spec"], &object["status"]);
    if let Some(wanted) = spec["targetCPUUtilizationPercentage"].as_i64() {
        return format!(
            "cpu: {}/{wanted}%",
            percent(&status["currentCPUUtilizationPercentage"], "<unknown>")
        );
    }
    let metrics = items(&spec["metrics"]);
    let all: Vec<String> = metrics
        .iter()
        .enumerate()
        .map(|(at, metric)| target(metric, &status["currentMetrics"][at]))
        .collect();
    match all.get(..2) {
        Some(first) if all.len() > 2 => format!("{} + {} more...", first.join(", "), all.len() - 2),
        _ if all.is_empty() => "<none>".to_owned(),
        _ => all.join(", "),
    }
}

fn target(metric: &Value, status: &Value) -> String {
    let (field, named) = match metric["type"].as_str() {
        Some("External") => ("external", false),
        Some("Object") => ("object", false),
        Some("Pods") => ("pods", false),
        Some("Resource") => ("resource", true),
        Some("ContainerResource") => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, current) = (&metric[field]["target"], &status[field]["current"]);
    let (average, now_average) = (&wanted["averageValue"], &current["averageValue"]);
    if named {
        let name = metric[field]["name"].as_str().unwrap_or_default();
        return if average.is_null() {
            let share = percent(&current["averageUtilization"], "<unknown>");
            format!("{name}: {share}/{}", percent(&wanted["averageUtilization"], "<auto>"))
        } else {
            format!("{name}: {}/{}", quantity(now_average), quantity(average))
        };
    }
    match (field, average.is_null()) {
        ("pods", _) => format!("{}/{}", quantity(now_average), quantity(average)),
        (_, false) => format!("{}/{} (avg)", quantity(now_average), quantity(average)),
        (_, true) => format!("{}/{}", quantity(&current["value"]), quantity(&wanted["value"])),
    }
}

fn percent(value: &Value, otherwise: &str) -> String {
    value.as_i64().map_or_else(|| otherwise.to_owned(), |percent| format!("{percent}%"))
}

fn quantity(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "<unknown>".to_owned(),
    }
}
