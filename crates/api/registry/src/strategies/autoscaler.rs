//! HorizontalPodAutoscalers, in the form of `autoscaling/v2`.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::amounts::{amount, shown};
use super::fields::{at, fill, has, int, list, number, open, put, text};
use super::role::path_segment;
use super::{names, workload};
use crate::strategy::Strategy;

pub(super) struct Autoscalers;

impl Strategy for Autoscalers {
    fn default(&self, autoscaler: &mut Value) {
        status(autoscaler);
        let Some(spec) = open(autoscaler, "spec") else { return };
        fill(spec, "minReplicas", 1);
        if list(spec, "metrics").is_empty() {
            let cpu = json!([{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }]);
            put(spec, "metrics", cpu);
        }
        if let Some(behavior) = spec.get_mut("behavior") {
            if let Some(up) = open(behavior, "scaleUp") {
                fill(up, "stabilizationWindowSeconds", 0);
                fill(up, "selectPolicy", "Max");
                fill(
                    up,
                    "policies",
                    json!([
                        {"type": "Pods", "value": 4, "periodSeconds": 15},
                        {"type": "Percent", "value": 100, "periodSeconds": 15},
                    ]),
                );
            }
            if let Some(down) = open(behavior, "scaleDown") {
                fill(down, "selectPolicy", "Max");
                fill(down, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
            }
        }
    }

    fn prepare_create(&self, autoscaler: &mut Value) {
        status(autoscaler);
    }

    fn validate(&self, autoscaler: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(autoscaler, "spec"));
        let (least, most) = (number(spec, "minReplicas"), number(spec, "maxReplicas"));
        // Who measures something that needs no pods can come back from nothing.
        let metrics = list(spec, "metrics").iter();
        let wakes = metrics.filter(|one| matches!(text(one, "type"), "Object" | "External")).count() > 0;
        if least < i64::from(!wakes) {
            let detail = "must be greater than or equal to 1";
            errors.invalid(&path.child("minReplicas"), &least.into(), detail);
        }
        if most == 0 {
            errors.required(&path.child("maxReplicas"), "must be set and greater than 0");
        } else if most < 0 {
            errors.invalid(&path.child("maxReplicas"), &most.into(), "must be greater than or equal to 1");
        }
        if most < least {
            let detail = "must be greater than or equal to `minReplicas`";
            errors.invalid(&path.child("maxReplicas"), &most.into(), detail);
        }
        let reference = at(spec, "scaleTargetRef");
        let core =
            text(reference, "apiVersion") == "v1" && text(reference, "kind") == "ReplicationController";
        target(errors, &path.child("scaleTargetRef"), reference, !core);
        for (i, one) in list(spec, "metrics").iter().enumerate() {
            metric(errors, &path.child("metrics").index(i), one);
        }
        for direction in ["scaleUp", "scaleDown"] {
            let path = path.child("behavior");
            scaling(errors, &path.child(direction), at(at(spec, "behavior"), direction));
        }
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        let counts = &["currentReplicas", "desiredReplicas"];
        workload::not_negative(errors, &Path::root("status"), at(new, "status"), counts);
    }
}

fn status(autoscaler: &mut Value) {
    if let Some(status) = open(autoscaler, "status") {
        fill(status, "desiredReplicas", 0);
        fill(status, "currentMetrics", Value::Null);
    }
}

const METRICS: &[(&str, &str)] = &[
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const METRIC_KINDS: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

fn target(errors: &mut Errors, path: &Path<'_>, reference: &Value, group_needed: bool) {
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.required(&path.child(field), ""),
            value => path_segment(errors, &path.child(field), value),
        }
    }
    let version = text(reference, "apiVersion");
    match version.matches('/').count() {
        0 if group_needed => {
            names::wrong(errors, &path.child("apiVersion"), version, "apiVersion must specify API group");
        }
        0 | 1 => {}
        _ => {
            let detail = format!("unexpected GroupVersion string: {version}");
            names::wrong(errors, &path.child("apiVersion"), version, &detail);
        }
    }
}

