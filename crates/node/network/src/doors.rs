//! Doors: ports of the node behind which is a pod.

use std::net::IpAddr;

use kedge_netlink::flow::{self, Flow};
use kedge_netlink::nft::{Batch, Family};
use kedge_netlink::{Errno, NetlinkError, Socket};
use kedge_range::octets;
use serde::{Deserialize, Serialize};

use crate::filter::{ANY_V4, ANY_V6, BOUND_V4, BOUND_V6, SELF_V4, SELF_V6};
use crate::records::Record;

/// The kernel's numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Door {
    pub(crate) protocol: u8,
    /// Only at this address of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<IpAddr>,
    pub(crate) port: u16,
    /// Of the pod.
    pub(crate) to: u16,
}

impl Door {
    /// Whether both would answer the same calls.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let meet = match (self.at, other.at) {
            (Some(one), Some(two)) if one.is_ipv4() != two.is_ipv4() => false,
            (Some(one), Some(two)) => one == two || one.is_unspecified() || two.is_unspecified(),
            _ => true,
        };
        meet && self.protocol == other.protocol && self.port == other.port
    }
}

/// None for what we don't know.
pub(crate) fn protocol(name: &str) -> Option<u8> {
    match name.to_ascii_lowercase().as_str() {
        "" | "tcp" => Some(TCP),
        "udp" => Some(UDP),
        "sctp" => Some(SCTP),
        _ => None,
    }
}

/// One entry of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) set: &'static str,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// What the sets must hold for a pod with doors.
pub(crate) fn entries(record: &Record) -> Vec<Entry> {
    let mut entries = Vec::new();
    if record.doors.is_empty() {
        return entries;
    }
    for address in &record.addresses {
        let address = octets(*address);
        let (family, any, bound, itself) = match address.len() {
            4 => (Family::V4, ANY_V4, BOUND_V4, SELF_V4),
            _ => (Family::V6, ANY_V6, BOUND_V6, SELF_V6),
        };
        for door in &record.doors {
            let port = [vec![door.protocol, 0, 0, 0], word(door.port)].concat();
            let value = Some([address.clone(), word(door.to)].concat());
            match door.at {
                Some(at) if at.is_ipv4() != (family == Family::V4) => {}
                Some(at) if at.is_unspecified() => entries.push(Entry { set: any, key: port, value }),
                Some(at) => {
                    entries.push(Entry { set: bound, key: [octets(at), port].concat(), value });
                }
                None => entries.push(Entry { set: any, key: port, value }),
            }
        }
        entries.push(Entry { set: itself, key: [address.clone(), address].concat(), value: None });
    }
    entries
}

