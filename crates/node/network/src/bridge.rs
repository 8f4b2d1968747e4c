//! What all pods of a node share: the bridge, which holds the gateways' addresses and whose ports are none, the kernel's settings, and
//! the table of rules.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use kedge_netlink::address::Held;
use kedge_netlink::link::Link;
use kedge_netlink::route::Route;
use kedge_netlink::{Errno, Namespace, NetlinkError, Socket, address, link};
use kedge_range::Range;

use crate::error::NetworkError;
use crate::filter;
use crate::network::Network;
use crate::owner::Owner;
use crate::records::{Record, Records};
use crate::ways;
use crate::wire;

const SETTINGS: &str = "/proc/sys/net";
/// An address for documentation, that nobody has: the way to it is the way to everybody.
const ANYBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const USUAL_MTU: u32 = 1500;

/// Makes everything that the node's pods share, or makes it again what it should be. Pods that are there stay connected.
pub fn prepare(network: &Network) -> Result<(), NetworkError> {
    // Whoever gets or loses a door meanwhile waits, so that the new table has just the doors that there are.
    let records = Records::lock(&network.records)?;
    let pods = records.all()?;
    make_bridge(network, &pods)?;
    let doors: Vec<Record> = pods.iter().map(|(_, record)| record.clone()).collect();
    Socket::netfilter()?.apply(&mut filter::table(network, &doors))?;
    drop(records);
    fit(network, &pods)
}

/// Gives pods that are there packets of the size that new ones get.
fn fit(network: &Network, pods: &[(Owner, Record)]) -> Result<(), NetworkError> {
    let mut socket = Socket::route()?;
    for (owner, record) in pods {
        let Ok(wire) = socket.link(&owner.wire(&network.bridge)) else { continue };
        if wire.mtu == network.mtu {
            continue;
        }
        socket.tell(&mut [link::set_mtu(wire.index, network.mtu)])?;
        // A pod that just goes needs no smaller packets.
        let Ok(namespace) = Namespace::open(&record.namespace) else { continue };
        let fitted = namespace.inside(|| {
            let mut socket = Socket::route()?;
            let index = socket.link(&owner.link)?.index;
            socket.tell(&mut [link::set_mtu(index, network.mtu)])
        });
        fitted.map_err(|source| NetworkError::Namespace { path: record.namespace.clone(), source })??;
    }
    Ok(())
}

