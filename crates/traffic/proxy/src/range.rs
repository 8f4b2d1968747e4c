//! A range of addresses, as a person writes it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::family::Family;

/// `10.244.0.0/16`; the address is the range's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no range of addresses like 10.244.0.0/16")]
pub struct BadRange(String);

impl Range {
    /// None if an address of this family has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let mask = mask(address, bits)?;
        let first = match address {
            IpAddr::V4(address) => Ipv4Addr::from(u32::from(address) & mask as u32).into(),
            IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & mask).into(),
        };
        Some(Self { first, bits })
    }

    pub(crate) fn family(&self) -> Family {
        Family::of(self.first)
    }

    pub(crate) fn first(&self) -> IpAddr {
        self.first
    }

    pub(crate) fn last(&self) -> IpAddr {
        let mask = mask(self.first, self.bits).unwrap_or(u128::MAX);
        match self.first {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first) | !(mask as u32)).into(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first) | !mask).into(),
        }
    }

    /// As long as an address, with the bits set that all of the range have in common.
    pub(crate) fn mask(&self) -> Vec<u8> {
        let mask = mask(self.first, self.bits).unwrap_or(u128::MAX);
        match self.first {
            IpAddr::V4(_) => (mask as u32).to_be_bytes().to_vec(),
            IpAddr::V6(_) => mask.to_be_bytes().to_vec(),
        }
    }
}

/// Its low bits are those of an address of the older family.
fn mask(address: IpAddr, bits: u8) -> Option<u128> {
    let width: u32 = if address.is_ipv4() { 32 } else { 128 };
    let host = width.checked_sub(u32::from(bits))?;
    Some(u128::MAX.checked_shl(host).unwrap_or(0))
}

impl FromStr for Range {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        let read = || {
            let (address, bits) = text.trim().split_once('/')?;
            Self::new(address.parse().ok()?, bits.parse().ok()?)
        };
        read().ok_or_else(|| BadRange(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_ranges_begin_and_end() {
        for (text, first, last) in [
            ("10.244.7.1/16", "10.244.0.0", "10.244.255.255"),
            ("192.0.2.9/32", "192.0.2.9", "192.0.2.9"),
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            (" fd00::5/64", "fd00::", "fd00::ffff:ffff:ffff:ffff"),
            ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let range: Range = text.parse().unwrap();
            assert_eq!(
                (range.first().to_string(), range.last().to_string()),
                (first.to_owned(), last.to_owned())
            );
        }
        for wrong in ["", "10.0.0.0", "10.0.0.0/33", "::/129", "x/8"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
