//! What all pods of a node share: the bridge with the gateways, the kernel's settings for it, and the table of rules.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use kedge_netlink::address::Held;
use kedge_netlink::link::Link;
use kedge_netlink::{Errno, NetlinkError, Socket, address, link};

use crate::error::NetworkError;
use crate::filter;
use crate::network::Network;
use crate::owner::mac_of;
use crate::range::Range;
use crate::records::{Record, Records};

const SETTINGS: &str = "/proc/sys/net";
/// An address for documentation, that nobody has: the way to it is the way to everybody.
const ANYBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const USUAL_MTU: u32 = 1500;

/// Makes everything that the node's pods share, or makes it again what it should be. Pods that are there stay connected.
pub fn prepare(network: &Network) -> Result<(), NetworkError> {
    // Whoever gets or loses a door meanwhile waits, so that the new table has just the doors that there are.
    let records = Records::lock(&network.records)?;
    let pods: Vec<Record> = records.all()?.into_iter().map(|(_, record)| record).collect();
    make_bridge(network, &pods)?;
    Socket::netfilter()?.apply(&mut filter::table(network, &pods))?;
    Ok(())
}

/// The bridge's number; it is made if a start of the machine or a hand took it away.
pub(crate) fn ensure(network: &Network, socket: &mut Socket) -> Result<u32, NetworkError> {
    match socket.link(&network.bridge) {
        Ok(bridge) if bridge.is_up => Ok(bridge.index),
        Err(error) if !error.is(Errno::NODEV) => Err(error.into()),
        _ => {
            prepare(network)?;
            Ok(socket.link(&network.bridge)?.index)
        }
    }
}

/// How large packets may be on the way to others.
pub fn outward_mtu() -> Result<u32, NetworkError> {
    let mut socket = Socket::route()?;
    let way = match socket.link_towards(ANYBODY) {
        Ok(way) => way,
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

fn make_bridge(network: &Network, pods: &[Record]) -> Result<(), NetworkError> {
    let mut socket = Socket::route()?;
    let links = socket.links()?;
    let held = socket.addresses()?;
    for range in &network.ranges {
        let others = held.iter().filter(|held| range.contains(held.address));
        let named = others.filter_map(|held| links.iter().find(|link| link.index == held.link));
        if let Some(link) = named.into_iter().find(|link| link.name != network.bridge) {
            return Err(NetworkError::Taken { range: *range, link: link.name.clone() });
        }
    }
    // Its own name gives it a hardware address that stays, whoever is connected to it.
    let gateway = network.ranges.first().map_or(ANYBODY, |range| range.gateway());
    match socket.tell(&mut [link::bridge(&network.bridge, mac_of(gateway), network.mtu)]) {
        Err(error) if !error.is(Errno::EXIST) => return Err(error.into()),
        _ => {}
    }
    let bridge = socket.link(&network.bridge)?;
    let mut wanted = vec![link::up(bridge.index)];
    if bridge.mtu != network.mtu {
        wanted.push(link::set_mtu(bridge.index, network.mtu));
    }
    let gateways = network.ranges.iter();
    wanted.extend(gateways.map(|range| address::add(bridge.index, range.gateway(), range.bits())));
    let old = held.iter().filter(|held| held.link == bridge.index && is_stale(held, network, pods));
    wanted.extend(old.map(|held| address::remove(held.link, held.address, held.bits)));
    socket.tell(&mut wanted)?;
    settings(network)
}

/// A gateway of a range that the node had before, once no pod has an address of it any more.
fn is_stale(held: &Held, network: &Network, pods: &[Record]) -> bool {
    let Some(range) = Range::new(held.address, held.bits) else { return false };
    let is_gateway = range.gateway() == held.address && !network.ranges.contains(&range);
    is_gateway && !pods.iter().flat_map(|pod| &pod.addresses).any(|address| range.contains(*address))
}

fn settings(network: &Network) -> Result<(), NetworkError> {
    let has = |is_v4: bool| network.ranges.iter().any(|range| range.gateway().is_ipv4() == is_v4);
    if has(true) {
        set("ipv4/ip_forward", "1")?;
        // The answer of a pod behind a door at 127.0.0.1 comes back by the bridge.
        set(&format!("ipv4/conf/{}/route_localnet", network.bridge), "1")?;
    }
    if has(false) {
        keep_advertised_routes()?;
        set("ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

/// A machine that forwards no longer learns its own way out from its router, unless it is told to.
fn keep_advertised_routes() -> Result<(), NetworkError> {
    let folder = Path::new(SETTINGS).join("ipv6/conf");
    let failed = |source| NetworkError::Setting { path: folder.clone(), source };
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str().filter(|name| !matches!(*name, "all" | "default")) else { continue };
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
