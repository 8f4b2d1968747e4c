//! A range of addresses, and where in it to look for a free one.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rand::Rng as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "IPv4" => Some(Family::V4),
            "IPv6" => Some(Family::V6),
            _ => None,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    base: u128,
    bits: u8,
    family: Family,
}

impl Range {
    pub(crate) fn new(address: IpAddr, bits: u8) -> Self {
        let (number, family, width) = match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)), Family::V4, 32),
            IpAddr::V6(address) => (u128::from(address), Family::V6, 128),
        };
        let host = width - u32::from(bits).min(width);
        let base = number.checked_shr(host).and_then(|top| top.checked_shl(host)).unwrap_or(0);
        Self { base, bits, family }
    }

    pub(crate) fn family(&self) -> Family {
        self.family
    }

    /// The first address that a Service can have.
    pub(crate) fn first(&self) -> IpAddr {
        self.address(1)
    }

    /// One of those that Services can have, counted from the first; nothing, if there are not so many.
    pub(crate) fn nth(&self, at: u8) -> Option<IpAddr> {
        (1..=self.usable()).contains(&u128::from(at)).then(|| self.address(at.into()))
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let (number, family) = match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)), Family::V4),
            IpAddr::V6(address) => (u128::from(address), Family::V6),
        };
        family == self.family && number > self.base && number - self.base <= self.behind_first()
    }

    /// A free address. The lowest ones are left for those who name theirs, as long as there are others.
    pub(crate) fn free(&self, is_free: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        let usable = self.usable();
        let named = (usable / 16).clamp(16, 256).min(usable);
        let random = (0..32).map(|_| rand::rng().random_range(named..=usable.max(named)));
        // Where random tries don't find one the range is nearly full, and every address is looked at.
        random
            .chain(named..=usable)
            .chain(1..named)
            .filter(|at| (1..=usable).contains(at))
            .map(|at| self.address(at))
            .find(|&address| is_free(address))
    }

    fn address(&self, at: u128) -> IpAddr {
        let number = self.base + at;
        match self.family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX))),
            Family::V6 => IpAddr::V6(Ipv6Addr::from(number)),
        }
    }

    /// How many addresses are behind the first, which names the network; IPv4's last is its broadcast.
    fn behind_first(&self) -> u128 {
        let width = if self.family == Family::V4 { 32 } else { 128 };
        let last = 1_u128.checked_shl(width - u32::from(self.bits)).map_or(u128::MAX, |size| size - 1);
        if self.family == Family::V4 { last.saturating_sub(1) } else { last }
    }

    /// Of these, how many are given to those who name none: nobody has more Services, and a search must end.
    fn usable(&self) -> u128 {
        self.behind_first().min(1 << 20)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address(0), self.bits)
    }
}
