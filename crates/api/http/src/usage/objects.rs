//! NodeMetrics and PodMetrics, made from what a node said. Pure.

use std::time::Duration;

use jiff::Timestamp;
use kedge_kinds::quantity::{Format, Quantity};
use serde_json::{Value, json};

use super::reading::{Measure, Reading};

/// The time over which nodes measure a rate that do not say over which.
const WINDOW: Duration = Duration::from_secs(10);

pub(super) fn of_node(node: &Value, reading: &Reading, now: Timestamp) -> Option<Value> {
    let measure = reading.node?;
    let mut made = head("NodeMetrics", node, &[&measure], now)?;
    made["usage"] = usage(&measure);
    Some(made)
}

/// `None` if something of the pod that runs was not measured: a part would be taken for all of it.
pub(super) fn of_pod(pod: &Value, reading: &Reading, now: Timestamp) -> Option<Value> {
    let meta = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    let found = reading.pod(meta("namespace"), meta("name"))?;
    // A new pod of an old one's name has not used what that one did.
    if !found.uid.is_empty() && found.uid != meta("uid") {
        return None;
    }
    let running = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let mut running = running.filter(|one| one["state"]["running"].is_object());
    let measured = |one: &Value| found.containers.iter().any(|(name, _)| one["name"] == **name);
    if !running.all(measured) {
        return None;
    }
    let measures: Vec<&Measure> = found.containers.iter().map(|(_, measure)| measure).collect();
    let mut made = head("PodMetrics", pod, &measures, now)?;
    made["containers"] = found
        .containers
        .iter()
        .map(|(name, measure)| json!({"name": name, "usage": usage(measure)}))
        .collect::<Vec<_>>()
        .into();
    Some(made)
}

/// Of several measures the earliest counts, and the longest time. `None` if there is none.
fn head(kind: &str, of: &Value, measures: &[&Measure], now: Timestamp) -> Option<Value> {
    let at = measures.iter().map(|measure| measure.at).min()?;
    let window = measures.iter().map(|measure| measure.window.unwrap_or(WINDOW)).max()?;
    let nanos = i64::try_from(window.as_millis().saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    let mut metadata = json!({"name": of["metadata"]["name"], "creationTimestamp": written(now)});
    for field in ["namespace", "labels"] {
        if !of["metadata"][field].is_null() {
            metadata[field] = of["metadata"][field].clone();
        }
    }
    Some(json!({
        "kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": metadata,
        "timestamp": written(at), "window": kedge_kinds::duration::write(nanos),
    }))
}

fn written(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn usage(measure: &Measure) -> Value {
    let cores = format!("{}n", measure.cores).parse::<Quantity>().map(|cores| cores.to_string());
    let memory = i64::try_from(measure.memory).unwrap_or(i64::MAX);
    json!({
        "cpu": cores.unwrap_or_default(),
        "memory": Quantity::of(memory, Format::BinarySi).to_string(),
    })
}
