//! A range of addresses as people write it, and the addresses in it by their place. Knows no network and no kernel.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.244.1.0/24`; the address is the range's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no range of addresses like 10.244.1.0/24")]
pub struct BadRange(String);

impl Range {
    /// None if an address of this family has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let mask = mask(address, bits)?;
        Some(Self { first: with_number(address, number(address) & mask), bits })
    }

    /// For ranges that everybody knows; `first` is one of `bits` bits.
    pub const fn v4(first: Ipv4Addr, bits: u8) -> Self {
        Self { first: IpAddr::V4(first), bits }
    }

    /// The same for the other family.
    pub const fn v6(first: Ipv6Addr, bits: u8) -> Self {
        Self { first: IpAddr::V6(first), bits }
    }

    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The range's own address, that nobody in it has.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    pub fn last(&self) -> IpAddr {
        with_number(self.first, number(self.first) | self.inside())
    }

    pub fn is_v4(&self) -> bool {
        self.first.is_ipv4()
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        Self::new(address, self.bits).is_some_and(|range| range == *self)
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        if self.bits <= other.bits { self.contains(other.first) } else { other.contains(self.first) }
    }

    /// The first address after the range's own: by custom the gateway's.
    pub fn gateway(&self) -> IpAddr {
        self.at(1)
    }

    /// The places that can be given out: not the range's own, the gateway's, and where there are broadcasts, theirs.
    pub fn places(&self) -> std::ops::Range<u64> {
        let host = u32::from(width(self.first) - self.bits);
        let end = 1u64.checked_shl(host).unwrap_or(u64::MAX);
        let end = if self.is_v4() { end.saturating_sub(1) } else { end };
        2..end.max(2)
    }

    /// The address that stands so far behind the range's own.
    pub fn at(&self, place: u64) -> IpAddr {
        with_number(self.first, number(self.first) + u128::from(place))
    }

    /// The one of the ranges of so many bits inside it that has this place among them.
    pub fn piece(&self, place: u64, bits: u8) -> Option<Self> {
        let size = u32::from(width(self.first).checked_sub(bits)?);
        let first = number(self.first).checked_add(u128::from(place).checked_shl(size)?)?;
        Self::new(with_number(self.first, first), bits)
    }

    /// The first and the last address as numbers.
    pub fn ends(&self) -> (u128, u128) {
        (number(self.first), number(self.first) | self.inside())
    }

    /// As long as an address, with the bits set that all of the range have in common.
    pub fn mask(&self) -> Vec<u8> {
        octets(with_number(self.first, !self.inside()))
    }

    /// The bits in which addresses of the range differ.
    fn inside(&self) -> u128 {
        let all = if self.is_v4() { u128::from(u32::MAX) } else { u128::MAX };
        all & !mask(self.first, self.bits).unwrap_or(u128::MAX)
    }
}

/// As they go over the wire.
pub fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// How many bits an address of the same family has.
pub fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The low bits are those of an address of the older family.
fn mask(address: IpAddr, bits: u8) -> Option<u128> {
    let host = u32::from(width(address).checked_sub(bits)?);
    Some(u128::MAX.checked_shl(host).unwrap_or(0))
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// Another address of the same family; what does not fit is cut off.
fn with_number(like: IpAddr, number: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from((number & u128::from(u32::MAX)) as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from(number).into(),
    }
}

impl FromStr for Range {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        let read = || {
            let (address, bits) = text.split_once('/')?;
            Self::new(address.parse().ok()?, bits.parse().ok()?)
        };
        read().ok_or_else(|| BadRange(text.to_owned()))
    }
}

impl TryFrom<String> for Range {
    type Error = BadRange;

    fn try_from(text: String) -> Result<Self, BadRange> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.first, self.bits)
    }
}

#[cfg(test)]
mod tests;
