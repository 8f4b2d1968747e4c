//! Finds what a name of the cluster's zone means, by the Kubernetes DNS specification, version 1.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kedge_facts::Protocol;

use super::entry::{Entry, Host, Meaning, Port};
use super::{Index, TTL};
use crate::wire::{Data, Name, Record, kind};

/// What the specification is that we keep to.
const VERSION: &str = "1.1.0";
/// Shared among the records of one port.
const WEIGHT: u16 = 100;
/// `a.b.c.default.svc`: what has more labels than any name of ours is none.
const DEEPEST: usize = 5;

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Find {
    Records {
        answers: Vec<Record>,
        additional: Vec<Record>,
    },
    /// The name stands for another, whatever is asked of it.
    Alias(Name),
    /// The name is there, what is asked of it is not.
    Empty,
    Missing,
}

impl Find {
    fn of(answers: Vec<Record>) -> Self {
        Self::with(answers, Vec::new())
    }

    fn with(answers: Vec<Record>, additional: Vec<Record>) -> Self {
        if answers.is_empty() { Find::Empty } else { Find::Records { answers, additional } }
    }
}

/// The labels of a part of a name from the right, each with its length's octet, as long as there are few.
pub(crate) fn labels(part: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = part;
    let mut found = Vec::with_capacity(DEEPEST);
    while let Some(&length) = rest.first() {
        let (label, after) = rest.split_at_checked(1 + usize::from(length))?;
        found.push(label);
        rest = after;
    }
    found.reverse();
    Some(found)
}

impl Index {
    /// `name` is in our zone, with these labels before the zone's. `turn` chooses which of several comes first.
    pub(crate) fn find(&self, name: &Name, part: &[u8], asked: u16, turn: u16) -> Find {
        let Some(labels) = labels(part) else { return Find::Missing };
        match labels.as_slice() {
            [] => self.apex(name, asked),
            [b"\x03svc"] | [b"\x03pod"] | [b"\x03dns"] => Find::Empty,
            [b"\x03dns", b"\x02ns"] => Find::of(addresses(name, &self.own, asked, 0)),
            [b"\x0bdns-version"] if asked == kind::TXT => {
                Find::of(vec![Record::new(name, TTL, Data::Txt(VERSION.to_owned()))])
            }
            [b"\x0bdns-version"] => Find::Empty,
            [b"\x03svc" | b"\x03pod", namespace] if self.has_namespace(namespace) => Find::Empty,
            [b"\x03svc", namespace, service, rest @ ..] => {
                // They stand beside each other in the name.
                let key_length = service.len() + namespace.len();
                let end = part.len() - b"\x03svc".len();
                let entry = part.get(end - key_length..end).and_then(|key| self.services.get(key));
                entry.map_or(Find::Missing, |entry| entry.find(name, rest, asked, turn))
            }
            [b"\x03pod", namespace, pod] if self.has_namespace(namespace) => match address_of(pod) {
                Some(address) => Find::of(addresses(name, &[address], asked, 0)),
                None => Find::Missing,
            },
            _ => Find::Missing,
        }
    }

    fn apex(&self, name: &Name, asked: u16) -> Find {
        match asked {
            kind::SOA => Find::of(vec![self.authority()]),
            kind::NS => {
                let Some(server) = self.zone.below(b"\x02ns\x03dns") else { return Find::Empty };
                let additional = self.own.iter().map(|at| Record::address(&server, TTL, *at)).collect();
                Find::with(vec![Record::new(name, TTL, Data::Ns(server))], additional)
            }
            _ => Find::Empty,
        }
    }

    /// Goes with every word that something is not there, and says for how long to believe it.
    pub(crate) fn authority(&self) -> Record {
        let below = |labels: &[u8]| self.zone.below(labels).unwrap_or_else(|| self.zone.clone());
        let data = Data::Soa {
            server: below(b"\x02ns\x03dns"),
            mailbox: below(b"\x0ahostmaster"),
            serial: 1,
            refresh: 7200,
            retry: 1800,
            expire: 86400,
            minimum: TTL,
        };
        Record::new(&self.zone, TTL, data)
    }
}

impl Entry {
    /// `rest` are the labels before the Service's own, from the right.
    pub(crate) fn find(&self, name: &Name, rest: &[&[u8]], asked: u16, turn: u16) -> Find {
        if let Meaning::Alias(to) = &self.meaning {
            return if rest.is_empty() { Find::Alias(to.clone()) } else { Find::Missing };
        }
        match rest {
            [] if asked == kind::SRV => self.service(name, |_| true),
            [] => match &self.meaning {
                Meaning::Addresses(all) => Find::of(addresses(name, all, asked, turn)),
                _ => {
                    let all: Vec<IpAddr> = self.hosts.iter().map(|host| host.address).collect();
                    Find::of(addresses(name, &all, asked, turn))
                }
            },
            [label] => self.host_or_protocol(name, label, asked),
            [protocol, port] => {
                let (Some(protocol), Some(port)) =
                    (protocol_of(protocol), port.get(1..).and_then(|one| one.strip_prefix(b"_")))
                else {
                    return Find::Missing;
                };
                let is_it =
                    |one: &Port| !one.name.is_empty() && *one.name == *port && one.protocol == protocol;
                if !self.has_port(is_it) {
                    return Find::Missing;
                }
                if asked == kind::SRV { self.service(name, is_it) } else { Find::Empty }
            }
            _ => Find::Missing,
        }
    }