/// Lets go of flows that began when a door led elsewhere: those that a pod answers, and those that the node answered itself. Only
/// for what has no connections, as with them callers notice and begin anew.
fn let_go(socket: &mut Socket, record: &Record) -> Result<(), NetlinkError> {
    let ports: Vec<u16> =
        record.doors.iter().filter(|door| door.protocol == UDP).map(|door| door.port).collect();
    if ports.is_empty() {
        return Ok(());
    }
    for address in &record.addresses {
        let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
        let is_stale = |flow: &Flow| {
            let by_node = ports.contains(&flow.port) && flow.answers == flow.to && flow.hears == flow.from;
            flow.protocol == UDP && (by_node || (flow.answers == *address && flow.to != *address))
        };
        let flows = match socket.flows(family) {
            Ok(flows) => flows,
            // A kernel that does not tell forgets by itself after a while.
            Err(NetlinkError::Refused { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut stale: Vec<_> = flows.iter().filter(|flow| is_stale(flow)).map(flow::forget).collect();
        match socket.tell(&mut stale) {
            // One that ended meanwhile is as good as forgotten.
            Err(error) if !error.is(Errno::NOENT) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A port as a column of a set has it: in the network's order, padded to a word.
fn word(port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    vec![high, low, 0, 0]
}

pub(crate) fn open(table: &str, record: &Record) -> Result<(), NetlinkError> {
    let entries = entries(record);
    if entries.is_empty() {
        return Ok(());
    }
    let mut socket = Socket::netfilter()?;
    let mut batch = Batch::of(table);
    for entry in &entries {
        batch.element(entry.set, &entry.key, entry.value.as_deref());
    }
    match socket.apply(&mut batch) {
        // Somebody who is gone was not let close his door; it is ours now.
        Err(error) if error.is(Errno::EXIST) || error.is(Errno::BUSY) => {
            for entry in &entries {
                close_one(&mut socket, table, entry)?;
            }
            socket.apply(&mut batch)
        }
        done => done,
    }?;
    let_go(&mut socket, record)
}

pub(crate) fn close(table: &str, record: &Record) -> Result<(), NetlinkError> {
    let entries = entries(record);
    if entries.is_empty() {
        return Ok(());
    }
    let mut socket = Socket::netfilter()?;
    let mut batch = Batch::of(table);
    for entry in &entries {
        batch.without_element(entry.set, &entry.key);
    }
    match socket.apply(&mut batch) {
        // One that is not there keeps the others from going with it.
        Err(error) if error.is(Errno::NOENT) => {
            entries.iter().try_for_each(|entry| close_one(&mut socket, table, entry))
        }
        done => done,
    }?;
    let_go(&mut socket, record)
}

/// Absent is as good as closed.
fn close_one(socket: &mut Socket, table: &str, entry: &Entry) -> Result<(), NetlinkError> {
    let mut batch = Batch::of(table);
    batch.without_element(entry.set, &entry.key);
    match socket.apply(&mut batch) {
        Err(error) if error.is(Errno::NOENT) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(addresses: &[&str], doors: &[(&str, Option<&str>, u16, u16)]) -> Vec<String> {
        let door = |(name, at, port, to): &(&str, Option<&str>, u16, u16)| Door {
            protocol: protocol(name).unwrap(),
            at: at.map(|at| at.parse().unwrap()),
            port: *port,
            to: *to,
        };
        let record = Record {
            namespace: "/x".into(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            doors: doors.iter().map(door).collect(),
            limits: crate::pace::Limits::default(),
        };
        let shown = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let entry = |entry: &Entry| {
            format!("{} {} {}", entry.set, shown(&entry.key), shown(entry.value.as_deref().unwrap_or(&[])))
        };
        entries(&record).iter().map(|each| entry(each).trim_end().to_owned()).collect()
    }

    #[test]
    fn doors_that_clash() {
        let door = |protocol, at: &str, port| Door { protocol, at: at.parse().ok(), port, to: 80 };
        for (case, one, two, clash) in [
            ("the same", door(TCP, "", 80), door(TCP, "", 80), true),
            ("another port", door(TCP, "", 80), door(TCP, "", 81), false),
            ("another protocol", door(TCP, "", 80), door(UDP, "", 80), false),
            ("everywhere and somewhere", door(TCP, "", 80), door(TCP, "127.0.0.1", 80), true),
            ("everywhere of the family", door(TCP, "0.0.0.0", 80), door(TCP, "127.0.0.1", 80), true),
            ("two addresses", door(TCP, "192.0.2.1", 80), door(TCP, "127.0.0.1", 80), false),
            ("two families", door(TCP, "::", 80), door(TCP, "127.0.0.1", 80), false),
        ] {
            assert_eq!((one.clashes(&two), two.clashes(&one)), (clash, clash), "{case}");
        }
    }

    #[test]
    fn what_the_sets_hold() {
        for (case, addresses, doors, expected) in [
            ("no doors, no entries", &["10.0.0.2"][..], &[][..], &[][..]),
            (
                "anywhere",
                &["10.0.0.2"][..],
                &[("TCP", None, 8080, 80)][..],
                &["any4 060000001f900000 0a00000200500000", "self4 0a0000020a000002"][..],
            ),
            (
                "at one address, by another protocol",
                &["10.0.0.2"][..],
                &[("udp", Some("127.0.0.1"), 53, 53)][..],
                &["bound4 7f0000011100000000350000 0a00000200350000", "self4 0a0000020a000002"][..],
            ),
            (
                "an address of the other family is no door of this one",
                &["10.0.0.2"][..],
                &[("sctp", Some("::1"), 9, 9)][..],
                &["self4 0a0000020a000002"][..],
            ),
            (
                "anywhere in one family",
                &["10.0.0.2", "fd00::2"][..],
                &[("tcp", Some("0.0.0.0"), 1, 2)][..],
                &[
                    "any4 0600000000010000 0a00000200020000",
                    "self4 0a0000020a000002",
                    "self6 fd000000000000000000000000000002fd000000000000000000000000000002",
                ][..],
            ),
        ] {
            assert_eq!(told(addresses, doors), expected, "{case}");
        }
        assert_eq!(protocol("icmp"), None);
    }
}