fn metric(errors: &mut Errors, path: &Path<'_>, metric: &Value) {
    let kind = text(metric, "type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "must specify a metric source type");
    }
    if !METRIC_KINDS.contains(&kind) {
        errors.not_supported(&path.child("type"), &kind.into(), METRIC_KINDS);
    }
    let present = || METRICS.iter().map(|(_, field)| *field).filter(|field| has(metric, field));
    if let Some(first) = present().next() {
        source(errors, &path.child(first), first, at(metric, first));
    }
    let expected = METRICS.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    if let Some(expected) = expected
        && !has(metric, expected)
    {
        errors.required(&path.child(expected), "must populate information for the given metric source");
    }
    if present().count() != 1 {
        for field in present().filter(|field| Some(*field) != expected) {
            errors.forbidden(&path.child(field), "must populate the given metric source only");
        }
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Value) {
    let (value, average) = (has(at(source, "target"), "value"), has(at(source, "target"), "averageValue"));
    let share = has(at(source, "target"), "averageUtilization");
    let at_target = path.child("target");
    match kind {
        "resource" | "containerResource" => {
            if text(source, "name").is_empty() {
                errors.required(&path.child("name"), "must specify a resource name");
            }
            if kind == "containerResource" {
                match text(source, "container") {
                    "" => errors.required(&path.child("container"), "must specify a container"),
                    name => names::label(errors, &path.child("container"), name),
                }
            }
        }
        _ => {
            if kind == "object" {
                target(errors, &path.child("describedObject"), at(source, "describedObject"), false);
            }
            match text(at(source, "metric"), "name") {
                "" => errors.required(&path.child("metric").child("name"), "must specify a metric name"),
                name => path_segment(errors, &path.child("metric").child("name"), name),
            }
        }
    }
    wanted(errors, &at_target, at(source, "target"));
    let at_average = at_target.child("averageValue");
    match kind {
        "object" if !value && !average => {
            errors.required(&at_average, "must set either a target value or averageValue");
        }
        "external" if !value && !average => {
            errors.required(&at_average, "must set either a target value for metric or a per-pod target");
        }
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.forbidden(&at_target.child("value"), detail);
        }
        "pods" if !average => errors.required(&at_average, "must specify a positive target averageValue"),
        "resource" | "containerResource" if !share && !average => {
            let detail = "must set either a target raw value or a target utilization";
            errors.required(&at_target.child("averageUtilization"), detail);
        }
        "resource" | "containerResource" if share && average => {
            errors.forbidden(&at_average, "may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

fn wanted(errors: &mut Errors, path: &Path<'_>, target: &Value) {
    let kind = text(target, "type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        names::wrong(errors, &path.child("type"), kind, "must be either Utilization, Value, or AverageValue");
    }
    for field in ["value", "averageValue"] {
        let value = at(target, field);
        if !value.is_null() && (amount(value).is_negative() || amount(value).is_zero()) {
            errors.invalid(&path.child(field), &shown(value), "must be positive");
        }
    }
    if let Some(share) = int(target, "averageUtilization") {
        names::positive(errors, &path.child("averageUtilization"), share);
    }
}

fn scaling(errors: &mut Errors, path: &Path<'_>, rules: &Value) {
    if rules.is_null() {
        return;
    }
    if let Some(seconds) = int(rules, "stabilizationWindowSeconds") {
        let path = path.child("stabilizationWindowSeconds");
        if seconds < 0 {
            errors.invalid(&path, &seconds.into(), "must be greater than or equal to zero");
        }
        if seconds > 3600 {
            errors.invalid(&path, &seconds.into(), "must be less than or equal to 3600");
        }
    }
    let policy = at(rules, "selectPolicy");
    names::one_of_if_set(errors, &path.child("selectPolicy"), policy, &["Disabled", "Max", "Min"]);
    let policies = list(rules, "policies");
    if policies.is_empty() {
        errors.required(&path.child("policies"), "must specify at least one Policy");
    }
    for (i, policy) in policies.iter().enumerate() {
        let path = path.child("policies");
        let path = path.index(i);
        let kind = text(policy, "type");
        if !matches!(kind, "Pods" | "Percent") {
            errors.not_supported(&path.child("type"), &kind.into(), &["Percent", "Pods"]);
        }
        for field in ["value", "periodSeconds"] {
            if number(policy, field) <= 0 {
                errors.invalid(
                    &path.child(field),
                    &number(policy, field).into(),
                    "must be greater than zero",
                );
            }
        }
        if number(policy, "periodSeconds") > 1800 {
            let detail = "must be less than or equal to 1800";
            errors.invalid(&path.child("periodSeconds"), at(policy, "periodSeconds"), detail);
        }
    }
}
