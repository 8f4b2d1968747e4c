//! A pod as others meet it: its labels, addresses and named ports. And the namespace that it is in.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::few::Few;
use crate::lenient::{addresses, exact, labelled, or_default};
use crate::service::Protocol;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Pod {
    #[serde(deserialize_with = "labelled")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

crate::reads!(Pod as k8s_openapi::api::core::v1::Pod);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<Box<str>>,
    host_network: Option<bool>,
    #[serde(deserialize_with = "exact")]
    containers: Box<[Container]>,
    #[serde(deserialize_with = "exact")]
    init_containers: Box<[Container]>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    #[serde(deserialize_with = "exact")]
    ports: Box<[Port]>,
    restart_policy: Option<Box<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Port {
    #[serde(deserialize_with = "or_default")]
    name: Box<str>,
    container_port: u16,
    #[serde(deserialize_with = "or_default")]
    protocol: Protocol,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "or_default")]
    phase: Box<str>,
    #[serde(rename = "podIPs", deserialize_with = "addresses")]
    pod_ips: Few<IpAddr>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Namespace {
    #[serde(deserialize_with = "labelled")]
    pub metadata: ObjectMeta,
}

crate::reads!(Namespace as k8s_openapi::api::core::v1::Namespace);

impl Pod {
    pub fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    /// It has its node's addresses, not its own.
    pub fn is_on_host_network(&self) -> bool {
        self.spec.host_network == Some(true)
    }

    /// It has ended: its addresses are somebody else's by now.
    pub fn is_over(&self) -> bool {
        matches!(&*self.status.phase, "Succeeded" | "Failed")
    }

    pub fn addresses(&self) -> &[IpAddr] {
        &self.status.pod_ips
    }

    /// Those that its containers listen to by TCP, as far as they say so.
    pub fn tcp_ports(&self) -> impl Iterator<Item = u16> {
        let ports = self.spec.containers.iter().flat_map(|container| &container.ports);
        ports.filter(|port| port.protocol == Protocol::Tcp).map(|port| port.container_port)
    }

    /// The port that one of its containers gives this name.
    pub fn port(&self, name: &str, protocol: Protocol) -> Option<u16> {
        // Of those that go first, only the ones that stay are reached.
        let first =
            self.spec.init_containers.iter().filter(|one| one.restart_policy.as_deref() == Some("Always"));
        let ports = self.spec.containers.iter().chain(first).flat_map(|container| &container.ports);
        ports
            .filter(|port| &*port.name == name && port.protocol == protocol)
            .map(|port| port.container_port)
            .next()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "a", "labels": {"app": "web"}},
            "spec": {"nodeName": "n", "containers": [
                {"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 80}, {"name": "http", "containerPort": 81, "protocol": "UDP"}]},
            ], "initContainers": [
                {"ports": [{"name": "once", "containerPort": 1}]},
                {"restartPolicy": "Always", "ports": [{"name": "stays", "containerPort": 2}]},
            ]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
        }))
        .unwrap();
        assert_eq!((pod.node(), pod.addresses().len(), pod.is_over()), (Some("n"), 2, false));
        for (name, protocol, port) in [
            ("http", Protocol::Tcp, Some(80)),
            ("http", Protocol::Udp, Some(81)),
            ("once", Protocol::Tcp, None),
            ("stays", Protocol::Tcp, Some(2)),
            ("none", Protocol::Tcp, None),
        ] {
            assert_eq!(pod.port(name, protocol), port, "{name}");
        }
    }
}
