//! Routes.

use std::net::IpAddr;

use crate::message::{CREATE, Message, REPLACE, attributes};
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 24;
const GET: u16 = 26;

const TO: u16 = 1;
const LINK: u16 = 4;
const GATEWAY: u16 = 5;

const MAIN_TABLE: u8 = 254;
const BY_ADMINISTRATOR: u8 = 4;
const EVERYWHERE: u8 = 0;
const TO_ONE: u8 = 1;
/// The gateway is on the link although no address says so.
const ON_LINK: u32 = 4;

/// Everything that has no better way goes through a gateway that is on the link.
pub fn default(link: u32, gateway: IpAddr) -> Message {
    let mut fixed = [family(gateway), 0, 0, 0, MAIN_TABLE, BY_ADMINISTRATOR, EVERYWHERE, TO_ONE, 0, 0, 0, 0];
    fixed[8..12].copy_from_slice(&ON_LINK.to_ne_bytes());
    let what = format!("route everything through {gateway} at link {link}");
    let mut message = Message::new(what, NEW, CREATE | REPLACE, &fixed);
    message.attribute(GATEWAY, &octets(gateway)).attribute(LINK, &link.to_ne_bytes());
    message
}

impl Socket {
    /// The link by which a packet to an address would leave.
    pub fn link_towards(&mut self, address: IpAddr) -> Result<Option<u32>, NetlinkError> {
        let octets = octets(address);
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let fixed = [family(address), bits, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut question = Message::new(format!("find the way to {address}"), GET, 0, &fixed);
        question.attribute(TO, &octets);
        let ways = self.ask(question, |body| {
            attributes(body.get(12..)?).find(|attribute| attribute.kind == LINK)?.number()
        })?;
        Ok(ways.first().copied())
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
