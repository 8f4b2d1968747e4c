//! A server with the node of this machine and an image to run. It leaves nothing behind: no process, no mount, no link.

use std::ops::Deref;
use std::process::Command;

use serde_json::json;

use crate::cluster::{Cluster, binary, eventually};

pub(super) use kedge_shipped::IMAGE;
pub(super) const NODE: &str = "here";

pub(super) struct Machine(Cluster);

impl Deref for Machine {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl Machine {
    pub(super) fn start() -> Self {
        // Tests of other builds may run beside this one.
        let own = std::process::id() % 64;
        let (pods, services) = (format!("10.{}.0.0/16", 128 + own), format!("10.{}.0.0/16", 32 + own));
        let flags = ["--node-name", NODE, "--node-listen", "0.0.0.0:0", "--cluster-cidr", &pods];
        let stub = super::names::other();
        let more =
            ["--service-cidr", &services, "--eviction-hard", "memory.available<10Mi", "--dns-stub", &stub];
        let door = ["--gateway-http", "0.0.0.0:0", "--gateway-https", "0.0.0.0:0"];
        let machine = Self(Cluster::with(&[&flags[..], &more, &door].concat()));
        eventually("the node is ready", || {
            let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
            let output = machine.command(["get", "node", NODE, "--output", ready]).output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            if told == "True" { Ok(()) } else { Err(format!("{told:?}\n{}", machine.log())) }
        });
        machine.import();
        machine
    }

    fn import(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(kedge_shipped::import(&self.data()));
    }

    /// Makes a pod; `spec` is JSON without the braces around it.
    pub(super) fn pod(&self, name: &str, spec: serde_json::Value) {
        let mut spec = spec;
        spec["terminationGracePeriodSeconds"] = json!(1);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
        self.kubectl_with(&pod.to_string(), ["create", "--filename=-"]);
    }

    /// A pod of one container that runs this until it is told to end, and runs now.
    pub(super) fn running(&self, name: &str, script: &str) {
        self.pod(name, json!({"containers": [shell("main", script)]}));
        self.ready(name);
    }

    pub(super) fn ready(&self, name: &str) {
        self.kubectl(["wait", "--for=condition=Ready", "--timeout=30s", &format!("pod/{name}")]);
    }

    /// Waits until a field of a pod is this.
    pub(super) fn until(&self, pod: &str, field: &str, wanted: &str) {
        self.kubectl([
            "wait",
            &format!("--for=jsonpath={{{field}}}={wanted}"),
            "--timeout=30s",
            &format!("pod/{pod}"),
        ]);
    }

    /// Removes what a story made.
    pub(super) fn clear(&self) {
        let mut command =
            self.command(["delete", "hpa,deployments,pods", "--all", "--grace-period=1", "--timeout=30s"]);
        let _whatever_is_left_ends_with_the_machine = command.output();
    }
}

pub(super) fn shell(name: &str, script: &str) -> serde_json::Value {
    json!({"name": name, "image": IMAGE, "command": ["sh", "-c", script]})
}

/// Until it is told to end, and then at once.
pub(super) const FOR_EVER: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

impl Drop for Machine {
    fn drop(&mut self) {
        self.clear();
        let data = self.data();
        self.0.kill();
        let _cleaned = Command::new(binary()).args(["clean", "--data-dir"]).arg(&data).output();
        kedge_shipped::sweep(&data);
    }
}
