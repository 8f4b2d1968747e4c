//! Addresses: ranges as they are typed, and where others can reach this machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.96.0.0/16`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Cidr {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of addresses like 10.96.0.0/16");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if bits > longest { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

impl TryFrom<String> for Cidr {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl From<Cidr> for String {
    fn from(range: Cidr) -> Self {
        range.to_string()
    }
}

impl Cidr {
    /// The first address after the range's own: the API's Service has it.
    pub(crate) fn first(self) -> IpAddr {
        self.nth(1)
    }

    /// The address that stands so far behind the range's own.
    pub(crate) fn nth(self, number: u8) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from((u32::from(address) & mask) | u32::from(number)))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from((u128::from(address) & mask) | u128::from(number)))
            }
        }
    }
}

/// The address from which this machine would reach others. Choosing it sends nothing.
pub(crate) fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address for documentation, that nobody has.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

/// The same in the newer family; most machines reach nobody by it.
pub(crate) fn outward_v6() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

pub(crate) fn host_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(text.trim().to_ascii_lowercase()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_a_range() {
        for (range, first) in [
            ("10.96.0.0/16", "10.96.0.1"),
            ("10.96.3.7/12", "10.96.0.1"),
            ("fd00::/108", "fd00::1"),
            ("0.0.0.0/0", "0.0.0.1"),
        ] {
            assert_eq!(range.parse::<Cidr>().unwrap().first().to_string(), first, "{range}");
        }
        assert_eq!("10.96.0.0/16".parse::<Cidr>().unwrap().nth(10).to_string(), "10.96.0.10");
        for wrong in ["", "10.0.0.0", "10.0.0.0/33", "x/8", "::/129"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
    }
}
