//! What a set is made of, so that it can be filled again once somebody in it has moved.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kedge_facts::Protocol;
use kedge_netlink::nft::Family;

use crate::meaning::Pods;
use crate::people::{Moved, People, Person};
use crate::permits::Who;
use crate::spans::Span;
use crate::wanted::{Element, Name, Ports, Set, Shape};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// Addresses of pods.
    Pods(Pods, Family),
    /// Addresses of pods, each with the port of a name.
    Doors {
        who: Who,
        protocol: Protocol,
        port: String,
        family: Family,
    },
    Spans(Vec<Span>, Family),
    Ports(Vec<Ports>),
}

impl Source {
    /// The same whoever is in it.
    pub(crate) fn name(&self) -> Name {
        match self {
            Source::Pods(pods, family) => Name::of(in_family(["pods4", "pods6"], *family), pods),
            Source::Doors { who, protocol, port, family } => {
                Name::of(in_family(["doors4", "doors6"], *family), &(who, protocol, port))
            }
            Source::Spans(spans, family) => Name::of(in_family(["nets4", "nets6"], *family), spans),
            Source::Ports(ports) => Name::of("ports", ports),
        }
    }

    /// Whether it may hold others than before those moved.
    pub(crate) fn is_touched(&self, moved: &Moved, people: &People) -> bool {
        match self {
            Source::Pods(pods, _) | Source::Doors { who: Who::Pods(pods), .. } => {
                moved.concerns(pods, people)
            }
            Source::Doors { who: Who::Anybody | Who::Blocks(_), .. } => moved.is_anybody(),
            Source::Spans(..) | Source::Ports(_) => false,
        }
    }

    pub(crate) fn filled(&self, people: &People) -> Set {
        match self {
            Source::Pods(pods, family) => {
                let addresses = people.selected(pods).flat_map(|person| person.in_family(*family));
                Set { shape: Shape::Addresses(*family), elements: addresses.map(Element::Address).collect() }
            }
            Source::Doors { who, protocol, port, family } => {
                Set { shape: Shape::Pairs(*family), elements: pairs(who, *protocol, port, *family, people) }
            }
            Source::Spans(spans, family) => {
                let elements = spans.iter().copied().map(Element::Span).collect();
                Set { shape: Shape::Spans(*family), elements }
            }
            Source::Ports(ports) => {
                Set { shape: Shape::Ports, elements: ports.iter().copied().map(Element::Ports).collect() }
            }
        }
    }
}

fn pairs(who: &Who, protocol: Protocol, port: &str, family: Family, people: &People) -> BTreeSet<Element> {
    let is_meant = |address: &IpAddr| match who {
        Who::Blocks(spans) => spans.iter().any(|span| span.contains(*address)),
        Who::Anybody | Who::Pods(_) => true,
    };
    let of = |person: &Person| -> Vec<Element> {
        let Some(number) = person.pod.port(port, protocol) else { return Vec::new() };
        person.in_family(family).filter(is_meant).map(|address| Element::Pair(address, number)).collect()
    };
    match who {
        Who::Pods(pods) => people.selected(pods).flat_map(|person| of(person)).collect(),
        Who::Anybody | Who::Blocks(_) => people.all().flat_map(|person| of(person)).collect(),
    }
}

fn in_family([v4, v6]: [&'static str; 2], family: Family) -> &'static str {
    if family == Family::V4 { v4 } else { v6 }
}
