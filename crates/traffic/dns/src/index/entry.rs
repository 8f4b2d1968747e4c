//! What one Service means in DNS: an address, several hosts, or another name.

use std::net::IpAddr;
use std::sync::Arc;

use kedge_facts::{Class, Endpoint, Protocol, Service, Slice};
use kube::ResourceExt;

use crate::wire::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `web.default.svc.cluster.local`
    pub(super) name: Name,
    pub(super) meaning: Meaning,
    pub(super) ports: Box<[Port]>,
    /// In order of their labels. A Service with an address has those that a pod's hostname names.
    pub(super) hosts: Box<[Host]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Addresses(Box<[IpAddr]>),
    Hosts,
    Alias(Name),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    /// Without the underscore; empty if it has no name.
    pub(super) name: Box<[u8]>,
    pub(super) protocol: Protocol,
    pub(super) number: u16,
}

/// One address of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// Its hostname, or its address with dashes.
    pub(super) label: Box<[u8]>,
    pub(super) address: IpAddr,
    /// `label.web.default.svc.cluster.local`
    pub(super) name: Name,
    /// The label is a hostname, so that its address leads back to it.
    pub(super) is_named: bool,
    pub(super) ports: Arc<[Port]>,
}

impl Entry {
    pub(super) fn compile(zone: &Name, service: &Service, slices: &[Arc<Slice>]) -> Option<Self> {
        let (namespace, own) = (service.namespace().unwrap_or_default(), service.name_any());
        let name = Name::of([own.as_bytes(), namespace.as_bytes(), b"svc"])?;
        let name = zone.below(name.octets())?;
        let spec = &service.spec;
        let meaning = match spec.class {
            Class::ExternalName => {
                Meaning::Alias(Name::parse(spec.external_name.as_deref()?).filter(|to| !to.is_root())?)
            }
            _ if service.is_headless() => Meaning::Hosts,
            _ => Meaning::Addresses((*spec.cluster_ips).into()),
        };
        let ports = spec.ports.iter().map(|port| Port::new(&port.name, port.protocol, port.port)).collect();
        let mut hosts = Vec::new();
        if !matches!(meaning, Meaning::Alias(_)) {
            let all = matches!(meaning, Meaning::Hosts);
            for slice in slices {
                let known = slice
                    .ports
                    .iter()
                    .filter_map(|port| Some(Port::new(&port.name, port.protocol, port.port?)));
                let ports: Arc<[Port]> = known.collect();
                let published =
                    slice.endpoints.iter().filter(|one| one.is_ready() || spec.publish_not_ready_addresses);
                for endpoint in published.filter(|one| all || one.hostname.is_some()) {
                    hosts.extend(
                        endpoint.addresses.iter().filter_map(|&at| Host::new(&name, endpoint, at, &ports)),
                    );
                }
            }
        }
        // The same endpoint may be in two slices while it moves from one to the other.
        hosts.sort_by(|one, other| (&one.label, one.address).cmp(&(&other.label, other.address)));
        hosts.dedup_by(|one, other| one.label == other.label && one.address == other.address);
        Some(Self { name, meaning, ports, hosts: hosts.into() })
    }

    /// Which addresses lead back to which names.
    pub(super) fn reverse(&self) -> impl Iterator<Item = (IpAddr, Name)> + use<> {
        let own = match &self.meaning {
            Meaning::Addresses(addresses) => addresses.iter().map(|at| (*at, self.name.clone())).collect(),
            Meaning::Hosts | Meaning::Alias(_) => Vec::new(),
        };
        let named = self.hosts.iter().filter(|host| host.is_named);
        let hosts: Vec<_> = named.map(|host| (host.address, host.name.clone())).collect();
        own.into_iter().chain(hosts)
    }

    /// Where it is called, if it has an address of its own.
    pub(crate) fn addresses(&self) -> &[IpAddr] {
        match &self.meaning {
            Meaning::Addresses(addresses) => addresses,
            Meaning::Hosts | Meaning::Alias(_) => &[],
        }
    }

    pub(crate) fn is_headless(&self) -> bool {
        matches!(self.meaning, Meaning::Hosts)
    }
}

/// Whether a slice matters to a Service that has an address of its own.
pub(crate) fn has_hostnames(slice: &Slice) -> bool {
    slice.endpoints.iter().any(|endpoint| endpoint.hostname.is_some())
}

impl Port {
    fn new(name: &str, protocol: Protocol, number: u16) -> Self {
        Self { name: name.to_ascii_lowercase().into_bytes().into(), protocol, number }
    }
}

impl Host {
    fn new(service: &Name, endpoint: &Endpoint, address: IpAddr, ports: &Arc<[Port]>) -> Option<Self> {
        let label: Box<[u8]> = match &endpoint.hostname {
            Some(hostname) => hostname.to_ascii_lowercase().into_bytes().into(),
            None => address.to_string().replace(['.', ':'], "-").into_bytes().into(),
        };
        let name = service.below(Name::of([&*label])?.octets())?;
        Some(Self { label, address, name, is_named: endpoint.hostname.is_some(), ports: ports.clone() })
    }
}
