//! Load that comes at once is met at once: a real loop on a real CPU, and one more pod.

use std::time::Instant;

use serde_json::json;

use super::machine::{Machine, shell};
use crate::cluster::{assert_has, error, eventually, text};

/// Does nothing until somebody writes to it, and then all that it can.
const ASKED: &str = "busybox mkfifo /asked; read _ < /asked; while :; do :; done";

pub(super) fn under_load(machine: &Machine) {
    let mut container = shell("main", ASKED);
    container["resources"] = json!({"requests": {"cpu": "100m"}});
    let labels = json!({"app": "loaded"});
    let spec = json!({"terminationGracePeriodSeconds": 1, "containers": [container]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "loaded"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    });
    let target = json!({"type": "Utilization", "averageUtilization": 50});
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "loaded"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "loaded"}, "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    });
    for object in [deployment, autoscaler] {
        machine.kubectl_with(&object.to_string(), ["create", "--filename=-"]);
    }
    machine.kubectl(["wait", "--for=condition=Available", "--timeout=30s", "deployment/loaded"]);
    let field = |field: &str| {
        let field = format!("jsonpath={{{field}}}");
        let output = machine.command(["get", "hpa.v2.autoscaling", "loaded", "-o", &field]).output().unwrap();
        format!("{}{}", text(&output.stdout), error(&output))
    };
    eventually("it is known how little is used", || {
        let used = field(".status.currentMetrics[0].resource.current.averageUtilization");
        let known = used.parse::<u32>().is_ok_and(|percent| percent < 50);
        if known { Ok(()) } else { Err(format!("{used} {}", field(".status"))) }
    });
    assert_has(&machine.kubectl(["get", "hpa", "loaded"]), &["Deployment/loaded", "cpu: ", "/50%"]);

    let begun = Instant::now();
    machine.kubectl(["exec", "deployment/loaded", "--", "sh", "-c", "echo > /asked"]);
    eventually("there is another pod, and it is ready", || {
        let ready = "jsonpath={.status.readyReplicas}";
        let output = machine.command(["get", "deployment", "loaded", "-o", ready]).output().unwrap();
        if text(&output.stdout) == "2" { Ok(()) } else { Err(field(".status")) }
    });
    eprintln!("from load to a ready pod: {:.2} s", begun.elapsed().as_secs_f64());
    eventually("it is said what was done", || {
        let told = machine.kubectl(["describe", "hpa", "loaded"]);
        let all = ["SuccessfulRescale", "New size: 2; reason: cpu resource utilization", "AbleToScale"];
        if all.iter().all(|part| told.contains(part)) { Ok(()) } else { Err(told) }
    });
}
