//! Controllers and scheduler as processes of their own, against an API that has neither: what they need is a kubeconfig.

use std::process::{Child, Command};

use serde_json::json;

use crate::cluster::{Cluster, assert_has, binary, eventually};

/// Ends with the test.
struct Part(Child);

impl Drop for Part {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn part(cluster: &Cluster, name: &str) -> Part {
    let mut command = Command::new(binary());
    command.arg(name).arg("--kubeconfig").arg(cluster.kubeconfig());
    Part(kedge_shipped::start(&mut command, &cluster.data().join(name)))
}

#[test]
fn controllers_and_scheduler_work_alone() {
    let cluster = Cluster::with(&["--no-agent", "--no-controllers"]);
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "played"},
        "status": {
            "capacity": {"cpu": "4", "memory": "4Gi", "pods": "10"},
            "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    cluster.kubectl_with(&node.to_string(), ["create", "--filename=-"]);
    cluster.kubectl(["create", "deployment", "web", "--image=registry.example/web:1", "--replicas=2"]);

    let _scheduler = part(&cluster, "scheduler");
    let _controllers = part(&cluster, "controllers");
    eventually("both pods have a node", || {
        let nodes = "jsonpath={.items[*].spec.nodeName}";
        let told = cluster.kubectl(["get", "pods", "--selector=app=web", "--output", nodes]);
        if told == "played played" { Ok(()) } else { Err(format!("{told:?}")) }
    });
    let events = cluster.kubectl(["get", "events"]);
    assert_has(
        &events,
        &["Successfully assigned walk/web-", "Scaled up replica set web-", "Created pod: web-"],
    );
    let leases = cluster.kubectl(["get", "leases", "--all-namespaces"]);
    assert_has(&leases, &["kedge-scheduler", "kedge-controllers"]);
}
