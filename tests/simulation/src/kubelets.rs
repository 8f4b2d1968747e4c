//! The nodes of a history. They do what scripted nodes do, one step at a time, whenever the simulation gives them one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_scripted_nodes::{Lives, Machine, Script, Step, correction, micro};
use kedge_store::Snapshot;
use kube::Client;
use serde_json::{Value, json};

use crate::kinds::parsed;
use crate::people::send;

pub(crate) struct Kubelets {
    client: Client,
    machines: BTreeMap<String, Kubelet>,
    lives: Lives,
    script: Script,
    born: u32,
}

struct Kubelet {
    machine: Machine,
    silent: bool,
}

impl Kubelets {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            machines: BTreeMap::new(),
            lives: Lives::default(),
            script: Script::default(),
            born: 0,
        }
    }

    pub(crate) async fn join(&mut self, now: Timestamp) -> String {
        self.born += 1;
        let name = format!("n{}", self.born);
        let machine = Machine::new(&name, self.born);
        let made = send(&self.client, "POST", "/api/v1/nodes", &machine.node(now)).await;
        let uid = made.expect("a node can join")["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        send(&self.client, "POST", leases, &machine.lease(&uid, now)).await.expect("a node has a lease");
        self.machines.insert(name.clone(), Kubelet { machine, silent: false });
        name
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.machines.keys().cloned().collect()
    }

    /// Falls silent or speaks again.
    pub(crate) fn turn(&mut self, name: &str) -> bool {
        let Some(kubelet) = self.machines.get_mut(name) else { return false };
        kubelet.silent = !kubelet.silent;
        kubelet.silent
    }

    pub(crate) fn all_speak(&mut self) {
        self.machines.values_mut().for_each(|kubelet| kubelet.silent = false);
    }

    /// The machine is taken away and its Node deleted.
    pub(crate) async fn leave(&mut self, name: &str) {
        self.machines.remove(name);
        drop(send(&self.client, "DELETE", &format!("/api/v1/nodes/{name}"), &Value::Null).await);
    }

    pub(crate) async fn beat(&self, now: Timestamp, store: &Snapshot) {
        for (name, kubelet) in self.machines.iter().filter(|(_, kubelet)| !kubelet.silent) {
            let lease = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}");
            let renewed = json!({ "spec": { "renewTime": micro(now) } });
            if send(&self.client, "PATCH", &lease, &renewed).await.is_err() {
                let node = store.get(&format!("/registry/nodes/{name}"));
                let uid = node.map(|entry| parsed::<Node>(entry.bytes()).metadata.uid.unwrap_or_default());
                let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
                let lease = kubelet.machine.lease(&uid.unwrap_or_default(), now);
                drop(send(&self.client, "POST", leases, &lease).await);
            }
            let Some(entry) = store.get(&format!("/registry/nodes/{name}")) else { continue };
            if let Some(mut status) = correction(&parsed::<Node>(entry.bytes()), now) {
                keep_others(&mut status, &parsed::<Node>(entry.bytes()));
                let path = format!("/api/v1/nodes/{name}/status");
                drop(send(&self.client, "PATCH", &path, &json!({ "status": status })).await);
            }
        }
    }

    /// Pods that a node would do something about now, and what.
    pub(crate) fn due(&mut self, now: Timestamp, store: &Snapshot) -> Vec<(Pod, Step)> {
        let mut due = Vec::new();
        for (_, entry) in store.range("/registry/pods/", None) {
            let pod: Pod = parsed(entry.bytes());
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
            let Some(kubelet) = self.machines.get(&node).filter(|kubelet| !kubelet.silent) else { continue };
            let step = self.lives.step(&pod, &kubelet.machine, &self.script, now);
            if matches!(step, Step::Report(_) | Step::Remove) {
                due.push((pod, step));
            }
        }
        due
    }

    pub(crate) async fn act(&self, pod: &Pod, step: Step) -> String {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let path = format!(
            "/api/v1/namespaces/{}/pods/{name}",
            pod.metadata.namespace.as_deref().unwrap_or_default()
        );
        match step {
            Step::Report(status) => {
                let told =
                    format!("a node says that {name} is {}", status.phase.as_deref().unwrap_or_default());
                let patch = json!({ "metadata": { "uid": pod.metadata.uid }, "status": status });
                drop(send(&self.client, "PATCH", &format!("{path}/status"), &patch).await);
                told
            }
            _ => {
                let options = json!({
                    "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                    "preconditions": { "uid": pod.metadata.uid },
                });
                drop(send(&self.client, "DELETE", &path, &options).await);
                format!("a node has stopped {name}")
            }
        }
    }
}

/// A merge patch replaces lists whole.
fn keep_others(status: &mut Value, node: &Node) {
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    let known = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    for other in known {
        if !conditions.iter().any(|condition| condition["type"] == other.type_.as_str()) {
            conditions.push(json!(other));
        }
    }
}
