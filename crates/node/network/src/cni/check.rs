//! Whether a container is still connected as it was.

use kedge_netlink::address::Held;
use kedge_netlink::route::Route;
use kedge_netlink::{Errno, Namespace, NetlinkError, Socket};

use super::answer::Failure;
use super::call::Call;
use crate::network::Network;
use crate::owner::Owner;
use crate::records::{Record, Records};
use crate::wire::{is_held, is_way};

/// The container's side of it.
struct Inside {
    is_up: bool,
    held: Vec<Held>,
    routes: Vec<Route>,
    is_limited: bool,
}

/// The first thing that is not as it should be.
pub(super) fn check(network: &Network, call: &Call) -> Result<(), Failure> {
    let (owner, path) = (call.owner()?, call.namespace()?);
    let record = Records::lock(&network.records)?.find(owner)?.ok_or(Failure::Unknown)?;
    let told = call.config.before.as_ref();
    if let Some(address) =
        told.and_then(|before| before.addresses().find(|ip| !record.addresses.contains(ip)))
    {
        return Err(Failure::Lost(format!("{address} is not {owner}'s any more")));
    }
    outside(network, owner, &record)?;
    let namespace = Namespace::open(path).map_err(|error| Failure::no_namespace(path, error))?;
    let seen = namespace.inside(|| look(owner)).map_err(|error| Failure::no_namespace(path, error))?;
    inside(network, owner, &record, &seen.map_err(|error| absent(error, &owner.link))?)
}

fn outside(network: &Network, owner: &Owner, record: &Record) -> Result<(), Failure> {
    let wire = owner.wire(&network.bridge);
    let mut socket = Socket::route()?;
    let mut find = |name: &str| socket.link(name).map_err(|error| absent(error, name));
    let (bridge, end) = (find(&network.bridge)?, find(&wire)?);
    if !end.is_up || end.master.is_some() {
        return Err(Failure::Lost(format!("{wire} is not switched on, or a port of some bridge")));
    }
    let routes = socket.routes()?;
    if let Some(lost) = record.addresses.iter().find(|pod| !is_way(&routes, end.index, **pod)) {
        return Err(Failure::Lost(format!("{wire} is not the way to {lost}")));
    }
    if record.limits.towards().is_some() && !socket.is_limited(end.index)? {
        return Err(Failure::Lost(format!("{wire} has no limit")));
    }
    let held = socket.addresses()?;
    for range in &network.ranges {
        let gateway = range.gateway();
        if !is_held(&held, bridge.index, gateway) {
            return Err(Failure::Lost(format!("{} has no {gateway}", network.bridge)));
        }
        let is_used = record.addresses.iter().any(|pod| range.contains(*pod));
        if is_used && !is_held(&held, end.index, gateway) {
            return Err(Failure::Lost(format!("{wire} has no {gateway}")));
        }
    }
    Ok(())
}

fn look(owner: &Owner) -> Result<Inside, NetlinkError> {
    let mut socket = Socket::route()?;
    let link = socket.link(&owner.link)?;
    let mut held = socket.addresses()?;
    held.retain(|held| held.link == link.index);
    let mut routes = socket.routes()?;
    routes.retain(|route| route.link == link.index);
    Ok(Inside { is_up: link.is_up, held, routes, is_limited: socket.is_limited(link.index)? })
}

fn inside(network: &Network, owner: &Owner, record: &Record, seen: &Inside) -> Result<(), Failure> {
    let link = &owner.link;
    if !seen.is_up {
        return Err(Failure::Lost(format!("{link} is not switched on")));
    }
    if record.limits.from().is_some() && !seen.is_limited {
        return Err(Failure::Lost(format!("{link} has no limit")));
    }
    for address in &record.addresses {
        if !seen.held.iter().any(|held| held.address == *address) {
            return Err(Failure::Lost(format!("{link} has no {address}")));
        }
        // An address of a range that the node had before has no gateway to be compared with.
        let range = network.ranges.iter().find(|range| range.contains(*address));
        let leads = |route: &Route| {
            route.to.1 == 0
                && range.is_none_or(|range| route.via == Some(range.gateway()))
                && route.to.0.is_ipv4() == address.is_ipv4()
        };
        if !seen.routes.iter().any(leads) {
            return Err(Failure::Lost(format!("{link} has no way out for {address}")));
        }
    }
    Ok(())
}

fn absent(error: NetlinkError, link: &str) -> Failure {
    match error.is(Errno::NODEV) {
        true => Failure::Lost(format!("there is no {link}")),
        false => Failure::Kernel(error),
    }
}
