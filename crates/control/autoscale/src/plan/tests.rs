use jiff::SignedDuration;
use kedge_engine::{Key, Resource, Target};

use super::*;
use crate::measured::{Sample, Samples};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn autoscaler(spec: Value, status: Value) -> Autoscaler {
    let mut all = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 10});
    if let (Value::Object(all), Value::Object(spec)) = (&mut all, spec) {
        all.extend(spec);
    }
    let object = json!({"metadata": {"name": "web", "namespace": "default", "generation": 3}, "spec": all, "status": status});
    serde_json::from_value(object).unwrap()
}

fn scale(replicas: i32) -> Scale {
    let resource = Resource {
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        kind: "Deployment".to_owned(),
        plural: "deployments".to_owned(),
    };
    let target =
        Target { resource, key: Key::new("default", "web"), uid: String::new(), revision: String::new() };
    Scale { target, replicas, there: replicas, selector: "app=web".to_owned() }
}

fn pods(count: i32) -> Vec<Arc<Pod>> {
    let pod = |at: i32| {
        let pod = json!({
            "metadata": {"name": format!("p{at}")},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]},
            "status": {
                "phase": "Running", "startTime": "2030-01-01T10:00:00Z",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T10:00:01Z"}],
            },
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    };
    (0..count).map(pod).collect()
}

fn cpu(percent: i32) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}})
}

fn queue(value: &str) -> Value {
    json!({"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": value}}})
}

/// Every pod uses this much.
fn each(value: i64, count: i32) -> Measured {
    let sample = Sample { value, at: noon(), window: SignedDuration::from_secs(10) };
    Measured::Pods((0..count).map(|at| (format!("p{at}"), sample)).collect::<Samples>())
}

fn made(autoscaler: &Autoscaler, replicas: i32, measured: &[Measured]) -> Plan {
    let (pods, scale) = (pods(replicas), scale(replicas));
    let (history, settings) = (History::default(), Settings::default());
    plan(&Facts {
        autoscaler,
        scale: &scale,
        pods: Ok(&pods),
        measured,
        history: &history,
        settings: &settings,
        now: noon(),
    })
}

fn events(plan: &Plan) -> String {
    let events: Vec<&str> = plan.events.iter().map(|(_, reason, _)| *reason).collect();
    events.join(" ")
}

fn said(status: &Value) -> String {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let line = |one: &Value| {
        format!(
            "{}={} {}",
            one["type"].as_str().unwrap(),
            one["status"].as_str().unwrap(),
            one["reason"].as_str().unwrap()
        )
    };
    conditions.map(line).collect::<Vec<_>>().join(", ")
}

const FINE: &str = "AbleToScale=True ReadyForNewScale, ScalingActive=True ValidMetricFound, ScalingLimited=False DesiredWithinRange";
const GROWN: &str = "AbleToScale=True SucceededRescale, ScalingActive=True ValidMetricFound, ScalingLimited=False DesiredWithinRange";

#[test]
fn plans() {
    let lost = || Measured::Unknown("no metrics returned from resource metrics API".to_owned());
    for (case, spec, replicas, measured, expected, conditions, told) in [
        ("as it should be", json!({"metrics": [cpu(50)]}), 2, vec![each(50, 2)], None, FINE, ""),
        ("too much load", json!({"metrics": [cpu(50)]}), 2, vec![each(100, 2)], Some(4), GROWN, ""),
        ("too little", json!({"metrics": [cpu(50)]}), 4, vec![each(10, 4)], Some(1), GROWN, ""),
        (
            "the most of several metrics",
            json!({"metrics": [cpu(50), queue("10")]}),
            2,
            vec![each(60, 2), Measured::Values(vec![20_000])],
            Some(4),
            GROWN,
            "",
        ),
        (
            "one that is not known doesn't keep it from growing",
            json!({"metrics": [cpu(50), queue("10")]}),
            2,
            vec![lost(), Measured::Values(vec![20_000])],
            Some(4),
            GROWN,
            "FailedGetResourceMetric",
        ),
        (
            "but from shrinking",
            json!({"metrics": [cpu(50), queue("10")]}),
            2,
            vec![lost(), Measured::Values(vec![1_000])],
            None,
            "AbleToScale=True SucceededGetScale, ScalingActive=False FailedGetResourceMetric",
            "FailedGetResourceMetric FailedComputeMetricsReplicas",
        ),
        (
            "nothing is known",
            json!({"metrics": [cpu(50)]}),
            2,
            vec![lost()],
            None,
            "AbleToScale=True SucceededGetScale, ScalingActive=False FailedGetResourceMetric",
            "FailedGetResourceMetric FailedComputeMetricsReplicas",
        ),
        (
            "more than the most, whatever is measured",
            json!({"metrics": [cpu(50)], "maxReplicas": 3}),
            5,
            vec![],
            Some(3),
            "AbleToScale=True SucceededRescale",
            "",
        ),
        (
            "fewer than the least",
            json!({"metrics": [cpu(50)], "minReplicas": 3}),
            1,
            vec![],
            Some(3),
            "AbleToScale=True SucceededRescale",
            "",
        ),
        (
            "switched off by hand",
            json!({"metrics": [cpu(50)]}),
            0,
            vec![],
            None,
            "AbleToScale=True SucceededGetScale, ScalingActive=False ScalingDisabled",
            "",
        ),
        (
            "to nothing",
            json!({"metrics": [queue("10")], "minReplicas": 0}),
            2,
            vec![Measured::Values(vec![0])],
            Some(0),
            "AbleToScale=True SucceededRescale, ScalingActive=True ValidMetricFound, ScalingLimited=False DesiredWithinRange, ScaledToZero=True ScaledToZero",
            "",
        ),
        (
            "a tolerance of one's own",
            json!({"metrics": [cpu(50)], "behavior": {"scaleUp": {"tolerance": "500m"}}}),
            2,
            vec![each(70, 2)],
            None,
            FINE,
            "",
        ),
    ] {
        let autoscaler = autoscaler(spec, Value::Null);
        let plan = made(&autoscaler, replicas, &measured);
        assert_eq!(plan.rescale.as_ref().map(|rescale| rescale.to), expected, "{case}");
        assert_eq!(events(&plan), told, "{case}");
        let status = plan.status(&autoscaler, None, noon());
        assert_eq!(said(&status), conditions, "{case}");
        assert_eq!(status["currentReplicas"], replicas, "{case}");
        assert_eq!(status["lastScaleTime"].is_null(), expected.is_none(), "{case}");
    }
}