/// Whether what pods share is as it was made, as far as links go.
pub fn is_prepared(network: &Network) -> Result<bool, NetworkError> {
    let mut socket = Socket::route()?;
    let bridge = match socket.link(&network.bridge) {
        Ok(bridge) => bridge,
        Err(error) if error.is(Errno::NODEV) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let held = socket.addresses()?;
    let has =
        |range: &Range| held.iter().any(|held| held.link == bridge.index && held.address == range.gateway());
    Ok(bridge.is_up && bridge.mtu == network.mtu && network.ranges.iter().all(has))
}

/// The bridge is made if a start of the machine or a hand took it away.
pub(crate) fn ensure(network: &Network, socket: &mut Socket) -> Result<(), NetworkError> {
    match socket.link(&network.bridge) {
        Ok(bridge) if bridge.is_up => Ok(()),
        Err(error) if !error.is(Errno::NODEV) => Err(error.into()),
        _ => prepare(network),
    }
}

/// How large packets may be on the way to others.
pub fn outward_mtu() -> Result<u32, NetworkError> {
    let mut socket = Socket::route()?;
    let way = match socket.exit_to(ANYBODY) {
        Ok(way) => way.link,
        // A machine without a way out.
        Err(NetlinkError::Refused { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let links = socket.links()?;
    let link = links.iter().find(|link| Some(link.index) == way && !is_loopback(link));
    Ok(link.map_or(USUAL_MTU, |link| link.mtu))
}

fn is_loopback(link: &Link) -> bool {
    link.name == "lo"
}

fn make_bridge(network: &Network, pods: &[(Owner, Record)]) -> Result<(), NetworkError> {
    let mut socket = Socket::route()?;
    let links = socket.links()?;
    let held = socket.addresses()?;
    let routes = socket.routes()?;
    // A wire may be there for a while after its pod is, and somebody may have put one into another group.
    let mut own = vec![network.bridge.clone(), network.tunnel()];
    own.extend(pods.iter().map(|(owner, _)| owner.wire(&network.bridge)));
    let is_own = |link: &Link| link.group == network.mark() || own.contains(&link.name);
    if let Some(taken) = network.ranges.iter().find_map(|range| taken(is_own, range, &links, &held, &routes))
    {
        return Err(taken);
    }
    match socket.tell(&mut [link::bridge(&network.bridge, wire::gateway_mac(network), network.mtu)]) {
        Err(error) if !error.is(Errno::EXIST) => return Err(error.into()),
        _ => {}
    }
    let bridge = socket.link(&network.bridge)?;
    let mut wanted = vec![link::up(bridge.index)];
    if bridge.mtu != network.mtu {
        wanted.push(link::set_mtu(bridge.index, network.mtu));
    }
    if bridge.group != network.mark() {
        wanted.push(link::set_group(bridge.index, network.mark()));
    }
    let gateways = network.ranges.iter();
    wanted.extend(gateways.map(|range| address::add(bridge.index, range.gateway(), range.bits())));
    let old = held.iter().filter(|held| held.link == bridge.index && is_stale(held, network, pods));
    wanted.extend(old.map(|held| address::remove(held.link, held.address, held.bits)));
    wanted.extend(wire::mended(network, pods, (&links, &held, &routes)));
    socket.tell(&mut wanted)?;
    settings(network, pods)
}

/// Whoever else on this machine has addresses of a range, or the way to some.
fn taken(
    is_own: impl Fn(&Link) -> bool,
    range: &Range,
    links: &[Link],
    held: &[Held],
    routes: &[Route],
) -> Option<NetworkError> {
    let networks = held.iter().filter_map(|held| Some((held.link, Range::new(held.address, held.bits)?)));
    let networks = networks.filter(|(_, other)| other.overlaps(range));
    // A way to more than the range is no claim to it: ours is the better one.
    let others = routes.iter().filter(|route| route.origin != ways::ORIGIN);
    let ways = others.filter_map(|route| Some((route.link, Range::new(route.to.0, route.to.1)?)));
    let ways = ways.filter(|(_, other)| other.bits() >= range.bits() && other.overlaps(range));
    networks.chain(ways).find_map(|(index, other)| {
        let link = links.iter().find(|link| link.index == index && !is_own(link))?;
        Some(NetworkError::Taken { range: *range, link: link.name.clone(), other })
    })
}

/// A gateway of a range that the node had before, once no pod has an address of it any more.
fn is_stale(held: &Held, network: &Network, pods: &[(Owner, Record)]) -> bool {
    let Some(range) = Range::new(held.address, held.bits) else { return false };
    let is_gateway = range.gateway() == held.address && !network.ranges.contains(&range);
    is_gateway && !pods.iter().flat_map(|(_, pod)| &pod.addresses).any(|address| range.contains(*address))
}

fn settings(network: &Network, pods: &[(Owner, Record)]) -> Result<(), NetworkError> {
    let has = |is_v4: bool| network.ranges.iter().any(|range| range.gateway().is_ipv4() == is_v4);
    if has(true) {
        set("ipv4/ip_forward", "1")?;
        quiet();
    }
    if has(false) {
        let wires = pods.iter().map(|(owner, _)| owner.wire(&network.bridge));
        keep_advertised_routes(&wires.chain([network.bridge.clone()]).collect::<Vec<_>>())?;
        set("ipv6/conf/all/forwarding", "1")?;
        // Nobody else can have the bridge's own address: its first pod need not wait until nobody has answered.
        set(&format!("ipv6/conf/{}/accept_dad", network.bridge), "0")?;
    }
    Ok(())
}

/// A pod that calls itself through the node is reached by the link that it came from, and each such packet makes the kernel look for
/// somebody to tell of a shorter way, which there is not. The rules drop what it would tell in any case: where this cannot be set, it only
/// costs time. Others keep what their own links say; it is asked of both.
fn quiet() {
    let _quiet = set("ipv4/conf/all/send_redirects", "0");
}

/// Who is reached straight may answer in a tunnel: it may see links otherwise than we do.
pub(crate) fn accept_from_anywhere(link: &str) -> Result<(), NetworkError> {
    set(&format!("ipv4/conf/{link}/rp_filter"), "2")
}

/// A machine that forwards no longer learns its own way out from its router, unless it is told to. Pods are nobody's routers.
fn keep_advertised_routes(own: &[String]) -> Result<(), NetworkError> {
    let folder = Path::new(SETTINGS).join("ipv6/conf");
    let failed = |source| NetworkError::Setting { path: folder.clone(), source };
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str().filter(|name| !matches!(*name, "all" | "default")) else { continue };
        if own.iter().any(|own| own == name) {
            continue;
        }
        let accepts = format!("ipv6/conf/{name}/accept_ra");
        if fs::read_to_string(Path::new(SETTINGS).join(&accepts)).is_ok_and(|now| now.trim() == "1") {
            set(&accepts, "2")?;
        }
    }
    Ok(())
}

/// Only what differs is written: where the settings cannot be changed they are often right already.
fn set(name: &str, value: &str) -> Result<(), NetworkError> {
    let path: PathBuf = Path::new(SETTINGS).join(name);
    match fs::read_to_string(&path) {
        Ok(now) if now.trim() == value => Ok(()),
        // A link that was taken away between two looks.
        Err(error) if error.kind() == ErrorKind::NotFound && name.contains("accept_ra") => Ok(()),
        _ => fs::write(&path, value).map_err(|source| NetworkError::Setting { path, source }),
    }
}
