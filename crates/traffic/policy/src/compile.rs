//! From policies, pods and namespaces to what the kernel is to know. Decides and does nothing else.
//!
//! A pod is isolated in a direction by any policy that selects it and speaks of that direction; what any of them allows is allowed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kedge_facts::{Namespace, Pod, Protocol};
use kedge_netlink::nft::Family;

use crate::meaning::{Allowed, Door, Peer, Pods, Policy};
use crate::people::{People, Person};
use crate::places::Places;
use crate::spans::{Span, family, united, united_ports};
use crate::wanted::{Chain, Direction, Doors, Element, Line, Name, Peers, Ports, Set, Shape, Wanted};

/// What a node is to enforce for its own pods. `places` knows addresses that the API does not show yet.
pub fn compile(
    policies: &[Arc<NetworkPolicy>],
    pods: &[Arc<Pod>],
    namespaces: &[Arc<Namespace>],
    places: &Places,
    node: &str,
) -> Wanted {
    let mut wanted = Wanted::default();
    let mut meant: HashMap<String, Vec<Policy>> = HashMap::new();
    for policy in policies.iter().filter_map(|policy| Policy::of(policy)) {
        meant.entry(policy.namespace.clone()).or_default().push(policy);
    }
    if meant.is_empty() {
        return wanted;
    }
    let people = People::new(pods, namespaces, places);
    for person in people.on(node) {
        let policies = meant.get(person.namespace).map(Vec::as_slice).unwrap_or_default();
        for direction in [Direction::In, Direction::Out] {
            let Some(permits) = permits(policies, person, direction) else { continue };
            for address in &person.addresses {
                let chain = chain(&permits, direction, family(*address), &people, &mut wanted.sets);
                let kind = match (direction, chain.family) {
                    (Direction::In, Family::V4) => "in4",
                    (Direction::In, Family::V6) => "in6",
                    (Direction::Out, Family::V4) => "out4",
                    (Direction::Out, Family::V6) => "out6",
                };
                let name = Name::of(kind, &chain.lines);
                wanted.isolated.insert((direction, *address), name.clone());
                wanted.chains.entry(name).or_insert(chain);
            }
        }
    }
    wanted
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permit {
    who: Who,
    way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Anybody,
    Pods(Pods),
    Blocks(Vec<Span>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    All,
    Numbers(Vec<Ports>),
    /// Only for who goes out: the pod that it belongs to is any of the others.
    Named(Protocol, String),
}

/// None for a pod that nobody isolates, or that somebody allows everything.
fn permits(policies: &[Policy], person: &Person<'_>, direction: Direction) -> Option<BTreeSet<Permit>> {
    let selecting = policies.iter().filter(|policy| policy.pods.matches(person.labels));
    let mut speaking = selecting.filter_map(|policy| match direction {
        Direction::In => policy.ingress.as_ref(),
        Direction::Out => policy.egress.as_ref(),
    });
    let first = speaking.next()?;
    let rules = first.iter().chain(speaking.flatten());
    let permits: BTreeSet<Permit> = rules.flat_map(|rule| permits_of(rule, person, direction)).collect();
    let everything = Permit { who: Who::Anybody, way: Way::All };
    (!permits.contains(&everything)).then_some(permits)
}

fn permits_of(rule: &Allowed, person: &Person<'_>, direction: Direction) -> Vec<Permit> {
    let ways = ways(rule, person, direction);
    let mut permits = Vec::new();
    for who in whos(rule) {
        permits.extend(ways.iter().map(|way| Permit { who: who.clone(), way: way.clone() }));
    }
    permits
}

fn whos(rule: &Allowed) -> Vec<Who> {
    let Some(peers) = &rule.peers else { return vec![Who::Anybody] };
    let mut blocks = Vec::new();
    let mut whos = Vec::new();
    for peer in peers {
        match peer {
            Peer::Block(spans) => blocks.extend(spans),
            Peer::Pods(pods) => whos.push(Who::Pods(pods.clone())),
        }
    }
    if !blocks.is_empty() {
        blocks.sort_unstable();
        whos.push(Who::Blocks(blocks));
    }
    whos
}

/// A door of which the pod has none by that name is no way in.
fn ways(rule: &Allowed, person: &Person<'_>, direction: Direction) -> Vec<Way> {
    let Some(doors) = &rule.doors else { return vec![Way::All] };
    let mut numbers: BTreeMap<Protocol, Vec<(u16, u16)>> = BTreeMap::new();
    let mut ways = Vec::new();
    for door in doors {
        match door {
            Door::Numbers(protocol, first, last) => {
                numbers.entry(*protocol).or_default().push((*first, *last));
            }
            Door::Named(protocol, name) if direction == Direction::In => {
                if let Some(port) = person.pod.port(name, *protocol) {
                    numbers.entry(*protocol).or_default().push((port, port));
                }
            }
            Door::Named(protocol, name) => ways.push(Way::Named(*protocol, name.clone())),
        }
    }
    let numbers: Vec<Ports> = numbers
        .into_iter()
        .flat_map(|(protocol, spans)| {
            united_ports(spans).into_iter().map(move |(first, last)| Ports { protocol, first, last })
        })
        .collect();
    if !numbers.is_empty() {
        ways.push(Way::Numbers(numbers));
    }
    ways
}

fn chain(
    permits: &BTreeSet<Permit>,
    direction: Direction,
    family: Family,
    people: &People<'_>,
    sets: &mut BTreeMap<Name, Set>,
) -> Chain {
    let lines = permits.iter().filter_map(|permit| line(permit, family, people, sets)).collect();
    Chain { direction, family, lines }
}

/// None if nobody of this family is meant.
fn line(
    permit: &Permit,
    family: Family,
    people: &People<'_>,
    sets: &mut BTreeMap<Name, Set>,
) -> Option<Line> {
    if let Way::Named(protocol, name) = &permit.way {
        let set = pairs(&permit.who, *protocol, name, family, people, sets);
        return Some(Line::Pair { set, protocol: *protocol });
    }
    let who = match &permit.who {
        Who::Anybody => Peers::Anybody,
        Who::Pods(pods) => Peers::Addresses(addresses(pods, family, people, sets)),
        Who::Blocks(blocks) => {
            let spans = united(blocks, family);
            match spans.first()? {
                all if all.is_everything() => Peers::Anybody,
                _ => Peers::Spans(spans_of(spans, family, sets)),
            }
        }
    };
    let doors = match &permit.way {
        Way::Numbers(ports) => doors(ports, sets),
        Way::All | Way::Named(..) => Doors::All,
    };
    Some(Line::Peers { who, doors })
}

fn addresses(pods: &Pods, family: Family, people: &People<'_>, sets: &mut BTreeMap<Name, Set>) -> Name {
    let name = Name::of(if family == Family::V4 { "pods4" } else { "pods6" }, pods);
    sets.entry(name.clone()).or_insert_with(|| Set {
        shape: Shape::Addresses(family),
        elements: people
            .selected(pods)
            .flat_map(|person| person.in_family(family))
            .map(Element::Address)
            .collect(),
    });
    name
}

fn pairs(
    who: &Who,
    protocol: Protocol,
    port: &str,
    family: Family,
    people: &People<'_>,
    sets: &mut BTreeMap<Name, Set>,
) -> Name {
    let name = Name::of(if family == Family::V4 { "doors4" } else { "doors6" }, &(who, protocol, port));
    sets.entry(name.clone()).or_insert_with(|| {
        let of = |person: &Person<'_>| -> Vec<Element> {
            let number = person.pod.port(port, protocol);
            let addresses = person.in_family(family).filter(|address| match who {
                Who::Blocks(spans) => spans.iter().any(|span| span.contains(*address)),
                Who::Anybody | Who::Pods(_) => true,
            });
            addresses.filter_map(|address| Some(Element::Pair(address, number?))).collect()
        };
        let elements = match who {
            Who::Pods(pods) => people.selected(pods).flat_map(of).collect(),
            Who::Anybody | Who::Blocks(_) => people.all().flat_map(of).collect(),
        };
        Set { shape: Shape::Pairs(family), elements }
    });
    name
}

fn spans_of(spans: Vec<Span>, family: Family, sets: &mut BTreeMap<Name, Set>) -> Name {
    let name = Name::of(if family == Family::V4 { "nets4" } else { "nets6" }, &spans);
    let elements = spans.into_iter().map(Element::Span).collect();
    sets.entry(name.clone()).or_insert(Set { shape: Shape::Spans(family), elements });
    name
}

fn doors(ports: &[Ports], sets: &mut BTreeMap<Name, Set>) -> Doors {
    if let [one] = ports {
        return Doors::Span(*one);
    }
    let name = Name::of("ports", &ports);
    let elements = ports.iter().copied().map(Element::Ports).collect();
    sets.entry(name.clone()).or_insert(Set { shape: Shape::Ports, elements });
    Doors::Set(name)
}

#[cfg(test)]
mod tests;
