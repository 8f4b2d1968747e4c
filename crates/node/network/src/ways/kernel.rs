//! What the kernel knows of the ways to other nodes, and telling it what it should know.

use std::net::IpAddr;

use kedge_netlink::link::{Link, Tunnel};
use kedge_netlink::{Errno, Message, NetlinkError, Socket, address, link, neighbour, route};
use kedge_range::width;

use super::plan::{Known, ORIGIN, Place, Places, plan, tunnel_mac, within};
use super::{Backend, Between, Member, Tended};
use crate::bridge::{self, outward_mtu};
use crate::error::NetworkError;
use crate::network::Network;

pub(super) fn tend(
    network: &Network,
    between: Between,
    me: &Member,
    others: &[Member],
) -> Result<Tended, NetworkError> {
    let mut socket = Socket::route()?;
    let links = socket.links()?;
    let places = places(&mut socket, network, &links, others)?;
    let plan = plan(between.backend, me, others, &places);
    let outward = outward_mtu()?;
    let mut changes = 0;
    let tunnel = match plan.has_tunnel && between.backend != Backend::Routes {
        true => {
            let room = within(me, plan.narrowest.map_or(outward, |narrowest| narrowest.min(outward)));
            let (index, made) = ensure_tunnel(&mut socket, network, between.port, me, room)?;
            changes += made;
            Some(index)
        }
        false => {
            changes += usize::from(drop_link(&mut socket, &network.tunnel())?);
            None
        }
    };
    let wanted = Known::wanted(&plan, tunnel, network.mark());
    let known = known(&mut socket, network, tunnel)?;
    changes += apply(&mut socket, &wanted, &known)?;
    Ok(Tended { mtu: plan.mtu(me, outward), changes, lost: plan.lost })
}

/// Takes away every way that is this node's.
pub(crate) fn remove(network: &Network) -> Result<(), NetworkError> {
    let mut socket = Socket::route()?;
    drop_link(&mut socket, &network.tunnel())?;
    let known = known(&mut socket, network, None)?;
    apply(&mut socket, &Known::default(), &known)?;
    Ok(())
}

/// Whether it is the number of this node's tunnel.
pub(super) fn is_tunnel(network: &Network, index: u32) -> bool {
    let found = Socket::route().and_then(|mut socket| socket.link(&network.tunnel()));
    // One look too many does no harm.
    found.map_or(true, |tunnel| tunnel.index == index)
}

/// Whether it is the number of a link that is no wire to a pod of this node. One that is gone is not: it is told of by its name.
pub(super) fn is_beside_pods(network: &Network, index: u32) -> bool {
    match Socket::route().and_then(|mut socket| socket.link_at(index)) {
        Ok(link) => link.group != network.mark() || link.name == network.bridge,
        // One look too many does no harm.
        Err(error) => !error.is(Errno::NODEV),
    }
}

