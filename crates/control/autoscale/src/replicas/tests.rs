use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::measured::Sample;

const NOON: &str = "2030-01-01T12:00:00Z";

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

/// `ready`, `starting` (running, not ready), `pending`, `failed`, `leaving`, `old` (ready before, not any more), `fresh` (ready since
/// a moment ago).
fn pod(name: &str, state: &str, request: Value) -> Arc<Pod> {
    let (phase, ready, since, started) = match state {
        "pending" => ("Pending", "False", "11:59:55", None),
        "failed" => ("Failed", "False", "11:30:00", Some("11:00:00")),
        "starting" => ("Running", "False", "11:59:50", Some("11:59:50")),
        "fresh" => ("Running", "True", "11:59:58", Some("11:59:50")),
        "old" => ("Running", "False", "11:50:00", Some("11:00:00")),
        "never" => ("Running", "False", "11:00:10", Some("11:00:00")),
        _ => ("Running", "True", "11:01:00", Some("11:00:00")),
    };
    let at = |time: &str| format!("2030-01-01T{time}Z");
    let pod = json!({
        "metadata": {"name": name, "deletionTimestamp": (state == "leaving").then_some(NOON)},
        "spec": {"containers": [{"name": "c", "resources": {"requests": request}}]},
        "status": {
            "phase": phase, "startTime": started.map(at),
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": at(since)}],
        },
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

/// Pods `p0`, `p1`… in these states, each of which asks for 100m and 100Mi.
fn pods(states: &str) -> Vec<Arc<Pod>> {
    let request = json!({"cpu": "100m", "memory": "100Mi"});
    let states = states.split_whitespace().enumerate();
    states.map(|(at, state)| pod(&format!("p{at}"), state, request.clone())).collect()
}

/// What `p0`, `p1`… use; a negative number for one that nobody measured.
fn samples(values: &[i64]) -> Samples {
    let sample = |value: i64| Sample { value, at: noon(), window: SignedDuration::from_secs(10) };
    let known = values.iter().enumerate().filter(|(_, value)| **value >= 0);
    known.map(|(at, value)| (format!("p{at}"), sample(*value))).collect()
}

fn scene<'a>(pods: &'a [Arc<Pod>], wanted: i32, settings: &'a Settings) -> Scene<'a> {
    let tolerance = Tolerance { up: 0.1, down: 0.1 };
    Scene { pods, wanted, there: wanted, tolerance, settings, now: noon() }
}

#[test]
fn as_many_as_the_use_of_a_resource_asks_for() {
    let settings = Settings::default();
    for (case, states, used, percent, expected) in [
        ("as it should be", "ready ready", &[50, 50][..], 50, Ok((2, 50))),
        ("within the tolerance", "ready ready", &[54, 56], 50, Ok((2, 55))),
        ("just beyond it", "ready ready", &[56, 56], 50, Ok((3, 56))),
        ("four times too much", "ready ready", &[200, 200], 50, Ok((8, 200))),
        ("too little", "ready ready ready ready", &[10, 10, 10, 10], 50, Ok((1, 10))),
        ("nothing at all", "ready ready", &[0, 0], 50, Ok((0, 0))),
        ("one for the others", "ready ready ready", &[150, 0, 0], 50, Ok((3, 50))),
        ("a pod that starts counts for nothing when it grows", "ready pending", &[100, -1], 50, Ok((2, 100))),
        ("and a lot of load still makes it grow", "ready pending", &[300, -1], 50, Ok((6, 300))),
        ("what a starting pod uses is not believed", "ready starting", &[50, 900], 50, Ok((2, 50))),
        ("nor that of one just ready", "ready fresh", &[50, 900], 50, Ok((2, 50))),
        ("one that was never ready neither", "ready never", &[50, 900], 50, Ok((2, 50))),
        ("but that of one that was", "ready old", &[50, 150], 50, Ok((4, 100))),
        ("one that leaves is not there", "ready leaving", &[100, 900], 50, Ok((2, 100))),
        ("one that failed neither", "ready failed", &[100, -1], 50, Ok((2, 100))),
        ("the unmeasured may use all they asked for", "ready ready", &[10, -1], 50, Ok((2, 10))),
        ("so it shrinks less", "ready ready ready ready", &[1, 1, 1, -1], 50, Ok((2, 1))),
        ("beyond what they asked for", "ready ready ready", &[100, 100, -1], 150, Ok((3, 100))),
        ("or use nothing", "ready ready", &[60, -1], 50, Ok((2, 60))),
        ("so it grows less", "ready ready", &[200, -1], 50, Ok((4, 200))),
        ("nobody is there", "", &[], 50, Err("no pods returned by selector")),
        ("nobody is measured", "ready", &[-1], 50, Err("did not receive metrics for targeted pods")),
        ("nobody is ready", "starting", &[70], 50, Err("did not receive metrics for targeted pods")),
    ] {
        let pods = pods(states);
        let wanted = i32::try_from(pods.len()).unwrap();
        let answer = scene(&pods, wanted, &settings).utilization(&samples(used), "cpu", None, percent);
        match (answer, expected) {
            (Ok(answer), Ok((replicas, percent))) => {
                assert_eq!((answer.replicas, answer.utilization), (replicas, Some(percent)), "{case}");
            }
            (Err(error), Err(said)) => assert!(error.starts_with(said), "{case}: {error}"),
            (answer, expected) => panic!("{case}: {answer:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn use_is_compared_with_what_was_asked_for() {
    let settings = Settings::default();
    let two = json!({
        "metadata": {"name": "p0"},
        "spec": {
            "containers": [
                {"name": "a", "resources": {"requests": {"memory": "100Mi"}}},
                {"name": "b", "resources": {"requests": {"memory": "300Mi"}}},
            ],
            "initContainers": [
                {"name": "once", "resources": {"requests": {"memory": "9Gi"}}},
                {"name": "beside", "restartPolicy": "Always", "resources": {"requests": {"memory": "100Mi"}}},
            ],
        },
        "status": {"phase": "Running"},
    });
    let mut whole = two.clone();
    whole["spec"]["resources"] = json!({"requests": {"memory": "1000Mi"}});
    let mebi = 1_048_576_000;
    for (case, pod, resource, container, expected) in [
        ("all containers", &two, "memory", None, Ok(100)),
        ("one of them", &two, "memory", Some("a"), Ok(500)),
        ("one beside them", &two, "memory", Some("beside"), Ok(500)),
        ("the pod as a whole", &whole, "memory", None, Ok(50)),
        ("a container all the same", &whole, "memory", Some("a"), Ok(500)),
        ("none of that name", &two, "memory", Some("z"), Err("container z not found in Pod p0")),
        (
            "nothing was asked for",
            &two,
            "disk",
            None,
            Err("missing request for disk in container a of Pod p0"),
        ),
        ("nor for the pod", &whole, "disk", None, Err("missing pod-level request for disk in Pod p0")),
    ] {
        let pods = [Arc::new(serde_json::from_value(pod.clone()).unwrap())];
        let answer = scene(&pods, 1, &settings).utilization(&samples(&[500 * mebi]), resource, container, 50);
        let answer = answer.map(|answer| answer.utilization.unwrap());
        assert_eq!(answer, expected.map_err(str::to_owned), "{case}");
    }
}

#[test]
fn as_many_as_an_amount_for_each_pod_asks_for() {
    let settings = Settings::default();
    for (case, states, used, target, expected) in [
        ("as it should be", "ready ready", &[20, 20][..], 20, (2, 20)),
        ("twice as much", "ready ready", &[40, 40], 20, (4, 40)),
        ("a starting pod counts, as it is not the CPU", "ready starting", &[20, 100], 20, (6, 60)),
        ("a waiting one doesn't", "ready pending", &[60, -1], 20, (3, 60)),
        ("the unmeasured use what they should", "ready ready ready", &[5, 5, -1], 20, (2, 5)),
        ("or nothing", "ready ready ready", &[40, 40, -1], 20, (4, 40)),
        ("never the other way round", "ready ready ready", &[22, 25, -1], 20, (3, 23)),
    ] {
        let pods = pods(states);
        let wanted = i32::try_from(pods.len()).unwrap();
        let answer = scene(&pods, wanted, &settings).average(&samples(used), "", target).unwrap();
        assert_eq!((answer.replicas, answer.usage), expected, "{case}");
    }
}

#[test]
fn as_many_as_something_else_asks_for() {
    let settings = Settings::default();
    let pods = pods("ready ready starting");
    let three = scene(&pods, 3, &settings);
    let none = scene(&[], 0, &settings);
    for (case, scene, values, target, whole, share) in [
        ("as it should be", &three, &[100][..], 100, (3, 100), (1, 34)),
        ("three times as much, and two are ready", &three, &[200, 100], 100, (6, 300), (3, 100)),
        ("nothing", &three, &[0], 100, (0, 0), (0, 0)),
        ("from nothing to something", &none, &[250], 100, (3, 250), (3, 250)),
        ("nothing for nobody", &none, &[0], 100, (0, 0), (0, 0)),
        (
            "too much to count",
            &three,
            &[i64::MAX, i64::MAX],
            1,
            (i32::MAX, i64::MAX),
            (i32::MAX, i64::MAX / 3),
        ),
    ] {
        let answer = scene.whole(values, target).unwrap();
        assert_eq!((answer.replicas, answer.usage), whole, "{case}");
        let answer = scene.share(values, target);
        assert_eq!(answer.replicas, share.0, "{case}");
        assert!((answer.usage - share.1).abs() <= share.1 / 1_000_000, "{case}: {answer:?}");
    }
    let alone = Scene { pods: &[], ..scene(&pods, 3, &settings) };
    assert!(alone.whole(&[500], 100).unwrap_err().starts_with("unable to calculate ready pods"));
}
