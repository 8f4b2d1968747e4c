//! The pods behind a Service as places to send traffic to: addresses, ports, and how they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kedge_engine::{Key, NotReady, World};
use kube::ResourceExt;

use super::nearness::Nearness;
use kedge_children::pods::PodFacts;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    pub(super) fn of(address: &str) -> Self {
        if address.contains(':') { Self::V6 } else { Self::V4 }
    }
}

/// Endpoints by the ports that they have.
pub(super) type Groups = Vec<(Vec<EndpointPort>, Vec<Endpoint>)>;

/// The labels of a Service's pods; none if it has no pods of its own to find.
pub(super) fn selector(service: &Service) -> Option<&BTreeMap<String, String>> {
    let spec = service.spec.as_ref()?;
    spec.selector.as_ref().filter(|_| spec.type_.as_deref() != Some("ExternalName"))
}

pub(super) fn families(service: &Service) -> Vec<Family> {
    let named = service.spec.as_ref().and_then(|spec| spec.ip_families.as_ref());
    let named = named.into_iter().flatten().map(|name| if name == "IPv6" { Family::V6 } else { Family::V4 });
    match named.collect::<Vec<_>>() {
        none if none.is_empty() => vec![Family::V4],
        families => families,
    }
}

pub(super) fn is_headless(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

pub(super) fn pods(service: &Service, world: &World) -> Result<Vec<Arc<Pod>>, NotReady> {
    let Some(selector) = selector(service) else { return Ok(Vec::new()) };
    let pods = world.cache::<Pod>()?.labelled(&service.namespace().unwrap_or_default(), selector);
    Ok(pods.into_iter().filter(|pod| !matches!(pod.phase(), "Succeeded" | "Failed")).collect())
}

/// Whether anything changed about a pod that traffic could notice.
pub(super) fn matters(before: Option<&Pod>, now: Option<&Pod>) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return true };
    let seen = |pod: &Pod| {
        let status = pod.status.as_ref();
        let spec = pod.spec.as_ref();
        (
            pod.metadata.labels.clone(),
            status.and_then(|status| status.pod_ips.clone()),
            (pod.is_ready(), pod.is_leaving(), matches!(pod.phase(), "Succeeded" | "Failed")),
            spec.and_then(|spec| spec.node_name.clone()),
            spec.map(|spec| (spec.hostname.clone(), spec.subdomain.clone())),
        )
    };
    seen(before) != seen(now)
}

/// Where a node is, if that is known.
pub(super) fn zone(node: &Node) -> Option<&str> {
    node.labels().get("topology.kubernetes.io/zone").map(String::as_str).filter(|zone| !zone.is_empty())
}

pub(super) fn address(pod: &Pod, family: Family) -> Option<&str> {
    let addresses = pod.status.as_ref()?.pod_ips.as_ref()?;
    addresses.iter().map(|address| address.ip.as_str()).find(|ip| Family::of(ip) == family)
}

/// What a Service's ports are on one pod. A named port that the pod doesn't have is none.
pub(super) fn ports(service: &Service, pod: &Pod) -> Vec<(ServicePort, i32)> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let found = ports.into_iter().flatten().filter_map(|port| {
        let target = match port.target_port.as_ref() {
            Some(IntOrString::Int(number)) if *number != 0 => *number,
            Some(IntOrString::String(name)) => named_port(pod, name, protocol(port.protocol.as_deref()))?,
            _ => port.port,
        };
        Some((port.clone(), target))
    });
    found.collect()
}

fn named_port(pod: &Pod, name: &str, wanted: &str) -> Option<i32> {
    let spec = pod.spec.as_ref()?;
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let mut ports =
        spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let is_it = |port: &k8s_openapi::api::core::v1::ContainerPort| {
        port.name.as_deref() == Some(name) && protocol(port.protocol.as_deref()) == wanted
    };
    ports.find(|port| is_it(port)).map(|port| port.container_port)
}

pub(super) fn protocol(given: Option<&str>) -> &str {
    given.unwrap_or("TCP")
}

/// The name under which a pod of a headless Service can be found alone.
pub(super) fn host_name(service: &Service, pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let ours = spec.subdomain.as_deref() == Some(&*service.name_any());
    spec.hostname.clone().filter(|name| ours && !name.is_empty())
}

/// A pod as something that one can point at.
pub(super) fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: pod.namespace(),
        name: Some(pod.name_any()),
        uid: pod.uid(),
        ..ObjectReference::default()
    }
}

pub(super) fn shows_unready(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.publish_not_ready_addresses).unwrap_or(false)
}

/// The endpoints of one family, those with the same ports together.
pub(super) fn grouped(
    service: &Service,
    pods: &[Arc<Pod>],
    world: &World,
    family: Family,
) -> Result<Groups, NotReady> {
    let nodes = world.cache::<Node>()?;
    let nearness = Nearness::of(service);
    let mut groups: Groups = Vec::new();
    for pod in pods {
        let Some(address) = address(pod, family) else { continue };
        let node = pod.node().and_then(|name| nodes.get(&Key::new("", name)));
        let zone = node.as_deref().and_then(zone).map(str::to_owned);
        let (serving, terminating) = (pod.is_ready(), pod.is_leaving());
        let mut endpoint = Endpoint {
            addresses: vec![address.to_owned()],
            conditions: Some(EndpointConditions {
                ready: Some(shows_unready(service) || (serving && !terminating)),
                serving: Some(serving),
                terminating: Some(terminating),
            }),
            hostname: host_name(service, pod),
            node_name: pod.node().map(str::to_owned),
            target_ref: Some(reference(pod)),
            zone,
            ..Endpoint::default()
        };
        endpoint.hints = nearness.hints(&endpoint);
        let ports: Vec<EndpointPort> = ports(service, pod)
            .into_iter()
            .map(|(port, number)| EndpointPort {
                app_protocol: port.app_protocol,
                name: Some(port.name.unwrap_or_default()),
                port: Some(number),
                protocol: Some(protocol(port.protocol.as_deref()).to_owned()),
            })
            .collect();
        match groups.iter_mut().find(|(known, _)| *known == ports) {
            Some((_, endpoints)) => endpoints.push(endpoint),
            None => groups.push((ports, vec![endpoint])),
        }
    }
    Ok(groups)
}
