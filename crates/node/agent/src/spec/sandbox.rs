//! The sandbox of a pod: its name, its names on the network, its doors and its limits.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Pod;
use kedge_runtime::wire::{
    LinuxPodSandboxConfig, PodSandboxConfig, PodSandboxMetadata, PortMapping, Protocol,
};

use crate::admission::dotted;
use crate::resolver::NodeDns;
use crate::spec::{names, security};
use crate::users::Users;

pub(crate) const POD_NAME: &str = "io.kubernetes.pod.name";
pub(crate) const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
pub(crate) const POD_UID: &str = "io.kubernetes.pod.uid";

/// What all sandboxes of a node have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    pub(crate) cluster_domain: String,
    /// Where the cluster's names are answered.
    pub(crate) cluster_dns: Vec<String>,
    /// How the node itself finds names; it may change at any time.
    pub(crate) node_dns: NodeDns,
}

/// `attempt` counts the sandboxes that this pod has had.
pub(crate) fn config(
    pod: &Pod,
    attempt: u32,
    logs: String,
    cgroup_parent: String,
    common: &Common,
    users: Option<Users>,
) -> PodSandboxConfig {
    let (meta, spec) = (&pod.metadata, pod.spec.as_ref());
    let host_network = spec.is_some_and(|spec| spec.host_network == Some(true));
    let (name, namespace) =
        (meta.name.clone().unwrap_or_default(), meta.namespace.clone().unwrap_or_default());
    let uid = meta.uid.clone().unwrap_or_default();
    let mut labels: HashMap<String, String> = meta.labels.clone().unwrap_or_default().into_iter().collect();
    labels.extend([
        (POD_NAME.to_owned(), name.clone()),
        (POD_NAMESPACE.to_owned(), namespace.clone()),
        (POD_UID.to_owned(), uid.clone()),
    ]);
    let sysctls = spec
        .and_then(|spec| spec.security_context.as_ref())
        .and_then(|context| context.sysctls.as_ref())
        .into_iter()
        .flatten()
        .map(|sysctl| (dotted(&sysctl.name), sysctl.value.clone()))
        .collect();
    PodSandboxConfig {
        metadata: Some(PodSandboxMetadata { name, uid, namespace, attempt }),
        // Whoever shares the node's network shares its name.
        hostname: if host_network { String::new() } else { names::hostname(pod, common).unwrap_or_default() },
        log_directory: logs,
        dns_config: Some(names::dns(pod, common).0),
        port_mappings: if host_network { Vec::new() } else { ports(pod) },
        labels,
        annotations: meta.annotations.clone().unwrap_or_default().into_iter().collect(),
        linux: Some(LinuxPodSandboxConfig {
            cgroup_parent,
            security_context: Some(security::of_sandbox(pod, users)),
            sysctls,
            ..LinuxPodSandboxConfig::default()
        }),
    }
}

fn ports(pod: &Pod) -> Vec<PortMapping> {
    let containers = pod.spec.iter().flat_map(|spec| {
        let sidecars = spec.init_containers.iter().flatten();
        let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
        spec.containers.iter().chain(sidecars)
    });
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    let mapped = ports.filter_map(|port| {
        let protocol = match port.protocol.as_deref() {
            Some("UDP") => Protocol::Udp,
            Some("SCTP") => Protocol::Sctp,
            _ => Protocol::Tcp,
        };
        Some(PortMapping {
            protocol: protocol.into(),
            container_port: port.container_port,
            host_port: port.host_port.filter(|port| *port > 0)?,
            host_ip: port.host_ip.clone().unwrap_or_default(),
        })
    });
    mapped.collect()
}
