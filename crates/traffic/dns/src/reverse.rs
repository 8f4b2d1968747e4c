//! Names that are addresses backwards: `10.0.96.10.in-addr.arpa`, `….ip6.arpa`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::wire::Name;

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
}
