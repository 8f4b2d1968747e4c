//! Horizontal pod autoscalers: what is measured, where it should be, and how fast replicas may change.

use serde_json::Value;

use super::page::Page;
use super::shown::{is_there, items, number, plain, plain_or, text};
use super::{Given, labels_and_annotations, name_and_namespace};

const UNKNOWN: &str = "<unknown>";

pub(super) fn autoscaler(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.field(0, "CreationTimestamp", given.now.date(&object["metadata"]["creationTimestamp"]));
    let target = &spec["scaleTargetRef"];
    page.field(0, "Reference", format_args!("{}/{}", text(&target["kind"]), text(&target["name"])));
    if object["apiVersion"] == "autoscaling/v1" {
        if let Some(wanted) = spec["targetCPUUtilizationPercentage"].as_i64() {
            page.field(0, "Target CPU utilization", format_args!("{wanted}%"));
            let current = plain_or(&status["currentCPUUtilizationPercentage"], UNKNOWN);
            page.field(0, "Current CPU utilization", format_args!("{current}%"));
        }
    } else {
        page.field(0, "Metrics", "( current / target )");
        for (place, metric) in items(&spec["metrics"]).iter().enumerate() {
            page.line(1, measured(metric, &status["currentMetrics"][place]));
        }
    }
    page.field(0, "Min replicas", plain_or(&spec["minReplicas"], "<unset>"));
    page.field(0, "Max replicas", number(&spec["maxReplicas"]));
    if is_there(&spec["behavior"]) {
        page.head(0, "Behavior");
        for (label, field) in [("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")] {
            direction(page, label, &spec["behavior"][field]);
        }
    }
    let (have, want) = (number(&status["currentReplicas"]), number(&status["desiredReplicas"]));
    let pods = format!("{} pods", text(&target["kind"]));
    page.field(0, pods, format_args!("{have} current / {want} desired"));
    if is_there(&status["conditions"]) {
        page.head(0, "Conditions");
        page.columns(1, &["Type", "Status", "Reason", "Message"]);
        for one in items(&status["conditions"]) {
            let (kind, state) = (text(&one["type"]), text(&one["status"]));
            page.line(
                1,
                format_args!("{kind}\t{state}\t{}\t{}", text(&one["reason"]), text(&one["message"])),
            );
        }
    }
}

/// What is measured, and `current / target` in the next column.
fn measured(metric: &Value, current: &Value) -> String {
    let kind = text(&metric["type"]);
    let field = match kind {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return format!("<unknown metric type {kind:?}>"),
    };
    let (source, current) = (&metric[field], &current[field]["current"]);
    let target = &source["target"];
    let name = text(&source["metric"]["name"]);
    let compared = |amount: &str| {
        format!("{} / {}", plain_or(&current[amount], UNKNOWN), plain_or(&target[amount], "0"))
    };
    let average = is_there(&target["averageValue"]);
    match kind {
        "External" if average => format!("{name:?} (target average value):\t{}", compared("averageValue")),
        "External" => format!("{name:?} (target value):\t{}", compared("value")),
        "Pods" => format!("{name:?} on pods:\t{}", compared("averageValue")),
        "Object" => {
            let object = &source["describedObject"];
            let on = format!("\"{name}\" on {}/{}", text(&object["kind"]), text(&object["name"]));
            if target["type"] == "AverageValue" {
                format!("{on} (target average value):\t{}", compared("averageValue"))
            } else {
                format!("{on} (target value):\t{}", compared("value"))
            }
        }
        _ => {
            let of = match text(&source["container"]) {
                "" => String::new(),
                container => format!(" of container \"{container}\""),
            };
            let what = format!("resource {}{of} on pods", text(&source["name"]));
            if average {
                return format!("{what}:\t{}", compared("averageValue"));
            }
            let used = match current["averageUtilization"].as_i64() {
                Some(percent) => format!("{percent}% ({})", plain_or(&current["averageValue"], "0")),
                None => UNKNOWN.to_owned(),
            };
            let wanted = match target["averageUtilization"].as_i64() {
                Some(percent) => format!("{percent}%"),
                None => "<auto>".to_owned(),
            };
            format!("{what}  (as a percentage of request):\t{used} / {wanted}")
        }
    }
}

fn direction(page: &mut Page, label: &str, rules: &Value) {
    if rules.is_null() {
        return;
    }
    page.head(1, label);
    if let Some(seconds) = rules["stabilizationWindowSeconds"].as_i64() {
        page.line(2, format_args!("Stabilization Window: {seconds} seconds"));
    }
    if is_there(&rules["policies"]) {
        page.line(2, format_args!("Select Policy: {}", plain_or(&rules["selectPolicy"], "Max")));
        page.head(2, "Policies");
        for policy in items(&rules["policies"]) {
            let (kind, value) = (text(&policy["type"]), plain(&policy["value"]));
            let period = number(&policy["periodSeconds"]);
            page.line(3, format_args!("- Type: {kind}\tValue: {value}\tPeriod: {period} seconds"));
        }
    }
}
