//! There and back again gives the same.

use kedge_kinds::builtin;
use kedge_kinds::check::{Mode, check};
use serde_json::{Value, json};

use super::{stored_field, to_served, to_stored};

/// An object as its version would be stored: with everything that it always writes.
fn whole(mut object: Value) -> Value {
    let version = object["apiVersion"].as_str().unwrap().to_owned();
    let (group, version) = version.split_once('/').unwrap();
    let kind = object["kind"].as_str().unwrap().to_owned();
    check(builtin().schema_of(group, version, &kind).unwrap(), &mut object, Mode::Whole);
    object
}

#[test]
fn autoscalers_survive_both_ways() {
    let kind = builtin().by_kind("autoscaling", "v1", "HorizontalPodAutoscaler").unwrap();
    let v1 = whole(json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {"maxReplicas": 2, "targetCPUUtilizationPercentage": 80},
        "status": {"currentReplicas": 1},
    }));
    assert_eq!(to_served(kind, to_stored(kind, v1.clone())), v1);
    let v2 = whole(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {
            "maxReplicas": 2,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
                {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
                {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
                {"type": "Object", "object": {
                    "describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "m"},
                    "target": {"type": "Value", "value": "7"},
                }},
            ],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
        },
    }));
    let served = to_served(kind, v2.clone());
    assert_eq!(served["spec"]["targetCPUUtilizationPercentage"], 80);
    assert_eq!(served["spec"].get("metrics"), None);
    assert_eq!(
        served["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"],
        "{\"ScaleDown\":{\"Policies\":null,\"SelectPolicy\":null,\"StabilizationWindowSeconds\":5,\"Tolerance\":null},\
         \"ScaleUp\":null}"
    );
    assert_eq!(to_stored(kind, served), v2);
}

#[test]
fn events_survive_both_ways() {
    let kind = builtin().by_kind("events.k8s.io", "v1", "Event").unwrap();
    let new = whole(json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": {"name": "p"},
        "reportingController": "c", "deprecatedCount": 3, "reason": "r",
    }));
    let stored = to_stored(kind, new.clone());
    assert_eq!(
        (&stored["message"], &stored["count"], &stored["reportingComponent"]),
        (&json!("n"), &json!(3), &json!("c"))
    );
    assert_eq!(to_served(kind, stored), new);
}

#[test]
fn selectors_name_fields_as_their_version_does() {
    let kind = |group: &str| builtin().kind(group, "v1", "events").unwrap();
    for (group, field, stored) in [
        ("", "source", Some("source")),
        ("", "involvedObject.name", Some("involvedObject.name")),
        ("events.k8s.io", "regarding.name", Some("involvedObject.name")),
        ("events.k8s.io", "reportingController", Some("reportingComponent")),
        ("events.k8s.io", "reason", Some("reason")),
        ("events.k8s.io", "source", None),
    ] {
        assert_eq!(stored_field(kind(group), field).as_deref(), stored, "{group} {field}");
    }
}
