//! Links: bridges, pairs of ends of one wire, tunnels to other machines, and what is known of those that are there.

use std::net::Ipv6Addr;

use crate::message::{CREATE, DUMP, EXCLUSIVE, Message, attributes, put, put_nested, put_text};
use crate::namespace::Namespace;
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 16;
const DELETE: u16 = 17;
const GET: u16 = 18;
const SET: u16 = 19;

const IS_UP: u32 = 1;
/// The fixed part: family, type, index, flags and which of these are meant.
const FIXED: usize = 16;

const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;
const MASTER: u16 = 10;
const INFO: u16 = 18;
const BY_FAMILY: u16 = 26;
const GROUP: u16 = 27;
const NAMESPACE: u16 = 28;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const BRIDGE_SNOOPING: u16 = 23;
const OLDER_FAMILY: u16 = 2;
const NEWER_FAMILY: u16 = 10;
const FAMILY_SETTINGS: u16 = 1;
const OWN_ADDRESS: u16 = 8;
const NO_OWN_ADDRESS: u8 = 1;
const SEND_REDIRECTS: u16 = 6;
const ROUTE_LOOPBACK: u16 = 26;
const TUNNEL: &str = "vxlan";
const TUNNEL_ID: u16 = 1;
const TUNNEL_LEARNING: u16 = 7;
const TUNNEL_PORT: u16 = 15;
const TUNNEL_LOCAL_V6: u16 = 17;
/// The hardware type of whatever speaks Ethernet.
const ETHERNET: u16 = 1;

/// A hardware address.
pub type Mac = [u8; 6];

/// What is known of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub mac: Vec<u8>,
    pub is_up: bool,
    pub is_ethernet: bool,
    pub is_bridge: bool,
    /// The bridge that it is a port of.
    pub master: Option<u32>,
    /// A number that links of one kind share; rules for packets may ask for it.
    pub group: u32,
    /// If it is one.
    pub tunnel: Option<Tunnel>,
}

/// Carries frames in datagrams to the machines that it is told of, and learns of none by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tunnel {
    /// Frames of another number are not its own.
    pub id: u32,
    pub port: u16,
    /// Where datagrams of the newer family come from; without it they are of the older one.
    pub from: Option<Ipv6Addr>,
}

/// A wire with one end here and the other in a namespace.
#[derive(Debug)]
pub struct Wire<'a> {
    pub here: &'a str,
    pub here_mac: Mac,
    pub group: u32,
    pub there: &'a str,
    pub there_mac: Mac,
    pub namespace: &'a Namespace,
    pub mtu: u32,
}

/// A bridge that is up, and floods what it would have to guess.
pub fn bridge(name: &str, mac: Mac, mtu: u32) -> Message {
    let fixed = fixed(0, IS_UP, IS_UP);
    let mut message = Message::new(format!("make the bridge {name}"), NEW, CREATE | EXCLUSIVE, &fixed);
    message.text(NAME, name).attribute(ADDRESS, &mac).attribute(MTU, &mtu.to_ne_bytes());
    message.nested(INFO, |info| {
        put_text(info, INFO_KIND, "bridge");
        put_nested(info, INFO_DATA, |data| put(data, BRIDGE_SNOOPING, &[0]));
    });
    message
}

/// Both ends at once. Neither is up: one that is while the other is not makes the kernel stop everything that is about links, as soon as
/// it finds time to look at both, until no processor sends by it any more.
pub fn wire(wire: &Wire<'_>) -> Message {
    let what = format!("connect {} to {}", wire.here, wire.there);
    let mut message = Message::new(what, NEW, CREATE | EXCLUSIVE, &fixed(0, 0, 0));
    let mtu = wire.mtu.to_ne_bytes();
    message.text(NAME, wire.here).attribute(ADDRESS, &wire.here_mac).attribute(MTU, &mtu);
    message.attribute(GROUP, &wire.group.to_ne_bytes());
    message.nested(INFO, |info| {
        put_text(info, INFO_KIND, "veth");
        put_nested(info, INFO_DATA, |data| {
            put_nested(data, VETH_PEER, |peer| {
                peer.extend(fixed(0, 0, 0));
                put_text(peer, NAME, wire.there);
                put(peer, ADDRESS, &wire.there_mac);
                put(peer, MTU, &mtu);
                put(peer, NAMESPACE, &wire.namespace.number().to_ne_bytes());
            });
        });
    });
    message
}

/// A tunnel that is up.
pub fn tunnel(name: &str, mac: Mac, mtu: u32, tunnel: Tunnel) -> Message {
    let fixed = fixed(0, IS_UP, IS_UP);
    let mut message = Message::new(format!("make the tunnel {name}"), NEW, CREATE | EXCLUSIVE, &fixed);
    message.text(NAME, name).attribute(ADDRESS, &mac).attribute(MTU, &mtu.to_ne_bytes());
    message.nested(INFO, |info| {
        put_text(info, INFO_KIND, TUNNEL);
        put_nested(info, INFO_DATA, |data| {
            put(data, TUNNEL_ID, &tunnel.id.to_ne_bytes());
            put(data, TUNNEL_PORT, &tunnel.port.to_be_bytes());
            put(data, TUNNEL_LEARNING, &[0]);
            if let Some(from) = tunnel.from {
                put(data, TUNNEL_LOCAL_V6, &from.octets());
            }
        });
    });
    message
}

