//! Routes: those that are there, one to be made or removed, and which of them a packet would take.

use std::net::IpAddr;

use crate::message::{CREATE, DUMP, Message, REPLACE, attributes};
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 24;
const DELETE: u16 = 25;
const GET: u16 = 26;

const TO: u16 = 1;
const LINK: u16 = 4;
const GATEWAY: u16 = 5;
const METRIC: u16 = 6;
const TABLE: u16 = 15;
/// A gateway of the other family.
const VIA: u16 = 18;

const FIXED: usize = 12;
const MAIN_TABLE: u8 = 254;
const BY_ADMINISTRATOR: u8 = 4;
const EVERYWHERE: u8 = 0;
const TO_ONE: u8 = 1;
const TO_THIS_MACHINE: u8 = 2;
/// The gateway is on the link although no address says so.
const ON_LINK: u32 = 4;
/// Remembered for one target only, no route of its own.
const CLONED: u32 = 0x200;
const FAMILIES: [u8; 2] = [2, 10];

/// A way of the main table to many addresses through a gateway on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first address and how many bits of it count.
    pub to: (IpAddr, u8),
    pub via: Option<IpAddr>,
    pub link: u32,
    /// Of several ways to the same addresses that with the lowest counts.
    pub metric: u32,
    /// A number of whoever made it.
    pub origin: u8,
}

/// How a packet would leave this machine, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    pub link: Option<u32>,
    /// The target itself is not on the link.
    pub has_gateway: bool,
    /// The target is this very machine.
    pub is_here: bool,
}

/// Everything that has no better way goes through a gateway that is on the link.
pub fn default(link: u32, gateway: IpAddr) -> Message {
    let nowhere = if gateway.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) };
    let route = Route { to: (nowhere, 0), via: Some(gateway), link, metric: 0, origin: BY_ADMINISTRATOR };
    set(&route)
}

/// Makes it, in the place of another to the same addresses with the same metric.
pub fn set(route: &Route) -> Message {
    written("route", NEW, CREATE | REPLACE, route)
}

pub fn remove(route: &Route) -> Message {
    written("no longer route", DELETE, 0, route)
}

fn written(verb: &str, kind: u16, flags: u16, route: &Route) -> Message {
    let (to, bits) = route.to;
    let mut fixed = [family(to), bits, 0, 0, MAIN_TABLE, route.origin, EVERYWHERE, TO_ONE, 0, 0, 0, 0];
    if route.via.is_some() {
        fixed[8..FIXED].copy_from_slice(&ON_LINK.to_ne_bytes());
    }
    let through = route.via.map(|via| format!(" through {via}")).unwrap_or_default();
    let what = format!("{verb} {to}/{bits}{through} at link {}", route.link);
    let mut message = Message::new(what, kind, flags, &fixed);
    if bits > 0 {
        message.attribute(TO, &octets(to));
    }
    if let Some(via) = route.via {
        message.attribute(GATEWAY, &octets(via));
    }
    if route.metric > 0 {
        message.attribute(METRIC, &route.metric.to_ne_bytes());
    }
    message.attribute(LINK, &route.link.to_ne_bytes());
    message
}

impl Socket {
    /// The ways that the main table has, of both families.
    pub fn routes(&mut self) -> Result<Vec<Route>, NetlinkError> {
        let mut all = Vec::new();
        for family in FAMILIES {
            let mut fixed = [0; FIXED];
            fixed[0] = family;
            all.extend(self.ask(Message::new("list the routes", GET, DUMP, &fixed), read)?);
        }
        Ok(all)
    }

    /// The way that a packet to an address would take; refused if there is none.
    pub fn exit_to(&mut self, address: IpAddr) -> Result<Exit, NetlinkError> {
        let octets = octets(address);
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let mut fixed = [0; FIXED];
        fixed[0] = family(address);
        fixed[1] = bits;
        let mut question = Message::new(format!("find the way to {address}"), GET, 0, &fixed);
        question.attribute(TO, &octets);
        let exits = self.ask(question, |body| {
            let mut exit = Exit { is_here: *body.get(7)? == TO_THIS_MACHINE, ..Exit::default() };
            for attribute in attributes(body.get(FIXED..)?) {
                match attribute.kind {
                    LINK => exit.link = attribute.number(),
                    GATEWAY | VIA => exit.has_gateway = true,
                    _ => {}
                }
            }
            Some(exit)
        })?;
        Ok(exits.first().copied().unwrap_or_default())
    }
}

/// None for what is no plain way of the main table.
fn read(body: &[u8]) -> Option<Route> {
    let fixed = body.first_chunk::<FIXED>()?;
    let flags = u32::from_ne_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]);
    let (mut to, mut via, mut link, mut metric) = (None, None, None, 0);
    let mut table = u32::from(fixed[4]);
    for attribute in attributes(&body[FIXED..]) {
        match attribute.kind {
            TO => to = address(attribute.value),
            GATEWAY => via = address(attribute.value),
            LINK => link = attribute.number(),
            METRIC => metric = attribute.number()?,
            TABLE => table = attribute.number()?,
            _ => {}
        }
    }
    let nowhere = || if fixed[0] == FAMILIES[0] { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) };
    let is_plain = table == u32::from(MAIN_TABLE) && fixed[7] == TO_ONE && flags & CLONED == 0;
    let route =
        Route { to: (to.unwrap_or_else(nowhere), fixed[1]), via, link: link?, metric, origin: fixed[5] };
    is_plain.then_some(route)
}

pub(crate) fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => octets.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        _ => octets.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
    }
}

pub(crate) fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 2 } else { 10 }
}

pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
