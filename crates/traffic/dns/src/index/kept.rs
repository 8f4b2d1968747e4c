//! The index as it is written down, so that a node that starts where no API answers knows the names of before. What it does not have may
//! still be there: only a whole reading of the cluster says that something is missing.

use std::net::IpAddr;
use std::sync::Arc;

use kedge_facts::Protocol;
use serde::{Deserialize, Serialize};

use super::entry::{Entry, Host, Meaning, Port};
use super::{Client, Index};
use crate::wire::Name;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RecallError {
    #[error("it cannot be read")]
    Unreadable(#[from] serde_json::Error),
    #[error("it is of the domain {0}")]
    Elsewhere(String),
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    zone: String,
    namespaces: Vec<String>,
    services: Vec<Service>,
    /// Who asks from an address: the namespace and the pod.
    pods: Vec<(IpAddr, String, String)>,
    /// Host names of the gateway.
    hosts: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Service {
    /// `web.default.`
    key: String,
    means: Means,
    ports: Vec<(String, u8, u16)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<Behind>,
}

#[derive(Serialize, Deserialize)]
enum Means {
    #[serde(rename = "at")]
    Addresses(Box<[IpAddr]>),
    #[serde(rename = "hosts")]
    Hosts,
    #[serde(rename = "alias")]
    Alias(String),
}

#[derive(Serialize, Deserialize)]
struct Behind {
    label: String,
    at: IpAddr,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    named: bool,
    ports: Vec<(String, u8, u16)>,
}

impl Index {
    /// In an order of its own, so that equal indexes are equal texts.
    pub(crate) fn text(&self, mut hosts: Vec<String>) -> Result<Vec<u8>, serde_json::Error> {
        let mut namespaces: Vec<String> = self.namespaces.iter().map(Name::to_string).collect();
        let mut services: Vec<Service> = self.services.iter().map(|(key, entry)| kept(key, entry)).collect();
        let pods = self.pods.iter();
        let mut pods: Vec<_> =
            pods.map(|(at, one)| (*at, one.namespace.to_string(), one.pod.to_string())).collect();
        namespaces.sort_unstable();
        services.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        pods.sort_unstable();
        hosts.sort_unstable();
        serde_json::to_vec(&Kept { zone: self.zone.to_string(), namespaces, services, pods, hosts })
    }

    /// Takes in what was known before, and gives the host names of the gateway. Nothing is known to be missing by it.
    pub(crate) fn recall(&mut self, text: &[u8]) -> Result<Vec<String>, RecallError> {
        let kept: Kept = serde_json::from_slice(text)?;
        if kept.zone != self.zone.to_string() {
            return Err(RecallError::Elsewhere(kept.zone));
        }
        self.namespaces.extend(kept.namespaces.iter().filter_map(|name| Name::parse(name)));
        for (address, namespace, pod) in kept.pods {
            if let Some(namespace) = Name::parse(&namespace) {
                self.pods.insert(address, Client { namespace, pod: pod.into() });
            }
        }
        for service in kept.services {
            if let Some(key) = Name::parse(&service.key)
                && let Some(entry) = self.recalled(&key, service)
            {
                self.put(key, entry);
            }
        }
        Ok(kept.hosts)
    }

    fn recalled(&self, key: &Name, service: Service) -> Option<Entry> {
        let name = self.zone.below(&[key.octets(), b"\x03svc"].concat())?;
        let meaning = match service.means {
            Means::Addresses(all) => Meaning::Addresses(all),
            Means::Hosts => Meaning::Hosts,
            Means::Alias(to) => Meaning::Alias(Name::parse(&to)?),
        };
        let hosts = service.hosts.into_iter().filter_map(|host| {
            let Behind { label, at, named, ports } = host;
            let own = name.below(Name::of([label.as_bytes()])?.octets())?;
            let ports: Arc<[Port]> = ports.into_iter().filter_map(port).collect();
            Some(Host { label: label.into_bytes().into(), address: at, name: own, is_named: named, ports })
        });
        let hosts = hosts.collect();
        let ports = service.ports.into_iter().filter_map(port).collect();
        Some(Entry { name, meaning, ports, hosts })
    }
}

fn kept(key: &Name, entry: &Entry) -> Service {
    let means = match &entry.meaning {
        Meaning::Addresses(all) => Means::Addresses(all.clone()),
        Meaning::Hosts => Means::Hosts,
        Meaning::Alias(to) => Means::Alias(to.to_string()),
    };
    let hosts = entry.hosts.iter().map(|host| Behind {
        label: text(&host.label),
        at: host.address,
        named: host.is_named,
        ports: told(&host.ports),
    });
    Service { key: key.to_string(), means, ports: told(&entry.ports), hosts: hosts.collect() }
}

fn told(ports: &[Port]) -> Vec<(String, u8, u16)> {
    ports.iter().map(|port| (text(&port.name), port.protocol.number(), port.number)).collect()
}

fn port((name, protocol, number): (String, u8, u16)) -> Option<Port> {
    let all = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
    let protocol = all.into_iter().find(|known| known.number() == protocol)?;
    Some(Port { name: name.into_bytes().into(), protocol, number })
}

/// Labels of Kubernetes are plain.
fn text(label: &[u8]) -> String {
    String::from_utf8_lossy(label).into_owned()
}
