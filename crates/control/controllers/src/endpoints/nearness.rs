//! For whom each endpoint is meant, as a Service's `trafficDistribution` asks: for its own zone, and where it says so for its own node.
//! What is done with such hints is up to those who carry traffic; an endpoint without one makes them ignore all.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, ForNode, ForZone};
use kube::ResourceExt;

/// Older ways of asking for endpoints of the same zone. Who uses them gets no hints by the field.
const ANNOTATIONS: [&str; 2] =
    ["service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearness {
    /// Every endpoint is for everybody.
    None,
    Zone,
    /// And the zone, for nodes that have no endpoint.
    Node,
}

impl Nearness {
    pub(super) fn of(service: &Service) -> Self {
        let told = ANNOTATIONS.iter().find_map(|name| service.annotations().get(*name));
        if told.is_some_and(|told| told == "Auto" || told == "auto") {
            return Self::None;
        }
        match service.spec.as_ref().and_then(|spec| spec.traffic_distribution.as_deref()) {
            Some("PreferClose" | "PreferSameZone") => Self::Zone,
            Some("PreferSameNode") => Self::Node,
            _ => Self::None,
        }
    }

    /// Only those that take new calls have hints.
    pub(super) fn hints(self, endpoint: &Endpoint) -> Option<EndpointHints> {
        let is_ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true);
        if self == Self::None || !is_ready {
            return None;
        }
        let for_zones = endpoint.zone.clone().map(|name| vec![ForZone { name }]);
        let node = endpoint.node_name.clone().filter(|_| self == Self::Node);
        let for_nodes = node.map(|name| vec![ForNode { name }]);
        (for_zones.is_some() || for_nodes.is_some()).then_some(EndpointHints { for_nodes, for_zones })
    }
}
