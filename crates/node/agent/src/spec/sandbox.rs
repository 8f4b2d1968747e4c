//! The sandbox of a pod: its name, its names on the network, its doors and its limits.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Pod;
use kedge_runtime::wire::{
    DnsConfig, LinuxPodSandboxConfig, PodSandboxConfig, PodSandboxMetadata, PortMapping, Protocol,
};

use crate::spec::{resources, security};

pub(crate) const POD_NAME: &str = "io.kubernetes.pod.name";
pub(crate) const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
pub(crate) const POD_UID: &str = "io.kubernetes.pod.uid";

/// Longer host names are none to the kernel.
const LONGEST_HOSTNAME: usize = 63;

/// What all sandboxes of a node have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    pub(crate) cgroup_root: String,
    pub(crate) cluster_domain: String,
    /// Where the cluster's names are answered.
    pub(crate) cluster_dns: Vec<String>,
    /// How the node itself finds names.
    pub(crate) node_dns: DnsConfig,
}

/// `attempt` counts the sandboxes that this pod has had.
pub(crate) fn config(pod: &Pod, attempt: u32, logs: String, common: &Common) -> PodSandboxConfig {
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
        .map(|sysctl| (sysctl.name.clone(), sysctl.value.clone()))
        .collect();
    PodSandboxConfig {
        metadata: Some(PodSandboxMetadata { name, uid, namespace, attempt }),
        // Whoever shares the node's network shares its name.
        hostname: if host_network { String::new() } else { hostname(pod, common) },
        log_directory: logs,
        dns_config: Some(dns(pod, common)),
        port_mappings: if host_network { Vec::new() } else { ports(pod) },
        labels,
        annotations: meta.annotations.clone().unwrap_or_default().into_iter().collect(),
        linux: Some(LinuxPodSandboxConfig {
            cgroup_parent: resources::cgroup(&common.cgroup_root, pod),
            security_context: Some(security::of_sandbox(pod)),
            sysctls,
            ..LinuxPodSandboxConfig::default()
        }),
    }
}

/// What the pod is called inside.
pub(crate) fn hostname(pod: &Pod, common: &Common) -> String {
    let spec = pod.spec.as_ref();
    if let Some(name) = spec.and_then(|spec| spec.hostname_override.clone()) {
        return name;
    }
    let set = spec.and_then(|spec| spec.hostname.clone()).filter(|name| !name.is_empty());
    let name = set.or_else(|| pod.metadata.name.clone()).unwrap_or_default();
    let short: String = name.chars().take(LONGEST_HOSTNAME).collect();
    let short = short.trim_end_matches(['-', '.']).to_owned();
    match full_name(pod, &short, common) {
        Some(full) if spec.is_some_and(|spec| spec.set_hostname_as_fqdn == Some(true)) => full,
        _ => short,
    }
}

/// The name in the cluster of a pod that has a subdomain.
pub(crate) fn full_name(pod: &Pod, hostname: &str, common: &Common) -> Option<String> {
    let subdomain = pod.spec.as_ref()?.subdomain.as_deref().filter(|name| !name.is_empty())?;
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Some(format!("{hostname}.{subdomain}.{namespace}.svc.{}", common.cluster_domain))
}

fn dns(pod: &Pod, common: &Common) -> DnsConfig {
    let spec = pod.spec.as_ref();
    let host_network = spec.is_some_and(|spec| spec.host_network == Some(true));
    let policy = spec.and_then(|spec| spec.dns_policy.as_deref()).unwrap_or("ClusterFirst");
    let cluster = match policy {
        "ClusterFirst" => !host_network,
        "ClusterFirstWithHostNet" => true,
        _ => false,
    };
    let mut dns = match policy {
        "None" => DnsConfig::default(),
        _ if cluster && !common.cluster_dns.is_empty() => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let domain = &common.cluster_domain;
            let own = [format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.clone()];
            DnsConfig {
                servers: common.cluster_dns.clone(),
                searches: own.into_iter().chain(common.node_dns.searches.iter().cloned()).collect(),
                options: vec!["ndots:5".to_owned()],
            }
        }
        _ => common.node_dns.clone(),
    };
    if let Some(more) = spec.and_then(|spec| spec.dns_config.as_ref()) {
        add(&mut dns.servers, more.nameservers.iter().flatten().cloned());
        add(&mut dns.searches, more.searches.iter().flatten().cloned());
        for option in more.options.iter().flatten() {
            let Some(name) = &option.name else { continue };
            let is_same = |set: &String| set.split(':').next() == Some(name);
            dns.options.retain(|set| !is_same(set));
            dns.options.push(match &option.value {
                Some(value) => format!("{name}:{value}"),
                None => name.clone(),
            });
        }
    }
    dns
}

fn add(list: &mut Vec<String>, more: impl Iterator<Item = String>) {
    for one in more {
        if !list.contains(&one) {
            list.push(one);
        }
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
