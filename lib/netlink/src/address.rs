//! Addresses of links.

use std::net::IpAddr;

use crate::message::{CREATE, DUMP, Message, REPLACE, attributes};
use crate::route::{address, family, octets};
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 20;
const DELETE: u16 = 21;
const GET: u16 = 22;

const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
/// Nobody else can have it, so nobody is asked whether he does: it can be used at once.
const UNDISPUTED: u8 = 0x02;

/// An address that a link has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub link: u32,
    pub address: IpAddr,
    pub bits: u8,
}

pub fn add(link: u32, address: IpAddr, bits: u8) -> Message {
    written("give", NEW, CREATE | REPLACE, link, address, bits)
}

pub fn remove(link: u32, address: IpAddr, bits: u8) -> Message {
    written("take away", DELETE, 0, link, address, bits)
}

fn written(verb: &str, kind: u16, flags: u16, link: u32, address: IpAddr, bits: u8) -> Message {
    let how = if address.is_ipv6() { UNDISPUTED } else { 0 };
    let [a, b, c, d] = link.to_ne_bytes();
    let fixed = [family(address), bits, how, 0, a, b, c, d];
    let mut message = Message::new(format!("{verb} {address}/{bits} at link {link}"), kind, flags, &fixed);
    let octets = octets(address);
    message.attribute(LOCAL, &octets).attribute(ADDRESS, &octets);
    message
}

impl Socket {
    /// Every address that this namespace has.
    pub fn addresses(&mut self) -> Result<Vec<Held>, NetlinkError> {
        self.ask(Message::new("list the addresses", GET, DUMP, &[0; 8]), read)
    }
}

fn read(body: &[u8]) -> Option<Held> {
    let fixed = body.first_chunk::<8>()?;
    let link = u32::from_ne_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    let find = |kind| attributes(&body[8..]).find(|attribute| attribute.kind == kind);
    // On a wire between two, the one attribute is the other end's.
    let found = find(LOCAL).or_else(|| find(ADDRESS))?;
    Some(Held { link, address: address(found.value)?, bits: fixed[1] })
}
