//! What a record is about, and what is said when it is wrong. Writes nothing.

use std::net::IpAddr;

use kedge_store::Draft;
use serde_json::{Value, json};

use super::super::{ADDRESSES, Allocator, PORTS, address_record, port_record};
use crate::object;

/// What a record is about.
pub(super) enum What {
    Address(IpAddr),
    Port(u16),
    Nothing,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Port(port) => write!(f, "{port}"),
            Self::Nothing => Ok(()),
        }
    }
}

impl What {
    pub(super) fn of(record: &str) -> Self {
        let address = record.strip_prefix(ADDRESSES).and_then(|text| text.parse().ok()).map(Self::Address);
        let port = || record.strip_prefix(PORTS).and_then(|text| text.parse().ok()).map(Self::Port);
        address.or_else(port).unwrap_or(Self::Nothing)
    }

    pub(super) fn draft(&self, service: &Value) -> Draft {
        match self {
            Self::Address(address) => address_record(*address, service),
            _ => port_record(service),
        }
    }

    pub(super) fn component(&self) -> &'static str {
        match self {
            Self::Address(_) => "ipallocator-repair-controller",
            _ => "portallocator-repair-controller",
        }
    }

    fn family(&self) -> &'static str {
        match self {
            Self::Address(IpAddr::V6(_)) => "IPv6",
            _ => "IPv4",
        }
    }

    /// The object that an event about an address is about. Ports are no objects.
    pub(super) fn address(&self) -> Value {
        match self {
            Self::Address(address) => json!({
                "kind": "IPAddress", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": address.to_string()},
            }),
            _ => Value::Null,
        }
    }

    pub(super) fn unrecorded(&self, wrongly: bool, service: &Value) -> (&'static str, String) {
        let family = self.family();
        match self {
            Self::Address(_) if wrongly => {
                let (namespace, name) =
                    (object::meta_text(service, "namespace"), object::meta_text(service, "name"));
                let message = format!(
                    "the ClusterIP [{family}]: {self} for Service {namespace}/{name} has a wrong reference; repairing"
                );
                ("ClusterIPNotAllocated", message)
            }
            Self::Address(_) => (
                "ClusterIPNotAllocated",
                format!("Cluster IP [{family}]: {self} is not allocated; repairing"),
            ),
            _ => ("PortNotAllocated", format!("Port {self} is not allocated; repairing")),
        }
    }

    pub(super) fn double(&self) -> (&'static str, String) {
        match self {
            Self::Address(_) => {
                let family = self.family();
                let message = format!(
                    "Cluster IP [{family}]:{self} was assigned to multiple services; please recreate service"
                );
                ("ClusterIPAlreadyAllocated", message)
            }
            _ => {
                let message =
                    format!("Port {self} was assigned to multiple services; please recreate service");
                ("PortAlreadyAllocated", message)
            }
        }
    }

    pub(super) fn outside(&self, allocator: &Allocator) -> (&'static str, String) {
        match self {
            Self::Address(_) => {
                let family = self.family();
                let message = format!(
                    "Cluster IP [{family}]: {self} is not within any configured Service CIDR; please recreate service"
                );
                ("ClusterIPOutOfRange", message)
            }
            _ => {
                let (low, high) = (allocator.node_ports.start(), allocator.node_ports.end());
                let message =
                    format!("Port {self} is not within the port range {low}-{high}; please recreate service");
                ("PortOutOfRange", message)
            }
        }
    }
}
