//! What a scripted node looks like to the API: like a machine with room.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub address: Ipv4Addr,
    pub labels: Vec<(String, String)>,
    pub cpus: u32,
    pub memory_gib: u32,
    pub pods: u32,
}

impl Machine {
    /// The `index`th of several.
    pub fn new(name: impl Into<String>, index: u32) -> Self {
        let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(172, 20, 0, 0)) + index + 1);
        Self { name: name.into(), address, labels: Vec::new(), cpus: 32, memory_gib: 256, pods: 110 }
    }

    #[must_use]
    pub fn labelled(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn node(&self, now: Timestamp) -> Value {
        let mut labels = json!({
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
        });
        for (name, value) in &self.labels {
            labels[name] = value.clone().into();
        }
        let room = json!({
            "cpu": self.cpus.to_string(),
            "memory": format!("{}Gi", self.memory_gib),
            "ephemeral-storage": "200Gi",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "pods": self.pods.to_string(),
        });
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": self.name, "labels": labels },
            "status": {
                "capacity": room,
                "allocatable": room,
                "addresses": [
                    { "type": "InternalIP", "address": self.address.to_string() },
                    { "type": "Hostname", "address": self.name },
                ],
                "conditions": conditions(now),
                "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
                "nodeInfo": {
                    "architecture": "amd64", "operatingSystem": "linux", "osImage": "scripted",
                    "kernelVersion": "6.12.0", "containerRuntimeVersion": "scripted://1",
                    "kubeletVersion": "v1.36.4", "kubeProxyVersion": "", "bootID": self.name,
                    "machineID": self.name, "systemUUID": self.name,
                },
            },
        })
    }

    pub fn lease(&self, uid: &str, now: Timestamp) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": "kube-node-lease",
                "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": self.name, "uid": uid }],
            },
            "spec": {
                "holderIdentity": self.name,
                "leaseDurationSeconds": 40,
                "renewTime": micro(now),
            },
        })
    }
}

pub(crate) fn conditions(now: Timestamp) -> Value {
    let all = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ];
    let now = seconds(now);
    all.map(|(type_, status, reason, message)| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    })
    .to_vec()
    .into()
}

fn seconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub fn micro(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
