//! What the kernel is to know, as values that can be compared: whom a chain judges, its lines, and the sets that they look into.
//! Names are made of what they stand for, so what is the same has one name, and a chain or a span never changes under its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use kedge_facts::Protocol;
use kedge_netlink::nft::Family;

use crate::spans::Span;

/// As a pod sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    In,
    Out,
}

/// Of a chain or a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(Arc<str>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Addresses of pods of this node that not everybody reaches, or that don't reach everybody.
    pub(crate) isolated: BTreeMap<(Direction, IpAddr), Name>,
    pub(crate) chains: BTreeMap<Name, Arc<Chain>>,
    /// One that nobody left or came to is the very one that it was.
    pub(crate) sets: BTreeMap<Name, Arc<Set>>,
}

/// What no line lets through is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) direction: Direction,
    pub(crate) family: Family,
    pub(crate) lines: BTreeSet<Line>,
}

/// Lets through what it describes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    Peers {
        who: Peers,
        doors: Doors,
    },
    /// Whose address and port are in the set together: the same name is another port of each pod.
    Pair {
        set: Name,
        protocol: Protocol,
    },
}

/// Whose address is in the set, or anybody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peers {
    Anybody,
    Addresses(Name),
    Spans(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doors {
    /// Also what has no ports.
    All,
    Span(Ports),
    Set(Name),
}

/// Of one protocol, from one number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ports {
    pub(crate) protocol: Protocol,
    pub(crate) first: u16,
    pub(crate) last: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) shape: Shape,
    pub(crate) elements: BTreeSet<Element>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Addresses(Family),
    Pairs(Family),
    Spans(Family),
    Ports,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    Address(IpAddr),
    Pair(IpAddr, u16),
    Span(Span),
    Ports(Ports),
}

impl Wanted {
    /// Nobody is isolated, so nothing need be asked of any packet.
    pub fn is_empty(&self) -> bool {
        self.isolated.is_empty()
    }
}

impl Name {
    /// `in4-4be6…`: what kind of thing it is, and a digest of the thing itself. Whoever writes policies chooses what is digested, so it
    /// must be one that nobody finds a second thing for.
    pub(crate) fn of(kind: &str, thing: &impl fmt::Debug) -> Self {
        let digest = digest(&SHA256, format!("{thing:?}").as_bytes());
        let hex: String = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{kind}-{hex}").into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
