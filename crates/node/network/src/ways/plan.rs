//! Which way leads to which node, and what the kernel has to be told for it. Asks nobody.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use kedge_netlink::link::Mac;
use kedge_netlink::neighbour::{Carrier, Neighbour};
use kedge_netlink::route::Route;
use kedge_range::Range;

use super::{Backend, Member};
use crate::owner::mac_of;

/// Routes with this number are ours. Others use small ones and those above 180.
pub(crate) const ORIGIN: u8 = 107;
/// What a frame, its number, a datagram and a packet of the older family need around a packet.
const AROUND_V4: u32 = 50;
const AROUND_V6: u32 = 70;
/// Every packet of the newer family may be this large.
const LEAST_MTU: u32 = 1280;

/// Where an address is as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this very machine.
    Here,
    OnLink {
        link: u32,
        mtu: u32,
    },
    /// Behind a gateway, or on a link that knows no hardware addresses.
    Beyond {
        mtu: u32,
    },
}

/// Addresses that no way leads to are not among them.
pub(super) type Places = HashMap<IpAddr, Place>;

/// Which way leads to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Straight {
        to: IpAddr,
        link: u32,
    },
    /// In a tunnel that ends at this machine, which is known in it by this hardware address.
    Tunnel {
        to: IpAddr,
        mac: Mac,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) ways: BTreeMap<Range, Way>,
    pub(super) lost: Vec<String>,
    /// Others on other machines may use the tunnel to us even if we go straight to them.
    pub(super) has_tunnel: bool,
    /// The smallest of the links that lead to others.
    pub(super) narrowest: Option<u32>,
}

/// Decides for each range of the others.
pub(super) fn plan(backend: Backend, me: &Member, others: &[Member], places: &Places) -> Plan {
    let mut plan = Plan::default();
    let tunnels_v4 = me.addresses.first().is_none_or(IpAddr::is_ipv4);
    for other in others {
        let known = |address: &IpAddr| places.get(address).copied();
        if other.addresses.iter().any(|address| known(address) == Some(Place::Here)) {
            // Its pods are on a bridge of this machine.
            continue;
        }
        for range in &other.ranges {
            if let Some(own) = me.ranges.iter().find(|own| own.overlaps(range)) {
                plan.lost.push(format!("{range} of {} is also ours ({own})", other.name));
                continue;
            }
            if plan.ways.contains_key(range) {
                plan.lost.push(format!("{range} of {} is also another node's", other.name));
                continue;
            }
            match way(backend, tunnels_v4, other, range, places) {
                Ok((way, mtu)) => {
                    plan.narrowest = Some(plan.narrowest.map_or(mtu, |narrowest| narrowest.min(mtu)));
                    plan.ways.insert(*range, way);
                }
                Err(why) => plan.lost.push(format!("pods of {} in {range}: {why}", other.name)),
            }
        }
        plan.has_tunnel |= backend != Backend::Routes && !other.ranges.is_empty();
    }
    plan
}

fn way(
    backend: Backend,
    tunnels_v4: bool,
    other: &Member,
    range: &Range,
    places: &Places,
) -> Result<(Way, u32), &'static str> {
    let known = |address: &IpAddr| Some((*address, *places.get(address)?));
    let mut near = other.addresses.iter().filter_map(known).filter_map(|(to, place)| match place {
        Place::OnLink { link, mtu } => Some((to, link, mtu)),
        Place::Here | Place::Beyond { .. } => None,
    });
    let straight = near.find(|(to, ..)| to.is_ipv4() == range.is_v4());
    if let (Some((to, link, mtu)), true) = (straight, backend != Backend::VxlanOnly) {
        return Ok((Way::Straight { to, link }, mtu));
    }
    if backend == Backend::Routes {
        return Err("it is on no link of this node, and --pod-network routes makes no tunnels");
    }
    let Some(end) = other.addresses.iter().find(|address| address.is_ipv4() == tunnels_v4) else {
        return Err("it has no address of the family in which tunnels are made");
    };
    match places.get(end) {
        Some(Place::OnLink { mtu, .. } | Place::Beyond { mtu }) => {
            let mac = other.ranges.first().map_or_else(Mac::default, tunnel_mac);
            Ok((Way::Tunnel { to: *end, mac }, *mtu))
        }
        Some(Place::Here) | None => Err("no way leads to its address"),
    }
}

/// Everybody can tell a node's from its first range.
pub(super) fn tunnel_mac(range: &Range) -> Mac {
    mac_of(range.first())
}

impl Plan {
    /// How large packets of pods may be, if the way out takes `outward`.
    pub(super) fn mtu(&self, me: &Member, outward: u32) -> u32 {
        let narrowest = self.narrowest.map_or(outward, |narrowest| narrowest.min(outward));
        match self.ways.values().any(|way| matches!(way, Way::Tunnel { .. })) {
            true => within(me, narrowest),
            false => narrowest,
        }
    }
}

/// What fits into a tunnel over links that take this much.
pub(super) fn within(me: &Member, mtu: u32) -> u32 {
    let around = if me.addresses.first().is_none_or(IpAddr::is_ipv4) { AROUND_V4 } else { AROUND_V6 };
    mtu.saturating_sub(around).max(LEAST_MTU)
}

/// What the kernel knows of ways that are ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) carriers: Vec<Carrier>,
    pub(super) neighbours: Vec<Neighbour>,
    pub(super) routes: Vec<Route>,
}

impl Known {
    /// What it should know; `metric` tells this node's routes from those of another node of the same machine.
    pub(super) fn wanted(plan: &Plan, tunnel: Option<u32>, metric: u32) -> Self {
        let mut wanted = Self::default();
        for (range, way) in &plan.ways {
            let route = |via, link| Route {
                to: (range.first(), range.bits()),
                via: Some(via),
                link,
                metric,
                origin: ORIGIN,
            };
            match (way, tunnel) {
                (Way::Straight { to, link }, _) => wanted.routes.push(route(*to, *link)),
                (Way::Tunnel { to, mac }, Some(link)) => {
                    let carrier = Carrier { link, mac: *mac, machine: *to };
                    if !wanted.carriers.contains(&carrier) {
                        wanted.carriers.push(carrier);
                    }
                    wanted.neighbours.push(Neighbour { link, address: range.first(), mac: *mac });
                    wanted.routes.push(route(range.first(), link));
                }
                (Way::Tunnel { .. }, None) => {}
            }
        }
        wanted
    }

    /// What of this the other does not have.
    pub(super) fn without(&self, other: &Self) -> Self {
        fn rest<T: Clone + PartialEq>(all: &[T], known: &[T]) -> Vec<T> {
            all.iter().filter(|one| !known.contains(one)).cloned().collect()
        }
        Self {
            carriers: rest(&self.carriers, &other.carriers),
            neighbours: rest(&self.neighbours, &other.neighbours),
            routes: rest(&self.routes, &other.routes),
        }
    }

    /// What of this nothing in the other takes the place of: that goes by being replaced.
    pub(super) fn not_replaced_by(&self, other: &Self) -> Self {
        let mut left = self.without(other);
        left.carriers.retain(|old| !other.carriers.iter().any(|new| new.mac == old.mac));
        left.neighbours.retain(|old| !other.neighbours.iter().any(|new| new.address == old.address));
        left.routes.retain(|old| !other.routes.iter().any(|new| new.to == old.to));
        left
    }

    pub(super) fn len(&self) -> usize {
        self.carriers.len() + self.neighbours.len() + self.routes.len()
    }
}

#[cfg(test)]
mod tests;
