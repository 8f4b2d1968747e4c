//! The rules for packets of one node, all in one table of its own. None of them names a pod: pods are entries of the sets.

use std::net::{Ipv4Addr, Ipv6Addr};

use kedge_netlink::nft::{Batch, Column, Family, Hook, Register, Rule, Work};
use kedge_range::{Range, octets};

use crate::doors::entries;
use crate::network::Network;
use crate::records::Record;

/// Doors at any address of the node, and at one of them: protocol and port, to the pod's address and port.
pub(crate) const ANY_V4: &str = "any4";
pub(crate) const ANY_V6: &str = "any6";
pub(crate) const BOUND_V4: &str = "bound4";
pub(crate) const BOUND_V6: &str = "bound6";
/// Pods with doors, as pairs of their address with itself.
pub(crate) const SELF_V4: &str = "self4";
pub(crate) const SELF_V6: &str = "self6";

const ICMP: u8 = 1;
const ICMP_REDIRECT: u8 = 5;
const ICMP_V6: u8 = 58;
const ICMP_V6_REDIRECT: u8 = 137;

/// Where the kernel's own steps are, and others expect these chains.
const BEFORE_TARGETS: i32 = -110;
const TARGETS: i32 = -100;
const BEFORE_FILTERS: i32 = -10;
const USUAL: i32 = 0;
const SOURCES: i32 = 100;

/// The whole table anew, with the doors of those that are there; whatever it was before is gone in the same moment.
pub(crate) fn table(network: &Network, records: &[Record]) -> Batch {
    let mut batch = Batch::of(&network.table);
    // Making it first lets removing it succeed in any case.
    batch.table().without_table().table();
    sets(&mut batch);
    for entry in records.iter().flat_map(entries) {
        batch.element(entry.set, &entry.key, entry.value.as_deref());
    }
    let pods = network.mark();

    // The node's own doors to itself are open to pods only so that answers come back; nobody may enter by them. Neither chain is met by
    // packets from one pod to another: this one only by the first of a flow, before anybody sends it elsewhere,
    batch.chain_at("outside", Work::Translate, Hook::Arriving, BEFORE_TARGETS);
    batch.rule("outside", &to(Rule::new(), loopback()).came_by_group(pods).drop());
    // and this one by what ends here, as what is no part of any flow does not meet the other.
    batch.chain_at("guard", Work::Filter, Hook::Here, BEFORE_FILTERS);
    let entering = to(Rule::new(), loopback()).came_by_group(pods);
    batch.rule("guard", &entering.clone().was_sent_elsewhere().accept());
    batch.rule("guard", &entering.drop());

    batch.chain("doors");
    for family in [Family::V4, Family::V6] {
        door_rules(&mut batch, family);
    }
    batch.chain_at("arriving", Work::Translate, Hook::Arriving, TARGETS);
    batch.rule("arriving", &Rule::new().to_this_machine().jump("doors"));
    batch.chain_at("from-here", Work::Translate, Hook::FromHere, TARGETS);
    batch.rule("from-here", &Rule::new().to_this_machine().jump("doors"));

    batch.chain_at("leaving", Work::Translate, Hook::Leaving, SOURCES);
    for range in &network.ranges {
        batch.rule("leaving", &way_out(range, &network.cluster));
    }
    batch.rule("leaving", &from(Rule::new().leaves_by_group(pods), loopback()).masquerade());
    for (family, set) in [(Family::V4, SELF_V4), (Family::V6, SELF_V6)] {
        batch.rule("leaving", &through_own_door(family, set).masquerade());
    }

    // Pods are told to send everything to the node; a redirect would send them where they cannot go.
    batch.chain_at("quiet", Work::Filter, Hook::FromHere, USUAL);
    for (protocol, redirect) in [(ICMP, ICMP_REDIRECT), (ICMP_V6, ICMP_V6_REDIRECT)] {
        let rule = Rule::new().leaves_by_group(pods).protocol(protocol).begins_with(redirect);
        batch.rule("quiet", &rule.drop());
    }
    batch
}

fn sets(batch: &mut Batch) {
    use Column::{Port, Protocol, V4, V6};
    batch.set(ANY_V4, &[Protocol, Port], &[V4, Port]).set(BOUND_V4, &[V4, Protocol, Port], &[V4, Port]);
    batch.set(ANY_V6, &[Protocol, Port], &[V6, Port]).set(BOUND_V6, &[V6, Protocol, Port], &[V6, Port]);
    batch.set(SELF_V4, &[V4, V4], &[]).set(SELF_V6, &[V6, V6], &[]);
}

/// A door at the very address goes before one at any.
fn door_rules(batch: &mut Batch, family: Family) {
    let (any, bound, words) = match family {
        Family::V4 => (ANY_V4, BOUND_V4, 1),
        Family::V6 => (ANY_V6, BOUND_V6, 4),
    };
    let (first, address_end) = (Register(0), Register(words));
    let rule = Rule::new().family(family).keep_target(family, first).keep_protocol(address_end);
    let rule = rule.keep_target_port(Register(words + 1)).translated_by(bound, first, first);
    batch.rule("doors", &rule.send_to(family, first, address_end));
    let rule = Rule::new().family(family).keep_protocol(first).keep_target_port(Register(1));
    batch.rule("doors", &rule.translated_by(any, first, first).send_to(family, first, address_end));
}

/// Beyond the cluster nobody knows a pod's address.
fn way_out(range: &Range, cluster: &[Range]) -> Rule {
    let many = match family_of(*range) {
        Family::V4 => Range::v4(Ipv4Addr::new(224, 0, 0, 0), 4),
        Family::V6 => Range::v6(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
    };
    let inside = cluster.iter().filter(|inside| inside.is_v4() == range.is_v4());
    let rule = from(Rule::new(), *range);
    inside
        .chain([range, &many])
        .fold(rule, |rule, inside| rule.to(family_of(*range), false, &octets(inside.first()), &inside.mask()))
        .masquerade()
}

/// Who calls himself through the node's door must hear the answer from the node.
fn through_own_door(family: Family, set: &str) -> Rule {
    let words = if family == Family::V4 { 1 } else { 4 };
    let rule = Rule::new().family(family).keep_source(family, Register(0));
    rule.keep_target(family, Register(words)).known_to(set, Register(0))
}

fn from(rule: Rule, range: Range) -> Rule {
    let family = family_of(range);
    rule.family(family).from(family, true, &octets(range.first()), &range.mask())
}

fn to(rule: Rule, range: Range) -> Rule {
    let family = family_of(range);
    rule.family(family).to(family, true, &octets(range.first()), &range.mask())
}

fn family_of(range: Range) -> Family {
    if range.is_v4() { Family::V4 } else { Family::V6 }
}

fn loopback() -> Range {
    Range::v4(Ipv4Addr::new(127, 0, 0, 0), 8)
}
