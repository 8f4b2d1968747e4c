//! A part of the endpoints of a Service.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::world::{Listeners, Shelf};
use kedge_client::{JsonError, Watched};
use serde::Deserialize;

use crate::few::Few;
use crate::lenient::{exact, few, labelled, or_default};
use crate::service::Protocol;

const SERVICE: &str = "kubernetes.io/service-name";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Told")]
pub struct Slice {
    /// Without labels: the one that counts is `service`.
    pub metadata: ObjectMeta,
    service: Option<Box<str>>,
    /// `IPv4`, `IPv6` or `FQDN`, of which only the first two have addresses.
    pub address_type: Box<str>,
    pub endpoints: Box<[Endpoint]>,
    pub ports: Box<[SlicePort]>,
}

crate::stands!(Slice as k8s_openapi::api::discovery::v1::EndpointSlice);

impl Watched for Slice {
    fn read(json: &[u8]) -> Result<Self, JsonError> {
        kedge_client::read(json)
    }

    fn found_by(&self) -> impl Iterator<Item = (&str, &str)> {
        self.service.iter().map(|service| (SERVICE, &**service))
    }

    fn shelf(listeners: &Arc<Listeners>) -> Shelf {
        Shelf::of::<Self>(listeners)
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(deserialize_with = "labelled")]
    metadata: ObjectMeta,
    #[serde(default)]
    address_type: Box<str>,
    #[serde(default, deserialize_with = "exact")]
    endpoints: Box<[Endpoint]>,
    #[serde(default, deserialize_with = "exact")]
    ports: Box<[SlicePort]>,
}

impl From<Told> for Slice {
    fn from(told: Told) -> Self {
        let Told { mut metadata, address_type, endpoints, ports } = told;
        let service = metadata.labels.take().and_then(|mut labels| labels.remove(SERVICE));
        Self { metadata, service: service.map(String::into_boxed_str), address_type, endpoints, ports }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// All are the same endpoint.
    #[serde(deserialize_with = "few")]
    pub addresses: Few<IpAddr>,
    #[serde(deserialize_with = "or_default")]
    conditions: Conditions,
    pub node_name: Option<Box<str>>,
    pub hostname: Option<Box<str>>,
    /// Few have any.
    hints: Option<Box<Hints>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Conditions {
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hints {
    #[serde(deserialize_with = "exact")]
    for_zones: Box<[Named]>,
    #[serde(deserialize_with = "exact")]
    for_nodes: Box<[Named]>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Named {
    name: Box<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SlicePort {
    #[serde(deserialize_with = "or_default")]
    pub name: Box<str>,
    #[serde(deserialize_with = "or_default")]
    pub protocol: Protocol,
    /// None means every port.
    pub port: Option<u16>,
}

impl Slice {
    /// The name of the Service whose endpoints these are, in the same namespace.
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }
}

impl Endpoint {
    /// Takes new calls.
    pub fn is_ready(&self) -> bool {
        self.conditions.ready.unwrap_or(true)
    }

    /// Answers, though it may be about to end.
    pub fn is_serving(&self) -> bool {
        self.conditions.serving.unwrap_or_else(|| self.is_ready())
    }

    pub fn is_terminating(&self) -> bool {
        self.conditions.terminating.unwrap_or(false)
    }

    /// For which zones it is meant; for all if there are none.
    pub fn for_zones(&self) -> impl Iterator<Item = &str> {
        self.hints.iter().flat_map(|hints| &hints.for_zones).map(|zone| &*zone.name)
    }

    pub fn for_nodes(&self) -> impl Iterator<Item = &str> {
        self.hints.iter().flat_map(|hints| &hints.for_nodes).map(|node| &*node.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_conditions_mean() {
        for (case, conditions, expected) in [
            ("nothing said", json!(null), (true, true, false)),
            ("ready", json!({"ready": true, "serving": true, "terminating": false}), (true, true, false)),
            ("unready", json!({"ready": false}), (false, false, false)),
            (
                "about to end",
                json!({"ready": false, "serving": true, "terminating": true}),
                (false, true, true),
            ),
        ] {
            let endpoint: Endpoint =
                serde_json::from_value(json!({"addresses": ["10.0.0.1"], "conditions": conditions})).unwrap();
            let read = (endpoint.is_ready(), endpoint.is_serving(), endpoint.is_terminating());
            assert_eq!(read, expected, "{case}");
        }
    }

    #[test]
    fn a_slice_names_its_service() {
        let slice: Slice = serde_json::from_value(json!({
            "metadata": {"labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4", "ports": [{"port": 80}, {"name": "dns", "protocol": "UDP", "port": null}],
            "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "a", "hints": {"forZones": [{"name": "z"}]}}],
        }))
        .unwrap();
        assert_eq!(slice.service(), Some("web"));
        assert_eq!(slice.found_by().collect::<Vec<_>>(), [(SERVICE, "web")]);
        assert_eq!(slice.metadata.labels, None, "a map of one weighs as much as one of ten");
        assert_eq!(slice.ports[0].port, Some(80));
        assert_eq!((slice.ports[1].protocol, slice.ports[1].port), (Protocol::Udp, None));
        assert_eq!(slice.endpoints[0].for_zones().collect::<Vec<_>>(), ["z"]);
    }
}
