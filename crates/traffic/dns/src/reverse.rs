//! Names that are addresses backwards: `10.0.96.10.in-addr.arpa`, `….ip6.arpa`. And which addresses are the cluster's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::wire::Name;

/// A range of addresses that is the cluster's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    address: IpAddr,
    bits: u8,
}

impl Range {
    pub fn new(address: IpAddr, bits: u8) -> Self {
        Self { address, bits }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let top = |number: u128, width: u32| {
            number.checked_shr(width - u32::from(self.bits).min(width)).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                top(u128::from(u32::from(own)), 32) == top(u128::from(u32::from(other)), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => top(u128::from(own), 128) == top(u128::from(other), 128),
            _ => false,
        }
    }
}

/// The whole address that a name spells, if it does.
pub(crate) fn address(name: &Name) -> Option<IpAddr> {
    let labels: Vec<&[u8]> = name.labels().collect();
    match labels.as_slice() {
        [octets @ .., b"in-addr", b"arpa"] => {
            let octets: &[&[u8]; 4] = octets.try_into().ok()?;
            let mut address = [0; 4];
            for (into, label) in address.iter_mut().rev().zip(octets) {
                *into = std::str::from_utf8(label).ok()?.parse().ok()?;
            }
            Some(Ipv4Addr::from(address).into())
        }
        [digits @ .., b"ip6", b"arpa"] => {
            let digits: &[&[u8]; 32] = digits.try_into().ok()?;
            let mut address = 0u128;
            for digit in digits.iter().rev() {
                let [digit] = digit else { return None };
                address = address << 4 | u128::from(char::from(*digit).to_digit(16)?);
            }
            Some(Ipv6Addr::from(address).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_addresses() {
        let six = format!("{}ip6.arpa", "7.".to_owned() + &"0.".repeat(27) + "0.0.d.f.");
        for (name, address_found) in [
            ("10.0.96.10.in-addr.arpa", Some("10.96.0.10")),
            ("0.96.10.in-addr.arpa", None),
            ("1.10.0.96.10.in-addr.arpa", None),
            ("300.0.96.10.in-addr.arpa", None),
            ("x.0.96.10.in-addr.arpa", None),
            (six.as_str(), Some("fd00::7")),
            ("7.0.ip6.arpa", None),
            ("example.org", None),
        ] {
            let found = address(&Name::parse(name).unwrap());
            assert_eq!(found.map(|found| found.to_string()).as_deref(), address_found, "{name}");
        }
    }

    #[test]
    fn addresses_of_the_cluster() {
        for (range, bits, address, expected) in [
            ("10.96.0.0", 16, "10.96.255.1", true),
            ("10.96.0.0", 16, "10.97.0.1", false),
            ("0.0.0.0", 0, "1.2.3.4", true),
            ("fd00::", 108, "fd00::1", true),
            ("fd00::", 108, "fd01::1", false),
            ("fd00::", 0, "10.0.0.1", false),
        ] {
            let range = Range::new(range.parse().unwrap(), bits);
            assert_eq!(range.contains(address.parse().unwrap()), expected, "{address} in {range:?}");
        }
    }
}
