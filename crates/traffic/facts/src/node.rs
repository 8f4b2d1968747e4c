//! A node: where it is reached, and which addresses its pods have.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::lenient::or_default;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Node {
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

crate::reads!(Node as k8s_openapi::api::core::v1::Node);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "podCIDR")]
    pod_cidr: Option<String>,
    #[serde(rename = "podCIDRs", deserialize_with = "or_default")]
    pod_cidrs: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "or_default")]
    addresses: Vec<Address>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Address {
    #[serde(rename = "type")]
    class: Box<str>,
    address: Box<str>,
}

impl Node {
    /// The ranges of its pods' addresses, as they are written: one for each family.
    pub fn pod_ranges(&self) -> impl Iterator<Item = &str> {
        let many = &self.spec.pod_cidrs;
        let one = self.spec.pod_cidr.iter().filter(|_| many.is_empty());
        many.iter().chain(one).map(String::as_str)
    }

    /// Where others of the cluster reach it.
    pub fn internal(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses("InternalIP")
    }

    pub fn external(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses("ExternalIP")
    }

    fn addresses(&self, class: &'static str) -> impl Iterator<Item = IpAddr> {
        let all = self.status.addresses.iter().filter(move |address| &*address.class == class);
        all.filter_map(|address| address.address.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "n"},
            "spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24", "fd00::/64"]},
            "status": {"addresses": [
                {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "n"},
                {"type": "InternalIP", "address": "odd"}, {"type": "ExternalIP", "address": "198.51.100.1"},
            ]},
        }))
        .unwrap();
        assert_eq!(node.pod_ranges().collect::<Vec<_>>(), ["10.244.0.0/24", "fd00::/64"]);
        assert_eq!(node.internal().map(|address| address.to_string()).collect::<Vec<_>>(), ["192.0.2.1"]);
        assert_eq!(node.external().count(), 1);
        let old: Node =
            serde_json::from_value(json!({"metadata": {}, "spec": {"podCIDR": "10.0.0.0/24"}})).unwrap();
        assert_eq!(old.pod_ranges().collect::<Vec<_>>(), ["10.0.0.0/24"]);
    }
}
