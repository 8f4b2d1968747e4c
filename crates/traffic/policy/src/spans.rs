//! Runs of neighbours, of addresses or of ports: made of ranges, joined, and cut. Both ends belong to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kedge_netlink::nft::Family;

/// From one address to another of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) first: IpAddr,
    pub(crate) last: IpAddr,
}

impl Span {
    /// `10.0.0.0/8`, whichever of its addresses it is written with.
    pub(crate) fn of_range(text: &str) -> Option<Self> {
        let (address, bits) = text.trim().split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let width = if address.is_ipv4() { 32u32 } else { 128 };
        let host = width.checked_sub(bits.parse().ok()?)?;
        let ones = u128::MAX.checked_shr(128 - host).unwrap_or(0);
        let first = number(address) & !ones;
        Some(Self { first: like(address, first), last: like(address, first | ones) })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && (self.first..=self.last).contains(&address)
    }

    /// Every address of its family.
    pub(crate) fn is_everything(&self) -> bool {
        Some(*self) == Self::of_range(if self.first.is_ipv4() { "0.0.0.0/0" } else { "::/0" })
    }
}

pub(crate) fn family(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

/// What is left of one without the others.
pub(crate) fn outside(span: Span, without: &[Span]) -> Vec<Span> {
    let same = without.iter().filter(|other| other.first.is_ipv4() == span.first.is_ipv4());
    let holes = join(same.map(|other| (number(other.first), number(other.last))).collect());
    let (mut from, last) = (Some(number(span.first)), number(span.last));
    let mut left = Vec::new();
    for (first, end) in holes {
        let Some(start) = from.filter(|start| *start <= last) else { break };
        if end < start {
            continue;
        }
        if first > start {
            left.push((start, last.min(first - 1)));
        }
        from = end.checked_add(1);
    }
    if let Some(start) = from.filter(|start| *start <= last) {
        left.push((start, last));
    }
    left.into_iter()
        .map(|(first, last)| Span { first: like(span.first, first), last: like(span.first, last) })
        .collect()
}

/// The same addresses of one family, in as few spans as can be.
pub(crate) fn united<'a>(spans: impl IntoIterator<Item = &'a Span>, family_wanted: Family) -> Vec<Span> {
    let spans = spans.into_iter().filter(|span| family(span.first) == family_wanted);
    let zero = match family_wanted {
        Family::V4 => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    join(spans.map(|span| (number(span.first), number(span.last))).collect())
        .into_iter()
        .map(|(first, last)| Span { first: like(zero, first), last: like(zero, last) })
        .collect()
}

/// The same ports, in as few spans as can be. One that ends before it begins has none.
pub(crate) fn united_ports(spans: impl IntoIterator<Item = (u16, u16)>) -> Vec<(u16, u16)> {
    let wide = spans.into_iter().filter(|(first, last)| first <= last);
    let narrow = |number: u128| u16::try_from(number).unwrap_or(u16::MAX);
    let joined = join(wide.map(|(first, last)| (first.into(), last.into())).collect());
    joined.into_iter().map(|(first, last)| (narrow(first), narrow(last))).collect()
}

/// Neighbours become one, as the kernel wants none that touch.
fn join(mut spans: Vec<(u128, u128)>) -> Vec<(u128, u128)> {
    spans.sort_unstable();
    let mut joined: Vec<(u128, u128)> = Vec::new();
    for (first, last) in spans {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// Another address of the same family.
fn like(family: IpAddr, number: u128) -> IpAddr {
    match family {
        IpAddr::V4(_) => Ipv4Addr::from((number & u128::from(u32::MAX)) as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from(number).into(),
    }
}

#[cfg(test)]
mod tests;
