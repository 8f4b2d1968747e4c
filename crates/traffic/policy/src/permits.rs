//! What the policies of a namespace let one pod do, taken together. Knows the pod that it is about, and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kedge_facts::Protocol;

use crate::meaning::{Allowed, Door, Peer, Pods, Policy};
use crate::people::Person;
use crate::spans::{Span, united_ports};
use crate::wanted::{Direction, Ports};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permit {
    pub(crate) who: Who,
    pub(crate) way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    Anybody,
    Pods(Pods),
    Blocks(Vec<Span>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    All,
    Numbers(Vec<Ports>),
    /// Only for who goes out: the pod that it belongs to is any of the others.
    Named(Protocol, String),
}

/// None for a pod that nobody isolates, or that somebody allows everything.
pub(crate) fn permits(
    policies: &[Arc<Policy>],
    person: &Person,
    direction: Direction,
) -> Option<BTreeSet<Permit>> {
    let selecting = policies.iter().filter(|policy| policy.pods.matches(person.labels()));
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

fn permits_of(rule: &Allowed, person: &Person, direction: Direction) -> Vec<Permit> {
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
fn ways(rule: &Allowed, person: &Person, direction: Direction) -> Vec<Way> {
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
