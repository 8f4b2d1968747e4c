//! Networks of others on this machine: those that it is part of, and those that it knows a way to. What we made ourselves is none.

use std::net::IpAddr;

use kedge_netlink::Socket;
use kedge_range::Range;

use crate::error::NetworkError;
use crate::ways;

/// How all of our links are called, of whichever node.
const OURS: &str = "kedge-";
const LOOPBACK: &str = "lo";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub range: Range,
    pub link: String,
    /// This machine has an address of it; else it only knows the way.
    pub is_held: bool,
}

impl Other {
    /// A way to more than a range is no claim to it: there may be a better one.
    pub fn claims(&self, range: &Range) -> bool {
        self.range.overlaps(range) && (self.is_held || self.range.bits() >= range.bits())
    }
}

pub fn others() -> Result<Vec<Other>, NetworkError> {
    let mut socket = Socket::route()?;
    let links = socket.links()?;
    let held = socket.addresses()?;
    let name_of = |index: u32| links.iter().find(|link| link.index == index).map(|link| link.name.as_str());
    let is_of_ours = |index: u32| name_of(index).is_some_and(|name| name.starts_with(OURS));
    // Wires to pods have the address of a gateway, which a link of ours has too.
    let gateways: Vec<IpAddr> =
        held.iter().filter(|held| is_of_ours(held.link)).map(|held| held.address).collect();
    let held = held.into_iter().map(|held| (held.link, held.address, held.bits, true));
    let routes = socket.routes()?.into_iter().filter(|route| route.origin != ways::ORIGIN);
    let routes = routes.map(|route| (route.link, route.to.0, route.to.1, false));
    let all = held.chain(routes).filter_map(|(index, address, bits, is_held)| {
        let link = name_of(index)?.to_owned();
        let is_theirs = link != LOOPBACK && !is_of_ours(index) && !gateways.contains(&address);
        let range = Range::new(address, bits).filter(|_| is_theirs)?;
        Some(Other { range, link, is_held })
    });
    Ok(all.collect())
}