/// Lets answers to 127.0.0.1 come back by a link, which a router otherwise takes for a mistake, and tells nobody there of shorter ways.
pub fn settle(name: &str) -> Message {
    let mut message = Message::new(format!("settle {name}"), NEW, 0, &fixed(0, 0, 0));
    message.text(NAME, name).nested(BY_FAMILY, older_settings);
    message
}

/// The same, and keeps a link that is not up yet from giving itself an address of the newer family and asking whether somebody has it
/// already: nobody is there who would want it. Refused with `AFNOSUPPORT`, as a whole, where there is no such family.
pub fn settle_in_both(name: &str) -> Message {
    let mut message = Message::new(format!("settle {name}"), NEW, 0, &fixed(0, 0, 0));
    message.text(NAME, name).nested(BY_FAMILY, |families| {
        older_settings(families);
        put_nested(families, NEWER_FAMILY, |family| put(family, OWN_ADDRESS, &[NO_OWN_ADDRESS]));
    });
    message
}

fn older_settings(families: &mut Vec<u8>) {
    put_nested(families, OLDER_FAMILY, |family| {
        put_nested(family, FAMILY_SETTINGS, |settings| {
            for (setting, value) in [(SEND_REDIRECTS, 0u32), (ROUTE_LOOPBACK, 1)] {
                put(settings, setting, &value.to_ne_bytes());
            }
        });
    });
}

pub fn up(index: u32) -> Message {
    Message::new(format!("switch on link {index}"), SET, 0, &fixed(index, IS_UP, IS_UP))
}

pub fn set_mtu(index: u32, mtu: u32) -> Message {
    let what = format!("give link {index} packets of {mtu} bytes");
    let mut message = Message::new(what, SET, 0, &fixed(index, 0, 0));
    message.attribute(MTU, &mtu.to_ne_bytes());
    message
}

pub fn set_group(index: u32, group: u32) -> Message {
    let mut message = Message::new(format!("put link {index} into a group"), SET, 0, &fixed(index, 0, 0));
    message.attribute(GROUP, &group.to_ne_bytes());
    message
}

/// Makes a port of a bridge a link of its own, known by another hardware address.
pub fn part(index: u32, mac: Mac) -> Message {
    let what = format!("make link {index} no port of any bridge");
    let mut message = Message::new(what, SET, 0, &fixed(index, 0, 0));
    message.attribute(MASTER, &0u32.to_ne_bytes()).attribute(ADDRESS, &mac);
    message
}

/// Both ends of a wire go with either.
pub fn delete(name: &str) -> Message {
    let mut message = Message::new(format!("remove {name}"), DELETE, 0, &fixed(0, 0, 0));
    message.text(NAME, name);
    message
}

impl Socket {
    /// The link of a name; an absent one is refused with `NODEV`.
    pub fn link(&mut self, name: &str) -> Result<Link, NetlinkError> {
        let what = format!("find the link {name}");
        let mut question = Message::new(what.clone(), GET, 0, &fixed(0, 0, 0));
        question.text(NAME, name);
        self.ask(question, read)?.pop().ok_or(NetlinkError::Nonsense { what })
    }

    /// The link with a number; an absent one is refused with `NODEV`.
    pub fn link_at(&mut self, index: u32) -> Result<Link, NetlinkError> {
        let what = format!("find link {index}");
        let question = Message::new(what.clone(), GET, 0, &fixed(index, 0, 0));
        self.ask(question, read)?.pop().ok_or(NetlinkError::Nonsense { what })
    }

    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        self.ask(Message::new("list the links", GET, DUMP, &fixed(0, 0, 0)), read)
    }
}

fn fixed(index: u32, flags: u32, meant: u32) -> [u8; FIXED] {
    let mut fixed = [0; FIXED];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&meant.to_ne_bytes());
    fixed
}

fn read(body: &[u8]) -> Option<Link> {
    let fixed = body.first_chunk::<FIXED>()?;
    let number = |at: usize| u32::from_ne_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let mut link = Link { index: number(4), is_up: number(8) & IS_UP != 0, ..Link::default() };
    link.is_ethernet = u16::from_ne_bytes([fixed[2], fixed[3]]) == ETHERNET;
    let info = attributes(&body[FIXED..]).find(|attribute| attribute.kind == INFO);
    link.is_bridge = info.is_some_and(|info| is_a("bridge", info.value));
    for attribute in attributes(&body[FIXED..]) {
        match attribute.kind {
            NAME => link.name = attribute.name(),
            MTU => link.mtu = attribute.number()?,
            ADDRESS => link.mac = attribute.value.to_vec(),
            MASTER => link.master = attribute.number(),
            GROUP => link.group = attribute.number()?,
            INFO => link.tunnel = read_tunnel(attribute.value),
            _ => {}
        }
    }
    Some(link)
}

fn is_a(kind: &str, info: &[u8]) -> bool {
    attributes(info).any(|attribute| attribute.kind == INFO_KIND && attribute.name() == kind)
}

fn read_tunnel(info: &[u8]) -> Option<Tunnel> {
    let find = |bytes, kind| attributes(bytes).find(move |attribute| attribute.kind == kind);
    find(info, INFO_KIND).filter(|kind| kind.name() == TUNNEL)?;
    let data = find(info, INFO_DATA)?.value;
    let from = find(data, TUNNEL_LOCAL_V6).and_then(|from| from.value.first_chunk::<16>().copied());
    Some(Tunnel {
        id: find(data, TUNNEL_ID)?.number()?,
        port: u16::from_be_bytes(*find(data, TUNNEL_PORT)?.value.first_chunk()?),
        from: from.map(Ipv6Addr::from),
    })
}
