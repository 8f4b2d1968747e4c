//! The objects that depend on how this cluster is laid out, and those that are few.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};

use crate::registry::Options;
use crate::services::{DEFAULT_RANGE, RANGE_FINALIZER, Range};

/// Which of the Services' addresses the cluster's DNS has.
const DNS: u8 = 10;
const KUBERNETES: &str = "kubernetes";
/// By which further slices of `kubernetes` are known to be ours.
pub(super) const KEEPER: (&str, &str) = ("endpointslice.kubernetes.io/managed-by", "kedge.dev");

pub(super) fn objects(options: &Options, now: &str) -> Vec<Value> {
    let mut all: Vec<Value> =
        ["default", "kube-system", "kube-public", "kube-node-lease"].map(namespace).into();
    let ranges: Vec<Range> =
        options.service_cidrs.iter().map(|&(address, bits)| Range::new(address, bits)).collect();
    let port = options.api_address.map_or(6443, |(_, port)| port);
    if let Some(range) = ranges.first() {
        all.push(json!({
            "kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1",
            "metadata": {"name": DEFAULT_RANGE, "finalizers": [RANGE_FINALIZER]},
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
    // Where there may be several servers, somebody counts them.
    if let Some((address, port)) = options.api_address.filter(|_| !options.has_peers) {
        all.extend(reached(&BTreeSet::from([SocketAddr::new(address, port)])));
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

/// What makes the Service `kubernetes` lead to these servers. All of a slice have one port; there is usually one for all.
pub(super) fn reached(servers: &BTreeSet<SocketAddr>) -> Vec<Value> {
    let ports = |port: u16| json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let mut alike: BTreeMap<(bool, u16), Vec<IpAddr>> = BTreeMap::new();
    for server in servers {
        alike.entry((server.is_ipv6(), server.port())).or_default().push(server.ip());
    }
    let subsets = alike.iter().map(|((_, port), addresses)| {
        let addresses: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
        json!({"addresses": addresses, "ports": ports(*port)})
    });
    let endpoints = json!({
        "kind": "Endpoints", "apiVersion": "v1",
        "metadata": {
            "name": KUBERNETES, "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": subsets.collect::<Vec<_>>(),
    });
    let slices = alike.iter().enumerate().map(|(at, ((is_v6, port), addresses))| {
        let family = if *is_v6 { "IPv6" } else { "IPv4" };
        let mut slice = match at {
            0 => slice(KUBERNETES),
            _ => slice(&format!("{KUBERNETES}-{}-{port}", family.to_ascii_lowercase())),
        };
        if at > 0 {
            slice["metadata"]["labels"][KEEPER.0] = KEEPER.1.into();
        }
        let endpoint = |address: &IpAddr| json!({"addresses": [address], "conditions": {"ready": true}});
        slice["addressType"] = family.into();
        slice["endpoints"] = addresses.iter().map(endpoint).collect();
        slice["ports"] = ports(*port);
        slice
    });
    [endpoints].into_iter().chain(slices).collect()
}

/// One without endpoints.
pub(super) fn slice(name: &str) -> Value {
    json!({
        "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": KUBERNETES},
        },
    })
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
