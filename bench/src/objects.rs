//! The objects that are sent: a ConfigMap of a chosen size, a Pod of about 3 KiB as clusters really hold them.

use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) fn config_map(name: &str, bytes: usize) -> Bytes {
    encoded(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "data": {"value": "x".repeat(bytes)},
    }))
}

pub(crate) fn pod(name: &str) -> Bytes {
    let env: Vec<Value> = (0..12)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value-of-the-setting-{n}")}))
        .collect();
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example/team/web:1.27.3", "args": ["--listen", "0.0.0.0:8080"], "env": env,
            "ports": [{"name": "http", "containerPort": 8080}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "periodSeconds": 10},
            "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
        })
    };
    encoded(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web", "tier": "front"}, "annotations": {"note": "y".repeat(300)}},
        "spec": {
            // Nobody's: where no node is, a scheduler would write as much about each pod as is measured here.
            "schedulerName": "kedge-bench",
            "containers": [container("web")],
            "volumes": [{"name": "settings", "emptyDir": {}}],
            "tolerations": [{"key": "node.example/edge", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }))
}

/// A change of a pod's status as a node agent sends it; `turn` makes each one differ.
pub(crate) fn pod_status(turn: usize) -> Bytes {
    encoded(&json!({"status": {
        "phase": "Running", "podIP": format!("10.42.{}.{}", turn / 250 % 250, turn % 250 + 1), "hostIP": "192.0.2.10",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}],
    }}))
}

fn encoded(object: &Value) -> Bytes {
    Bytes::from(object.to_string())
}
