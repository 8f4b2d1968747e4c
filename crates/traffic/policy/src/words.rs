//! The kernel's words for chains, lines and sets. Every packet that is passed on meets `through`:
//!
//! ```text
//! through   what belongs to a flow that was let through, goes on; so does who talks to himself
//!           then `out`, which knows the chains of those that it may come from, and `in`, of those that it may go to
//! ```
//! Both look an address up once, however many pods and policies there are. A chain gives the packet back if one of its lines lets it
//! through, and drops it at its end. Between a node and its own pods no packet is passed on, so they always reach each other.

use std::net::IpAddr;

use kedge_netlink::nft::{self, Column, Family, Register, Rule, Value};

use crate::kernel::Program;
use crate::spans::family;
use crate::wanted::{Chain, Direction, Doors, Element, Line, Name, Peers, Ports, Shape, Wanted};

/// Where others expect filters: targets are the real ones already, sources still are.
pub(crate) const PRIORITY: i32 = 0;
const ENTRY: &str = "through";
const IN: &str = "in";
const OUT: &str = "out";
const ANY_PROTOCOL: (u8, u8) = (0, u8::MAX);

pub(crate) fn program(wanted: &Wanted) -> Program {
    let mut program = Program::default();
    for family in [Family::V4, Family::V6] {
        let own = nft::Set::of(own_set(family), &[column(family), column(family)]);
        program.sets.insert(own.name.clone(), (own, Default::default()));
        for direction in [Direction::In, Direction::Out] {
            let map = nft::Set::of(map(direction, family), &[column(family)]).to_verdicts();
            program.sets.insert(map.name.clone(), (map, Default::default()));
        }
    }
    for (name, set) in &wanted.sets {
        let elements = set.elements.iter().map(element).collect();
        program.sets.insert(name.to_string(), (self::set(name, set.shape), elements));
    }
    for ((direction, address), chain) in &wanted.isolated {
        for (set, element) in [own(*address), isolated(*direction, *address, Some(chain))] {
            if let Some((_, elements)) = program.sets.get_mut(set) {
                elements.insert(element);
            }
        }
    }
    program.chains.extend(wanted.chains.iter().map(|(name, chain)| (name.to_string(), rules(chain))));
    for (name, direction) in [(IN, Direction::In), (OUT, Direction::Out)] {
        let by_family = [Family::V4, Family::V6].map(|family| {
            let rule = keep_pod(Rule::new().family(family), direction, family);
            rule.decided_by(map(direction, family), Register(0))
        });
        program.chains.push((name.to_owned(), by_family.into()));
    }
    let mut entry = vec![Rule::new().goes_on().accept()];
    for family in [Family::V4, Family::V6] {
        let both = Rule::new().family(family).keep_source(family, Register(0));
        let both = both.keep_target(family, Register(words(family)));
        entry.push(both.known_to(own_set(family), Register(0)).accept());
    }
    entry.extend([OUT, IN].map(|chain| Rule::new().jump(chain)));
    program.entry = (ENTRY.to_owned(), entry);
    program
}

/// A chain knows of which family its packets are.
pub(crate) fn rules(chain: &Chain) -> Vec<Rule> {
    let (family, after) = (chain.family, Register(words(chain.family)));
    let lines = chain.lines.iter().map(|line| match line {
        Line::Peers { who, doors } => {
            let rule = by(Rule::new(), doors);
            let rule = match who {
                Peers::Anybody => rule,
                Peers::Addresses(set) => {
                    keep_peer(rule, chain.direction, family).known_to(set.as_str(), Register(0))
                }
                // Spans have a second column, as the kernel knows ranges only of keys with more than one.
                Peers::Spans(set) => {
                    let rule = keep_peer(rule, chain.direction, family).keep_protocol(after);
                    rule.known_to(set.as_str(), Register(0))
                }
            };
            rule.give_back()
        }
        Line::Pair { set, protocol } => {
            let rule = keep_peer(Rule::new().protocol(protocol.number()), chain.direction, family);
            rule.keep_target_port(after).known_to(set.as_str(), Register(0)).give_back()
        }
    });
    lines.chain([Rule::new().drop()]).collect()
}

