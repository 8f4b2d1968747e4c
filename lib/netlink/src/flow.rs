//! Flows: what the kernel remembers of packets that belong together, so that all of them are sent the same way. One that was
//! remembered goes on as it began, whatever the rules say since.

use std::net::IpAddr;

use crate::message::{Attribute, DUMP, Message, attributes};
use crate::nft::Family;
use crate::socket::{NetlinkError, Socket};

const SUBSYSTEM: u16 = 1 << 8;
const GET: u16 = 1;
const DELETE: u16 = 2;

/// The tuples of both directions, and what is in one.
const ORIGINAL: u16 = 1;
const REPLY: u16 = 2;
const STATUS: u16 = 3;
const STATUS_MASK: u16 = 26;
const ADDRESSES: u16 = 1;
const PROTOCOL: u16 = 2;
const NUMBER: u16 = 1;
const TARGET_PORT: u16 = 3;
/// Of a status: packets went both ways.
const ANSWERED: u32 = 1 << 1;

/// As it began, and who answers whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub protocol: u8,
    pub from: IpAddr,
    pub to: IpAddr,
    pub port: u16,
    pub answers: IpAddr,
    pub hears: IpAddr,
    pub is_answered: bool,
    family: u8,
    original: Vec<u8>,
}

/// The next packet of it is judged anew.
pub fn forget(flow: &Flow) -> Message {
    let what = format!("forget the flow from {} to {}", flow.from, flow.to);
    let mut message = Message::new(what, SUBSYSTEM | DELETE, 0, &[flow.family, 0, 0, 0]);
    message.nested(ORIGINAL, |tuple| tuple.extend(&flow.original));
    message
}

impl Socket {
    /// Those that the kernel remembers; this socket must be one for netfilter.
    pub fn flows(&mut self, family: Family) -> Result<Vec<Flow>, NetlinkError> {
        self.ask(question(family), read)
    }

    /// Those of them that nobody has answered. Most are answered, and are not copied for this; an old kernel tells of all.
    pub fn unanswered_flows(&mut self, family: Family) -> Result<Vec<Flow>, NetlinkError> {
        let mut question = question(family);
        question.attribute(STATUS, &0u32.to_be_bytes()).attribute(STATUS_MASK, &ANSWERED.to_be_bytes());
        self.ask(question, |body| read(body).filter(|flow| !flow.is_answered))
    }
}

fn question(family: Family) -> Message {
    Message::new("list the flows", SUBSYSTEM | GET, DUMP, &[family as u8, 0, 0, 0])
}

fn read(body: &[u8]) -> Option<Flow> {
    let family = *body.first()?;
    let find = |kind| attributes(body.get(4..).unwrap_or_default()).find(|part| part.kind == kind);
    let (original, reply) = (find(ORIGINAL)?, find(REPLY)?);
    let (from, to) = addresses(original)?;
    let (answers, hears) = addresses(reply)?;
    let protocol = inside(original, PROTOCOL)?;
    let number = *inside(protocol, NUMBER)?.value.first()?;
    // Not every protocol has ports.
    let port = inside(protocol, TARGET_PORT).and_then(|port| port.value.first_chunk().copied());
    let port = u16::from_be_bytes(port.unwrap_or_default());
    let status = find(STATUS).and_then(|status| status.value.first_chunk().copied());
    let is_answered = u32::from_be_bytes(status.unwrap_or_default()) & ANSWERED != 0;
    let original = original.value.to_vec();
    Some(Flow { protocol: number, from, to, port, answers, hears, is_answered, family, original })
}

fn inside(part: Attribute<'_>, kind: u16) -> Option<Attribute<'_>> {
    attributes(part.value).find(|part| part.kind == kind)
}

/// Source and target, whose numbers follow each other in either family.
fn addresses(tuple: Attribute<'_>) -> Option<(IpAddr, IpAddr)> {
    let mut both = attributes(inside(tuple, ADDRESSES)?.value).filter_map(|part| match part.value.len() {
        4 => part.value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        _ => part.value.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
    });
    Some((both.next()?, both.next()?))
}
