//! A part of the endpoints of a Service.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

use crate::lenient::{lean, list, or_default};
use crate::service::Protocol;

const SERVICE: &str = "kubernetes.io/service-name";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slice {
    #[serde(deserialize_with = "whose")]
    pub metadata: ObjectMeta,
    /// `IPv4`, `IPv6` or `FQDN`, of which only the first two have addresses.
    #[serde(default)]
    pub address_type: String,
    #[serde(default, deserialize_with = "or_default")]
    pub endpoints: Vec<Endpoint>,
    #[serde(default, deserialize_with = "or_default")]
    pub ports: Vec<SlicePort>,
}

crate::reads!(Slice as k8s_openapi::api::discovery::v1::EndpointSlice);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// All are the same endpoint; usually there is one.
    #[serde(deserialize_with = "list")]
    pub addresses: Vec<IpAddr>,
    #[serde(deserialize_with = "or_default")]
    conditions: Conditions,
    pub node_name: Option<Box<str>>,
    pub hostname: Option<Box<str>>,
    pub zone: Option<Box<str>>,
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
    #[serde(deserialize_with = "or_default")]
    for_zones: Vec<Named>,
    #[serde(deserialize_with = "or_default")]
    for_nodes: Vec<Named>,
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
    pub app_protocol: Option<Box<str>>,
}

/// Of a slice's labels the one that says whose it is.
fn whose<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    lean(from, SERVICE)
}

impl Slice {
    /// The name of the Service whose endpoints these are, in the same namespace.
    pub fn service(&self) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(SERVICE).map(String::as_str)
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
        assert_eq!(slice.ports[0].port, Some(80));
        assert_eq!((slice.ports[1].protocol, slice.ports[1].port), (Protocol::Udp, None));
        assert_eq!(slice.endpoints[0].for_zones().collect::<Vec<_>>(), ["z"]);
    }
}
