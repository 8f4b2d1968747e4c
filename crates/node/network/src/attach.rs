//! Connects one container to the node, and disconnects it.

use std::net::IpAddr;
use std::path::Path;

use kedge_netlink::link::{Mac, Wire};
use kedge_netlink::qdisc::Pace;
use kedge_netlink::{Errno, Namespace, Socket, address, link, qdisc, route};
use kedge_range::width;

use crate::bridge;
use crate::doors;
use crate::error::NetworkError;
use crate::leftovers;
use crate::network::Network;
use crate::owner::Owner;
use crate::pace::Limits;
use crate::records::{Record, Records};
use crate::wire::{ends, gateway_mac, pod_mac};

/// How a container is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    /// The node's end of the wire.
    pub(crate) wire: String,
    pub(crate) mac: Mac,
    pub(crate) mtu: u32,
    /// With the gateway of each.
    pub(crate) addresses: Vec<(IpAddr, IpAddr)>,
}

/// Connects the owner's link in a namespace; on failure nothing is left.
pub(crate) fn attach(
    network: &Network,
    owner: &Owner,
    path: &Path,
    doors: Vec<doors::Door>,
    limits: Limits,
) -> Result<Attached, NetworkError> {
    let namespace =
        Namespace::open(path).map_err(|source| NetworkError::Namespace { path: path.to_owned(), source })?;
    let mut socket = Socket::route()?;
    // Before the records are locked: it may have to lock them itself.
    bridge::ensure(network, &mut socket)?;
    let record = reserve(network, owner, path, doors, limits)?;
    let attached = connect(network, owner, (path, &namespace), &record, &mut socket);
    if attached.is_err() {
        // What went wrong first is what is told.
        let _undone = detach(network, owner);
    }
    attached
}

fn reserve(
    network: &Network,
    owner: &Owner,
    path: &Path,
    doors: Vec<doors::Door>,
    limits: Limits,
) -> Result<Record, NetworkError> {
    let records = Records::lock(&network.records)?;
    if !matches!(records.find(owner), Ok(None)) {
        // A call of which nobody waited for the end, or which did not live to write it down.
        cut(network, owner)?;
        give_back(network, owner, &records)?;
    }
    if !doors.is_empty() {
        leftovers::reap_locked(network, &records)?;
        let others = records.all()?;
        let held =
            others.iter().flat_map(|(owner, record)| record.doors.iter().map(move |door| (owner, door)));
        if let Some((owner, door)) =
            held.into_iter().find(|(_, door)| doors.iter().any(|new| new.clashes(door)))
        {
            return Err(NetworkError::Door { port: door.port, container: owner.container.clone() });
        }
    }
    let record = records.reserve(owner, &network.ranges, path, doors, limits)?;
    if let Err(error) = doors::open(&network.table, &record) {
        records.release(owner)?;
        return Err(error.into());
    }
    Ok(record)
}

fn connect(
    network: &Network,
    owner: &Owner,
    (path, namespace): (&Path, &Namespace),
    record: &Record,
    socket: &mut Socket,
) -> Result<Attached, NetworkError> {
    let wire = owner.wire(&network.bridge);
    let mac = pod_mac(&record.addresses);
    let made = Wire {
        here: &wire,
        here_mac: gateway_mac(network),
        group: network.mark(),
        there: &owner.link,
        there_mac: mac,
        namespace,
        mtu: network.mtu,
    };
    match socket.tell(&mut [link::wire(&made), link::settle_in_both(&wire)]) {
        Err(error) if error.is(Errno::AFNOSUPPORT) => socket.tell(&mut [link::settle(&wire)])?,
        done => done?,
    }
    // It stays in the namespace that it was opened in.
    let there = namespace.inside(Socket::route);
    let mut there = there.map_err(|source| NetworkError::Namespace { path: path.to_owned(), source })??;
    // Packets of pods may just get smaller: whoever makes them so sees this wire, or we see what he did before.
    let mtu = socket.link(&network.bridge)?.mtu;
    let (here_index, there_index) = (socket.link(&wire)?.index, there.link(&owner.link)?.index);
    let gateway = |address: &IpAddr| {
        let range = network.ranges.iter().find(|range| range.contains(*address));
        range.map(|range| (*address, range.gateway()))
    };
    let addresses: Vec<(IpAddr, IpAddr)> = record.addresses.iter().filter_map(gateway).collect();
    let placed: Vec<_> = addresses.iter().map(|(pod, gateway)| (*pod, Some(*gateway))).collect();
    let common = |index: u32, pace: Option<Pace>| {
        let mut wanted: Vec<_> = pace.map(|pace| qdisc::limit(index, pace)).into_iter().collect();
        wanted.extend((mtu != network.mtu).then(|| link::set_mtu(index, mtu)));
        wanted
    };
    // The limit at his end is where packets can wait; only who may change his own network could take it away.
    let mut wanted = common(there_index, record.limits.from());
    // Alone on its link: everything goes through the node, which sees it all and may have a say in it.
    wanted.extend(addresses.iter().map(|(pod, _)| address::add(there_index, *pod, width(*pod))));
    wanted.push(link::up(there_index));
    wanted.extend(addresses.iter().map(|(_, gateway)| route::default(there_index, *gateway)));
    there.tell(&mut wanted)?;
    // Right after the other end: see what is said of wires.
    let mut wanted = common(here_index, record.limits.towards());
    wanted.extend(ends(here_index, mac, &placed));
    socket.tell(&mut wanted)?;
    Ok(Attached { wire, mac, mtu, addresses })
}

/// Disconnects the owner and gives back what he had. Doing it twice is doing it once.
pub(crate) fn detach(network: &Network, owner: &Owner) -> Result<(), NetworkError> {
    cut(network, owner)?;
    give_back(network, owner, &Records::lock(&network.records)?)
}

/// Takes the wire away. The kernel takes its time for it, so nobody should wait behind a lock meanwhile.
fn cut(network: &Network, owner: &Owner) -> Result<(), NetworkError> {
    match Socket::route()?.tell(&mut [link::delete(&owner.wire(&network.bridge))]) {
        Err(error) if !error.is(Errno::NODEV) => Err(error.into()),
        _ => Ok(()),
    }
}

fn give_back(network: &Network, owner: &Owner, records: &Records) -> Result<(), NetworkError> {
    if let Ok(Some(record)) = records.find(owner) {
        doors::close(&network.table, &record)?;
    }
    records.release(owner)
}
