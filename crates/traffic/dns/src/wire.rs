//! DNS messages as they are on the wire (RFC 1035, 6891). Knows octets, no cluster and no socket. A message of ours is made from
//! records; one of somebody else's is passed on as it came, with only its times, its number and its size changed.

mod foreign;
mod name;
mod query;
mod record;
mod reply;
mod skim;
mod write;

pub use self::foreign::Foreign;
pub use self::name::Name;
pub use self::query::{Bad, Edns, Query};
pub use self::record::{Data, Record};
pub use self::reply::{Reply, bare, encode};
pub use self::skim::{Place, Section, Skim, skim};

/// What can be asked for. Others are passed on as numbers.
pub mod kind {
    pub const A: u16 = 1;
    pub const NS: u16 = 2;
    pub const CNAME: u16 = 5;
    pub const SOA: u16 = 6;
    pub const PTR: u16 = 12;
    pub const TXT: u16 = 16;
    pub const AAAA: u16 = 28;
    pub const SRV: u16 = 33;
    pub const DNAME: u16 = 39;
    pub const OPT: u16 = 41;
    pub const IXFR: u16 = 251;
    pub const AXFR: u16 = 252;
}

/// The internet: the only class that we know.
pub const IN: u16 = 1;

/// How an answer went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    #[default]
    Fine = 0,
    Malformed = 1,
    Failed = 2,
    NoSuchName = 3,
    NotImplemented = 4,
    Refused = 5,
}

/// The first two octets after a message's number.
pub(crate) mod flag {
    pub(crate) const RESPONSE: u16 = 0x8000;
    pub(crate) const OPCODE: u16 = 0x7800;
    pub(crate) const AUTHORITATIVE: u16 = 0x0400;
    pub(crate) const TRUNCATED: u16 = 0x0200;
    pub(crate) const RECURSE: u16 = 0x0100;
    pub(crate) const RECURSES: u16 = 0x0080;
    pub(crate) const AUTHENTIC: u16 = 0x0020;
    pub(crate) const UNCHECKED: u16 = 0x0010;
    pub(crate) const CODE: u16 = 0x000f;
}

pub(crate) const HEADER: usize = 12;
/// What passes every path unbroken; larger answers go over TCP.
pub(crate) const LARGEST_DATAGRAM: usize = 1232;
/// What everybody takes who says nothing of sizes.
pub(crate) const USUAL_DATAGRAM: usize = 512;

/// The number at a place.
pub(crate) fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk::<2>().map(|found| u16::from_be_bytes(*found))
}

pub(crate) fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk::<4>().map(|found| u32::from_be_bytes(*found))
}

/// Writes a number over what is at a place.
pub(crate) fn put_u16(octets: &mut [u8], at: usize, number: u16) {
    if let Some(place) = octets.get_mut(at..at + 2) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