    fn host_or_protocol(&self, name: &Name, label: &[u8], asked: u16) -> Find {
        if let Some(protocol) = protocol_of(label) {
            let there = self.has_port(|one| one.protocol == protocol && !one.name.is_empty());
            return if there { Find::Empty } else { Find::Missing };
        }
        let label = label.get(1..).unwrap_or_default();
        let first = self.hosts.partition_point(|host| &*host.label < label);
        let same = self.hosts[first..].iter().take_while(|host| &*host.label == label);
        let found: Vec<&Host> = same.collect();
        match asked {
            _ if found.is_empty() => Find::Missing,
            kind::SRV => targets(name, found.into_iter(), |_| true),
            _ => {
                let all: Vec<IpAddr> = found.iter().map(|host| host.address).collect();
                Find::of(addresses(name, &all, asked, 0))
            }
        }
    }

    fn has_port(&self, is_it: impl Fn(&Port) -> bool) -> bool {
        match self.meaning {
            Meaning::Hosts => {
                self.ports.iter().any(&is_it) || self.hosts.iter().any(|host| host.ports.iter().any(&is_it))
            }
            _ => self.ports.iter().any(is_it),
        }
    }

    /// Where ports are: at the Service's address, or at each of its hosts.
    fn service(&self, name: &Name, is_it: impl Fn(&Port) -> bool) -> Find {
        let Meaning::Addresses(all) = &self.meaning else { return targets(name, self.hosts.iter(), is_it) };
        let ports: Vec<&Port> = self.ports.iter().filter(|port| is_it(port)).collect();
        let weight = WEIGHT / u16::try_from(ports.len()).unwrap_or(WEIGHT).clamp(1, WEIGHT);
        let records = ports.iter().map(|port| srv(name, weight, port.number, &self.name)).collect();
        let additional = all.iter().map(|at| Record::address(&self.name, TTL, *at)).collect();
        Find::with(records, additional)
    }
}

fn targets<'a>(name: &Name, hosts: impl Iterator<Item = &'a Host>, is_it: impl Fn(&Port) -> bool) -> Find {
    let (mut found, mut additional) = (Vec::new(), Vec::new());
    for host in hosts {
        let before = found.len();
        found.extend(host.ports.iter().filter(|port| is_it(port)).map(|port| (host, port.number)));
        if found.len() > before {
            additional.push(Record::address(&host.name, TTL, host.address));
        }
    }
    // A host of two families is one target.
    found.dedup_by(|one, other| one.0.name == other.0.name && one.1 == other.1);
    let weight = WEIGHT / u16::try_from(found.len()).unwrap_or(WEIGHT).clamp(1, WEIGHT);
    Find::with(
        found.into_iter().map(|(host, port)| srv(name, weight, port, &host.name)).collect(),
        additional,
    )
}

fn srv(name: &Name, weight: u16, port: u16, target: &Name) -> Record {
    Record::new(name, TTL, Data::Srv { priority: 0, weight, port, target: target.clone() })
}

/// Those of the family that is asked for. Each client gets another first, so that all are called.
pub(crate) fn addresses(name: &Name, all: &[IpAddr], asked: u16, turn: u16) -> Vec<Record> {
    let wanted = |address: &&IpAddr| match asked {
        kind::A => address.is_ipv4(),
        kind::AAAA => address.is_ipv6(),
        _ => false,
    };
    let mut records: Vec<Record> =
        all.iter().filter(wanted).map(|address| Record::address(name, TTL, *address)).collect();
    if records.len() > 1 {
        let first = usize::from(turn) % records.len();
        records.rotate_left(first);
    }
    records
}

/// A label with its length's octet.
fn protocol_of(label: &[u8]) -> Option<Protocol> {
    match label {
        b"\x04_tcp" => Some(Protocol::Tcp),
        b"\x04_udp" => Some(Protocol::Udp),
        b"\x05_sctp" => Some(Protocol::Sctp),
        _ => None,
    }
}

/// `10-244-0-7` or `fd00--7`, whether a pod has it or not: the name itself says where it leads.
fn address_of(label: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(label.get(1..)?).ok()?;
    let v4 = text.replace('-', ".").parse::<Ipv4Addr>().map(IpAddr::V4);
    v4.or_else(|_| text.replace('-', ":").parse::<Ipv6Addr>().map(IpAddr::V6)).ok()
}