#[test]
fn what_was_brought_to_nothing_comes_back() {
    let at_zero = json!({"conditions": [{"type": "ScaledToZero", "status": "True"}]});
    for (case, least, values, status, expected) in [
        ("there is work", 0, vec![25_000], &at_zero, Some(3)),
        ("there is none", 0, vec![0], &at_zero, None),
        ("nothing is no longer allowed", 2, vec![0], &at_zero, Some(2)),
        ("somebody else did it", 0, vec![25_000], &Value::Null, None),
    ] {
        let autoscaler = autoscaler(json!({"metrics": [queue("10")], "minReplicas": least}), status.clone());
        let plan = made(&autoscaler, 0, &[Measured::Values(values)]);
        assert_eq!(plan.rescale.as_ref().map(|rescale| rescale.to), expected, "{case}");
        let status = plan.status(&autoscaler, None, noon());
        let is_zero = Conditions::of(&status).is_true(AT_ZERO);
        assert_eq!(
            is_zero,
            Conditions::of(&autoscaler.status).is_true(AT_ZERO) && expected.is_none(),
            "{case}"
        );
    }
}

#[test]
fn a_status_says_what_was_measured_and_is_written_once() {
    let autoscaler = autoscaler(json!({"metrics": [cpu(50), queue("10")]}), Value::Null);
    let measured =
        [each(50, 2), Measured::Unknown("the server could not find the requested resource".to_owned())];
    let status = made(&autoscaler, 2, &measured).status(&autoscaler, None, noon());
    assert_eq!(
        status["currentMetrics"],
        json!([
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "50m", "averageUtilization": 50}}},
            {"type": "External"},
        ])
    );
    assert_eq!(status["observedGeneration"], 3);
    assert!(difference(&autoscaler, &status).is_some());
    let told = Autoscaler { status, ..autoscaler };
    let again = made(&told, 2, &measured).status(&told, None, noon() + SignedDuration::from_secs(15));
    assert_eq!(difference(&told, &again), None);
}

#[test]
fn a_refusal_is_told() {
    let autoscaler = autoscaler(json!({"metrics": [cpu(50)]}), json!({"desiredReplicas": 2}));
    let plan = made(&autoscaler, 2, &[each(100, 2)]);
    assert_eq!(
        plan.rescale.as_ref().unwrap().why,
        "cpu resource utilization (percentage of request) above target"
    );
    let status = plan.status(&autoscaler, Some("no more than two"), noon());
    assert_eq!(
        said(&status),
        FINE.replace("AbleToScale=True ReadyForNewScale", "AbleToScale=False FailedUpdateScale")
    );
    assert_eq!((&status["desiredReplicas"], &status["lastScaleTime"]), (&json!(2), &Value::Null));
    let lost = without_scale(&autoscaler, "deployments.apps \"web\" not found", noon());
    assert_eq!(said(&lost), "AbleToScale=False FailedGetScale");
    assert_eq!(lost["desiredReplicas"], 2);
}

#[test]
fn a_target_has_to_say_which_pods_are_its_own() {
    let autoscaler = autoscaler(json!({"metrics": [cpu(50)]}), Value::Null);
    let bad = BadSelector {
        event: "SelectorRequired",
        reason: "InvalidSelector",
        said: "the HPA target's scale is missing a selector".to_owned(),
        error: "selector is required".to_owned(),
    };
    let (history, settings, scale) = (History::default(), Settings::default(), scale(2));
    let facts = Facts {
        autoscaler: &autoscaler,
        scale: &scale,
        pods: Err(&bad),
        measured: &[],
        history: &history,
        settings: &settings,
        now: noon(),
    };
    let plan = plan(&facts);
    assert_eq!(events(&plan), "SelectorRequired FailedComputeMetricsReplicas");
    let status = plan.status(&autoscaler, None, noon());
    assert_eq!(said(&status), "AbleToScale=True SucceededGetScale, ScalingActive=False InvalidSelector");
}