fn by(rule: Rule, doors: &Doors) -> Rule {
    match doors {
        Doors::All => rule,
        Doors::Span(Ports { protocol, first: 0, last: u16::MAX }) => rule.protocol(protocol.number()),
        Doors::Span(Ports { protocol, first, last }) => {
            rule.protocol(protocol.number()).target_port_from(*first, *last)
        }
        Doors::Set(set) => {
            rule.keep_protocol(Register(0)).keep_target_port(Register(1)).known_to(set.as_str(), Register(0))
        }
    }
}

/// The address of who comes to the pod, or whom it goes to.
fn keep_peer(rule: Rule, direction: Direction, family: Family) -> Rule {
    match direction {
        Direction::In => rule.keep_source(family, Register(0)),
        Direction::Out => rule.keep_target(family, Register(0)),
    }
}

/// The pod's own address.
fn keep_pod(rule: Rule, direction: Direction, family: Family) -> Rule {
    match direction {
        Direction::In => rule.keep_target(family, Register(0)),
        Direction::Out => rule.keep_source(family, Register(0)),
    }
}

pub(crate) fn set(name: &Name, shape: Shape) -> nft::Set {
    match shape {
        Shape::Addresses(family) => nft::Set::of(name.as_str(), &[column(family)]),
        Shape::Pairs(family) => nft::Set::of(name.as_str(), &[column(family), Column::Port]),
        Shape::Spans(family) => {
            nft::Set::of(name.as_str(), &[column(family), Column::Protocol]).with_ranges()
        }
        Shape::Ports => nft::Set::of(name.as_str(), &[Column::Protocol, Column::Port]).with_ranges(),
    }
}

pub(crate) fn element(element: &Element) -> nft::Element {
    let key = |parts: &[Vec<u8>]| parts.concat().into_boxed_slice();
    let (key, last) = match element {
        Element::Address(address) => (key(&[octets(*address)]), None),
        Element::Pair(address, port) => (key(&[octets(*address), port_word(*port)]), None),
        Element::Span(span) => {
            let (first, last) = ANY_PROTOCOL;
            (
                key(&[octets(span.first), protocol_word(first)]),
                Some(key(&[octets(span.last), protocol_word(last)])),
            )
        }
        Element::Ports(ports) => {
            let protocol = || protocol_word(ports.protocol.number());
            (key(&[protocol(), port_word(ports.first)]), Some(key(&[protocol(), port_word(ports.last)])))
        }
    };
    nft::Element { key, last, value: Value::None }
}

/// Who is isolated, as a pair of its address with itself.
pub(crate) fn own(address: IpAddr) -> (&'static str, nft::Element) {
    let key = [octets(address), octets(address)].concat().into();
    (own_set(family(address)), nft::Element { key, last: None, value: Value::None })
}

/// An address and the chain that judges its packets.
pub(crate) fn isolated(
    direction: Direction,
    address: IpAddr,
    chain: Option<&Name>,
) -> (&'static str, nft::Element) {
    let value = chain.map_or(Value::None, |chain| Value::Goto(chain.as_str().into()));
    (map(direction, family(address)), nft::Element { key: octets(address).into(), last: None, value })
}

fn map(direction: Direction, family: Family) -> &'static str {
    match (direction, family) {
        (Direction::In, Family::V4) => "into4",
        (Direction::In, Family::V6) => "into6",
        (Direction::Out, Family::V4) => "from4",
        (Direction::Out, Family::V6) => "from6",
    }
}

fn own_set(family: Family) -> &'static str {
    if family == Family::V4 { "self4" } else { "self6" }
}

fn column(family: Family) -> Column {
    if family == Family::V4 { Column::V4 } else { Column::V6 }
}

/// How many registers an address takes.
fn words(family: Family) -> u32 {
    if family == Family::V4 { 1 } else { 4 }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// As columns of a set have them: padded to a word.
fn port_word(port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    vec![high, low, 0, 0]
}

fn protocol_word(protocol: u8) -> Vec<u8> {
    vec![protocol, 0, 0, 0]
}
