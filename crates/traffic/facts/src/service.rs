//! A Service: where it is called and how its traffic is spread.

use std::borrow::Cow;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

use crate::few::Few;
use crate::lenient::{addresses, exact, few, labelled, or_default, rare};

/// Whoever has this label is carried by another.
const CARRIER: &str = "service.kubernetes.io/service-proxy-name";
const HEADLESS: &str = "None";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Service {
    #[serde(deserialize_with = "whose")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "or_default")]
    pub spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    pub status: Status,
}

crate::reads!(Service as k8s_openapi::api::core::v1::Service);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(rename = "type")]
    pub class: Class,
    #[serde(rename = "clusterIP", deserialize_with = "is_none")]
    is_headless: bool,
    #[serde(rename = "clusterIPs", deserialize_with = "few")]
    pub cluster_ips: Few<IpAddr>,
    #[serde(rename = "externalIPs", deserialize_with = "rare")]
    pub external_ips: Box<[IpAddr]>,
    pub external_name: Option<Box<str>>,
    #[serde(deserialize_with = "exact")]
    pub ports: Box<[ServicePort]>,
    #[serde(rename = "sessionAffinity", deserialize_with = "is_by_client")]
    does_stay: bool,
    #[serde(deserialize_with = "or_default")]
    session_affinity_config: AffinityConfig,
    #[serde(rename = "internalTrafficPolicy", deserialize_with = "is_local")]
    is_internal_local: bool,
    #[serde(rename = "externalTrafficPolicy", deserialize_with = "is_local")]
    is_external_local: bool,
    pub health_check_node_port: Option<u16>,
    #[serde(deserialize_with = "or_default")]
    pub publish_not_ready_addresses: bool,
    #[serde(deserialize_with = "exact")]
    pub load_balancer_source_ranges: Box<[Box<str>]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Class {
    #[default]
    #[serde(rename = "ClusterIP")]
    ClusterIp,
    NodePort,
    LoadBalancer,
    ExternalName,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AffinityConfig {
    #[serde(rename = "clientIP", deserialize_with = "or_default")]
    client_ip: ClientIp,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClientIp {
    timeout_seconds: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServicePort {
    #[serde(deserialize_with = "or_default")]
    pub name: Box<str>,
    #[serde(deserialize_with = "or_default")]
    pub protocol: Protocol,
    pub port: u16,
    pub node_port: Option<u16>,
    pub app_protocol: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
pub enum Protocol {
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "UDP")]
    Udp,
    #[serde(rename = "SCTP")]
    Sctp,
}

impl Protocol {
    /// As packets have it.
    pub fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Sctp => 132,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    #[serde(deserialize_with = "or_default")]
    load_balancer: LoadBalancer,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct LoadBalancer {
    #[serde(deserialize_with = "addresses")]
    ingress: Few<IpAddr>,
}

/// Of a Service's labels the one that says who carries it.
fn whose<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    let mut told = labelled(from)?;
    let carrier = told.labels.and_then(|mut labels| labels.remove_entry(CARRIER));
    told.labels = carrier.map(|label| [label].into());
    Ok(told)
}

fn is_none<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    is(from, HEADLESS)
}

fn is_by_client<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    is(from, "ClientIP")
}

fn is_local<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    is(from, "Local")
}

/// Of what may be written there one word counts.
fn is<'de, D: Deserializer<'de>>(from: D, word: &str) -> Result<bool, D::Error> {
    Ok(Option::<Cow<'de, str>>::deserialize(from)?.is_some_and(|told| told == word))
}

impl Service {
    pub fn is_headless(&self) -> bool {
        self.spec.is_headless
    }

    /// For us to carry; another carries it if a label says so.
    pub fn is_ours(&self) -> bool {
        self.metadata.labels.as_ref().is_none_or(|labels| !labels.contains_key(CARRIER))
    }

    /// For how many seconds a client stays with one endpoint.
    pub fn affinity(&self) -> Option<u32> {
        const USUAL: u32 = 10_800;
        let told = self.spec.session_affinity_config.client_ip.timeout_seconds;
        self.spec.does_stay.then(|| told.unwrap_or(USUAL))
    }

    /// Calls from within the cluster stay on their node.
    pub fn is_internal_local(&self) -> bool {
        self.spec.is_internal_local
    }

    /// Calls from outside stay on the node that they come to.
    pub fn is_external_local(&self) -> bool {
        self.spec.is_external_local
    }

    /// Where a balancer of loads takes calls for it.
    pub fn ingress(&self) -> &[IpAddr] {
        &self.status.load_balancer.ingress
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read() {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "type": "LoadBalancer", "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7", "fd00::7"],
                "externalIPs": ["192.0.2.1", "no address"], "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
                "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Cluster", "selector": {"app": "web"},
                "ports": [{"name": "http", "port": 80, "targetPort": "web", "nodePort": 30080, "protocol": "UDP"}],
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9", "ipMode": "VIP"}, {"hostname": "x"}, {"ip": "192.0.2.8", "ipMode": "Proxy"}]}},
        }))
        .unwrap();
        assert_eq!(service.spec.cluster_ips.len(), 2);
        assert_eq!(*service.spec.external_ips, ["192.0.2.1".parse::<IpAddr>().unwrap()]);
        assert_eq!(service.affinity(), Some(60));
        assert!(service.is_external_local() && !service.is_internal_local() && !service.is_headless());
        assert_eq!(service.ingress(), ["192.0.2.9".parse::<IpAddr>().unwrap()]);
        let port = &service.spec.ports[0];
        assert_eq!((port.protocol.number(), port.node_port), (17, Some(30080)));
    }

    #[test]
    fn what_is_not_there() {
        for (case, spec, headless, affinity) in [
            ("nothing", json!({}), false, None),
            ("null", json!(null), false, None),
            ("headless", json!({"clusterIP": "None", "clusterIPs": ["None"], "ports": null}), true, None),
            ("usual affinity", json!({"sessionAffinity": "ClientIP"}), false, Some(10_800)),
        ] {
            let service: Service = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
            assert_eq!((service.is_headless(), service.affinity()), (headless, affinity), "{case}");
            assert!(service.spec.cluster_ips.is_empty(), "{case}");
        }
    }
}
