use serde_json::json;

use super::*;

fn pod(containers: serde_json::Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"uid": "u"}, "spec": {"containers": containers}})).unwrap()
}

fn wants(requests: serde_json::Value, limits: serde_json::Value) -> serde_json::Value {
    json!([{"name": "c", "resources": {"requests": requests, "limits": limits}}])
}

#[test]
fn the_class_follows_from_requests_and_limits() {
    for (case, containers, class) in [
        ("nothing", json!([{"name": "c"}]), Qos::BestEffort),
        ("requests", wants(json!({"cpu": "1"}), json!({})), Qos::Burstable),
        ("limits alone", wants(json!({}), json!({"cpu": "1", "memory": "1Gi"})), Qos::Guaranteed),
        ("a limit of one", wants(json!({}), json!({"memory": "1Gi"})), Qos::Burstable),
        (
            "the same",
            wants(json!({"cpu": "1000m", "memory": "1Gi"}), json!({"cpu": "1", "memory": "1024Mi"})),
            Qos::Guaranteed,
        ),
        (
            "less than the limit",
            wants(json!({"cpu": "1", "memory": "1Mi"}), json!({"cpu": "1", "memory": "1Gi"})),
            Qos::Burstable,
        ),
    ] {
        assert_eq!(Qos::of(&pod(containers)), class, "{case}");
    }
}

#[test]
fn amounts_become_the_kernels() {
    for (case, containers, shares, quota, memory, score) in [
        ("nothing", json!([{"name": "c"}]), 2, 0, 0, 1000),
        (
            "half a core",
            wants(json!({"cpu": "500m", "memory": "512Mi"}), json!({"cpu": "1", "memory": "1Gi"})),
            512,
            100_000,
            1 << 30,
            500,
        ),
        (
            "a limit is a request",
            wants(json!({}), json!({"cpu": "250m", "memory": "1Mi"})),
            256,
            25_000,
            1 << 20,
            -997,
        ),
        ("a hair", wants(json!({"cpu": "1m"}), json!({"cpu": "1m"})), 2, 1000, 0, 999),
    ] {
        let pod = pod(containers);
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let found = of_container(&pod, container, 1 << 30);
        let found = (found.cpu_shares, found.cpu_quota, found.memory_limit_in_bytes, found.oom_score_adj);
        assert_eq!(found, (shares, quota, memory, score), "{case}");
    }
}
