//! The node's end of a pod's wire: a link of its own that has the gateway's address, and the way to the pod behind it. Nothing is
//! switched and nobody is asked who has which address: packets of a pod meet one link on the node and not two, and none of the kernel's
//! filters for bridges.

use std::net::IpAddr;

use kedge_netlink::address::Held;
use kedge_netlink::link::{Link, Mac};
use kedge_netlink::neighbour::Neighbour;
use kedge_netlink::route::Route;
use kedge_netlink::{Message, address, link, neighbour, route};
use kedge_range::width;

use crate::network::Network;
use crate::owner::{Owner, mac_of};
use crate::records::Record;
use crate::ways;

/// A pod's address and the gateway that it sends everything to. `None` if the node has no such range any more.
pub(crate) type Placed = (IpAddr, Option<IpAddr>);

/// One for all wires, and the bridge's: whom a pod knows as its gateway is the same whichever link it talks to.
pub(crate) fn gateway_mac(network: &Network) -> Mac {
    network.ranges.first().map(|range| mac_of(range.gateway())).unwrap_or_default()
}

/// An address that comes back has the same hardware address again.
pub(crate) fn pod_mac(addresses: &[IpAddr]) -> Mac {
    addresses.first().copied().map(mac_of).unwrap_or_default()
}

/// Everything about the node's end that depends on the pod. Routes want a link that is up, and the kernel is busy with one that came up:
/// what can be done before is.
pub(crate) fn ends(link: u32, mac: Mac, addresses: &[Placed]) -> Vec<Message> {
    let mut wanted = Vec::new();
    // Each wire has it, so that it is from the gateway that a pod hears whom it must not see.
    let gateways = addresses.iter().filter_map(|(_, gateway)| *gateway);
    wanted.extend(gateways.map(|gateway| address::add(link, gateway, width(gateway))));
    wanted.push(link::up(link));
    for (pod, _) in addresses {
        wanted.push(neighbour::set(&Neighbour { link, address: *pod, mac }));
        wanted.push(route::set(&way(link, *pod)));
    }
    wanted
}

/// What is missing at the ends of wires that are there: somebody had his hands in it, or they were ports of the bridge, as they all
/// once were. Pods notice nothing.
pub(crate) fn mended(
    network: &Network,
    pods: &[(Owner, Record)],
    (links, held, routes): (&[Link], &[Held], &[Route]),
) -> Vec<Message> {
    let bridge = links.iter().find(|link| link.name == network.bridge);
    // Pods that had the bridge for their gateway know its hardware address, whatever ranges the node has by now.
    let known = bridge.and_then(|bridge| bridge.mac.first_chunk().copied());
    let mut wanted = Vec::new();
    for (owner, record) in pods {
        let name = owner.wire(&network.bridge);
        let Some(wire) = links.iter().find(|link| link.name == name) else { continue };
        let addresses: Vec<Placed> =
            record.addresses.iter().map(|pod| (*pod, gateway(network, bridge, held, *pod))).collect();
        let has = |(pod, gateway): &Placed| {
            is_way(routes, wire.index, *pod)
                && gateway.is_none_or(|gateway| is_held(held, wire.index, gateway))
        };
        if wire.master.is_some() {
            wanted.push(link::part(wire.index, known.unwrap_or_else(|| gateway_mac(network))));
        }
        if wire.group != network.mark() {
            wanted.extend([link::set_group(wire.index, network.mark()), link::settle(&wire.name)]);
        }
        if wire.master.is_some() || !addresses.iter().all(has) {
            wanted.extend(ends(wire.index, pod_mac(&record.addresses), &addresses));
        }
    }
    wanted
}

pub(crate) fn is_way(routes: &[Route], link: u32, pod: IpAddr) -> bool {
    routes.iter().any(|route| route.link == link && route.to == (pod, width(pod)) && route.via.is_none())
}

pub(crate) fn is_held(held: &[Held], link: u32, gateway: IpAddr) -> bool {
    held.iter().any(|held| held.link == link && held.address == gateway)
}

/// Of a range that the node has, or of one that it had before and that its bridge keeps for those that are left of it.
fn gateway(network: &Network, bridge: Option<&Link>, held: &[Held], pod: IpAddr) -> Option<IpAddr> {
    let now = network.ranges.iter().find(|range| range.contains(pod)).map(|range| range.gateway());
    now.or_else(|| {
        let bridge = bridge?;
        let before = held.iter().filter(|held| held.link == bridge.index);
        let mut before = before.filter_map(|held| kedge_range::Range::new(held.address, held.bits));
        before.find(|range| range.contains(pod)).map(|range| range.gateway())
    })
}

/// Of no metric: those to other nodes are known by theirs.
fn way(link: u32, pod: IpAddr) -> Route {
    Route { to: (pod, width(pod)), via: None, link, metric: 0, origin: ways::ORIGIN }
}
