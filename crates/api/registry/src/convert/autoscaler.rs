//! autoscaling/v1 knows one measure, the CPU's use; everything else that v2 can say travels in annotations of v1.

mod behavior;

use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

pub(super) fn from_v1(object: &mut Map<String, Value>) {
    let metrics = annotation(object, METRICS);
    let behavior = annotation(object, BEHAVIOR);
    let current = annotation(object, CURRENT_METRICS);
    let conditions = annotation(object, CONDITIONS);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all = Vec::new();
        if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({"type": "Utilization", "averageUtilization": percent});
            all.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
        }
        all.extend(list(metrics).into_iter().filter_map(|old| newer(old, "target")));
        if !all.is_empty() {
            spec.insert("metrics".to_owned(), all.into());
        }
        if let Some(behavior) = behavior {
            spec.insert("behavior".to_owned(), behavior::read(behavior));
        }
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    let mut all = Vec::new();
    if let Some(percent) = status.remove("currentCPUUtilizationPercentage") {
        let current = json!({"averageUtilization": percent, "averageValue": "0"});
        all.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}));
    }
    all.extend(list(current).into_iter().filter_map(|old| newer(old, "current")));
    if !all.is_empty() {
        status.insert("currentMetrics".to_owned(), all.into());
    }
    if let Some(conditions) = conditions {
        status.insert("conditions".to_owned(), conditions);
    }
}

pub(super) fn to_v1(object: &mut Map<String, Value>) {
    let mut notes = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut rest = Vec::new();
        for metric in list(spec.remove("metrics")) {
            let percent = &metric["resource"]["target"]["averageUtilization"];
            // Only the first use of the CPU fits into v1's one field.
            if metric["resource"]["name"] == "cpu"
                && !percent.is_null()
                && !spec.contains_key("targetCPUUtilizationPercentage")
            {
                spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.clone());
            } else {
                rest.extend(older(metric, "target"));
            }
        }
        notes.push((METRICS, some_list(rest)));
        notes.push((BEHAVIOR, spec.remove("behavior").map(|behavior| behavior::noted(&behavior))));
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let mut rest = Vec::new();
        for metric in list(status.remove("currentMetrics")) {
            let percent = &metric["resource"]["current"]["averageUtilization"];
            if metric["resource"]["name"] == "cpu" && !percent.is_null() {
                status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
            } else {
                rest.extend(older(metric, "current"));
            }
        }
        notes.push((CURRENT_METRICS, some_list(rest)));
        notes.push((CONDITIONS, status.remove("conditions")));
    }
    for (name, value) in notes {
        let Some(value) = value else { continue };
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            annotations[name] = value.to_string().into();
        }
    }
}

/// Takes an annotation off and reads the JSON in it; what can't be read is dropped, as Kubernetes does.
fn annotation(object: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let text = annotations.remove(name)?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    serde_json::from_str(text.as_str()?).ok()
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn some_list(items: Vec<Value>) -> Option<Value> {
    (!items.is_empty()).then_some(Value::Array(items))
}

/// A metric in v1's flat form: where each number stands there, by source and by what it says in v2.
/// The rows are `(v2's name, v1's name in spec, v1's name in status)`.
const NUMBERS: [(&str, &str, &str); 3] = [
    ("averageUtilization", "targetAverageUtilization", "currentAverageUtilization"),
    ("averageValue", "targetAverageValue", "currentAverageValue"),
    ("value", "targetValue", "currentValue"),
];

fn flat_name<'n>(source: &str, side: &str, row: &(&'n str, &'n str, &'n str)) -> &'n str {
    match (source, row.0) {
        // Objects call their average so in both places.
        ("object", "averageValue") => "averageValue",
        _ if side == "target" => row.1,
        _ => row.2,
    }
}

fn source_of(metric: &Value) -> Option<&'static str> {
    ["resource", "containerResource", "pods", "object", "external"]
        .into_iter()
        .find(|&name| metric.get(name).is_some())
}

/// v1's form of a metric from v2's.
fn older(mut metric: Value, side: &str) -> Option<Value> {
    let source = source_of(&metric)?;
    let fields = metric.get_mut(source)?.as_object_mut()?;
    let numbers = fields.remove(side);
    if let Some(object) = fields.remove("describedObject") {
        fields.insert("target".to_owned(), object);
    }
    if let Some(named) = fields.remove("metric") {
        fields.insert("metricName".to_owned(), named["name"].clone());
        if let Some(selector) = named.get("selector") {
            let name = if source == "external" { "metricSelector" } else { "selector" };
            fields.insert(name.to_owned(), selector.clone());
        }
    }
    for row in &NUMBERS {
        if let Some(number) = numbers.as_ref().and_then(|numbers| numbers.get(row.0)) {
            fields.insert(flat_name(source, side, row).to_owned(), number.clone());
        }
    }
    Some(metric)
}

/// v2's form of a metric from v1's.
fn newer(mut metric: Value, side: &str) -> Option<Value> {
    let source = source_of(&metric)?;
    let fields = metric.get_mut(source)?.as_object_mut()?;
    let mut numbers = Map::new();
    for row in &NUMBERS {
        if let Some(number) = fields.remove(flat_name(source, side, row)) {
            numbers.insert(row.0.to_owned(), number);
        }
    }
    if side == "target" {
        let kind =
            ["averageUtilization", "averageValue"].into_iter().find(|&name| numbers.contains_key(name));
        let kind = match kind {
            Some("averageUtilization") => "Utilization",
            Some(_) => "AverageValue",
            None => "Value",
        };
        numbers.insert("type".to_owned(), kind.into());
    }
    if let Some(object) = fields.remove("target") {
        fields.insert("describedObject".to_owned(), object);
    }
    fields.insert(side.to_owned(), Value::Object(numbers));
    if let Some(name) = fields.remove("metricName") {
        let mut named = json!({"name": name});
        if let Some(selector) = fields.remove("selector").or_else(|| fields.remove("metricSelector")) {
            named["selector"] = selector;
        }
        fields.insert("metric".to_owned(), named);
    }
    Some(metric)
}