fn places(
    socket: &mut Socket,
    network: &Network,
    links: &[Link],
    others: &[Member],
) -> Result<Places, NetworkError> {
    let own = [network.bridge.clone(), network.tunnel()];
    let mut places = Places::new();
    for address in others.iter().flat_map(|other| &other.addresses) {
        let exit = match socket.exit_to(*address) {
            Ok(exit) => exit,
            // Nobody who has no way to it now will have one without our hearing of it.
            Err(NetlinkError::Refused { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let link = links.iter().find(|link| Some(link.index) == exit.link);
        let place = match link {
            _ if exit.is_here => Place::Here,
            None => continue,
            Some(link) if own.contains(&link.name) => continue,
            Some(link) if exit.has_gateway || !link.is_ethernet => Place::Beyond { mtu: link.mtu },
            Some(link) => Place::OnLink { link: link.index, mtu: link.mtu },
        };
        places.insert(*address, place);
    }
    Ok(places)
}

/// Its number, and how much had to be changed for it.
fn ensure_tunnel(
    socket: &mut Socket,
    network: &Network,
    port: u16,
    me: &Member,
    mtu: u32,
) -> Result<(u32, usize), NetworkError> {
    let name = network.tunnel();
    let from = match me.addresses.first() {
        Some(IpAddr::V6(address)) => Some(*address),
        _ => None,
    };
    let wanted = Tunnel { id: network.tunnel_id(), port, from };
    let mac = me.ranges.first().map(tunnel_mac).unwrap_or_default();
    let found = match socket.link(&name) {
        Ok(found) if found.tunnel == Some(wanted) && found.mac == mac => Some(found),
        // It cannot be made another: what leads through it is made again with it.
        Ok(_) => {
            drop_link(socket, &name)?;
            None
        }
        Err(error) if error.is(Errno::NODEV) => None,
        Err(error) => return Err(error.into()),
    };
    let mut changes = usize::from(found.is_none());
    let found = match found {
        Some(found) => found,
        None => match socket.tell(&mut [link::tunnel(&name, mac, mtu, wanted)]) {
            Ok(()) => socket.link(&name)?,
            Err(error) if error.is(Errno::EXIST) => return Err(NetworkError::TunnelTaken { port }),
            Err(error) => return Err(error.into()),
        },
    };
    let mut messages = Vec::new();
    if !found.is_up {
        messages.push(link::up(found.index));
    }
    if found.mtu != mtu {
        messages.push(link::set_mtu(found.index, mtu));
    }
    // Who goes to other nodes from here without an address of his own is known by the first of the range, which no pod has.
    let held = socket.addresses()?;
    for range in &me.ranges {
        if !held.iter().any(|held| held.link == found.index && held.address == range.first()) {
            messages.push(address::add(found.index, range.first(), width(range.first())));
        }
    }
    let old = held.iter().filter(|held| held.link == found.index && held.bits == width(held.address));
    let old = old.filter(|held| !me.ranges.iter().any(|range| range.first() == held.address));
    messages.extend(old.map(|held| address::remove(held.link, held.address, held.bits)));
    changes += messages.len();
    socket.tell(&mut messages)?;
    bridge::accept_from_anywhere(&name)?;
    Ok((found.index, changes))
}

/// Whether it was there.
fn drop_link(socket: &mut Socket, name: &str) -> Result<bool, NetworkError> {
    match socket.tell(&mut [link::delete(name)]) {
        Ok(()) => Ok(true),
        Err(error) if error.is(Errno::NODEV) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn known(socket: &mut Socket, network: &Network, tunnel: Option<u32>) -> Result<Known, NetworkError> {
    let mut known = Known { routes: socket.routes()?, ..Known::default() };
    known.routes.retain(|route| route.origin == ORIGIN && route.metric == network.mark());
    if let Some(tunnel) = tunnel {
        known.carriers = socket.carriers(tunnel)?;
        known.neighbours = socket.neighbours(tunnel)?;
    }
    Ok(known)
}

/// A way is there only once everything that it leads over is.
fn apply(socket: &mut Socket, wanted: &Known, known: &Known) -> Result<usize, NetworkError> {
    let missing = wanted.without(known);
    let stale = known.not_replaced_by(wanted);
    let made = missing.carriers.iter().map(neighbour::carry);
    let made = made.chain(missing.neighbours.iter().map(neighbour::set));
    let mut made: Vec<Message> = made.chain(missing.routes.iter().map(route::set)).collect();
    socket.tell(&mut made)?;
    let gone = stale.routes.iter().map(route::remove);
    let gone = gone.chain(stale.neighbours.iter().map(neighbour::remove));
    for message in gone.chain(stale.carriers.iter().map(neighbour::carry_no_longer)) {
        match socket.tell(&mut [message]) {
            // Somebody else took it away meanwhile.
            Err(error) if !error.is(Errno::SRCH) && !error.is(Errno::NOENT) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(missing.len() + stale.len())
}
