//! The objects that depend on how this cluster is laid out, and those that are few.

use serde_json::{Value, json};

use crate::registry::Options;
use crate::services::Range;

/// Which of the Services' addresses the cluster's DNS has.
const DNS: u8 = 10;

pub(super) fn objects(options: &Options, now: &str) -> Vec<Value> {
    let mut all: Vec<Value> =
        ["default", "kube-system", "kube-public", "kube-node-lease"].map(namespace).into();
    let ranges: Vec<Range> =
        options.service_cidrs.iter().map(|&(address, bits)| Range::new(address, bits)).collect();
    let port = options.api_address.map_or(6443, |(_, port)| port);
    if let Some(range) = ranges.first() {
        all.push(json!({
            "kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": "kubernetes"},
            "spec": {"cidrs": ranges.iter().map(Range::to_string).collect::<Vec<_>>()},
            "status": {"conditions": [{
                "type": "Ready", "status": "True", "reason": "", "lastTransitionTime": now,
                "message": "Kubernetes default Service CIDR is ready",
            }]},
        }));
        let first = range.first().to_string();
        all.push(json!({
            "kind": "Service", "apiVersion": "v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "type": "ClusterIP", "clusterIP": first, "clusterIPs": [first], "ipFamilyPolicy": "SingleStack",
                "ipFamilies": [range.family().name()], "sessionAffinity": "None",
                "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
            },
        }));
    }
    if options.dns_service {
        all.extend(dns(&ranges));
    }
    if let Some((address, port)) = options.api_address {
        let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
        all.push(json!({
            "kind": "Endpoints", "apiVersion": "v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{"addresses": [{"ip": address.to_string()}], "ports": ports}],
        }));
        all.push(json!({
            "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
            "endpoints": [{"addresses": [address.to_string()], "conditions": {"ready": true}}],
            "ports": ports,
        }));
    }
    for (name, value, description) in [
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ] {
        all.push(json!({
            "kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name},
            "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
        }));
    }
    all
}

/// Whoever looks for the cluster's DNS finds it where others have it. No proxy carries it: every node has its address.
pub(super) fn dns(ranges: &[Range]) -> Option<Value> {
    let addresses: Option<Vec<String>> =
        ranges.iter().map(|range| range.nth(DNS).map(|address| address.to_string())).collect();
    let addresses = addresses.filter(|addresses| !addresses.is_empty())?;
    let policy = if addresses.len() > 1 { "PreferDualStack" } else { "SingleStack" };
    Some(json!({
        "kind": "Service", "apiVersion": "v1",
        "metadata": {
            "name": "kube-dns", "namespace": "kube-system",
            "labels": {
                "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "KubeDNS",
                "service.kubernetes.io/service-proxy-name": "kedge-dns",
            },
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": addresses[0], "clusterIPs": addresses, "ipFamilyPolicy": policy,
            "ipFamilies": ranges.iter().map(|range| range.family().name()).collect::<Vec<_>>(), "sessionAffinity": "None",
            "ports": [
                {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53},
                {"name": "dns-tcp", "protocol": "TCP", "port": 53, "targetPort": 53},
            ],
        },
    }))
}

fn namespace(name: &str) -> Value {
    json!({
        "kind": "Namespace", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
    })
}
