//! What nobody uses any more: of containers that are gone, and of a whole node.

use std::fs;
use std::io::ErrorKind;

use kedge_netlink::link::Link;
use kedge_netlink::nft::Batch;
use kedge_netlink::{Errno, Socket, link};

use crate::doors;
use crate::error::NetworkError;
use crate::network::Network;
use crate::owner::Owner;
use crate::records::Records;
use crate::ways;

/// Gives back what containers had whose namespace is gone, and answers how many there were.
pub fn reap(network: &Network) -> Result<usize, NetworkError> {
    reap_locked(network, &Records::lock(&network.records)?)
}

pub(crate) fn reap_locked(network: &Network, records: &Records) -> Result<usize, NetworkError> {
    let dead = records.reap()?;
    for (_, record) in &dead {
        doors::close(&network.table, record)?;
    }
    Ok(dead.len())
}

/// Disconnects every container but these, and gives back what nobody has.
pub(crate) fn keep_only(network: &Network, known: &[Owner]) -> Result<(), NetworkError> {
    let all = Records::lock(&network.records)?.all()?;
    let strangers = all.iter().map(|(owner, _)| owner).filter(|owner| !known.contains(owner));
    strangers.into_iter().try_for_each(|owner| crate::attach::detach(network, owner))?;
    reap(network).map(drop)
}

/// Takes away everything that a node's network put on this machine. Containers that still run lose their network.
pub fn remove(network: &Network) -> Result<(), NetworkError> {
    let mut socket = Socket::route()?;
    let links = socket.links()?;
    let bridge = links.iter().find(|link| link.name == network.bridge).map(|link| link.index);
    // Whoever is a port of the bridge was made before wires were links of their own.
    let is_own = |link: &&Link| {
        link.group == network.mark()
            || Some(link.index) == bridge
            || (bridge.is_some() && link.master == bridge)
    };
    let mut all: Vec<_> = links.iter().filter(is_own).map(|link| link::delete(&link.name)).collect();
    match socket.tell(&mut all) {
        // One that goes by itself meanwhile.
        Err(error) if !error.is(Errno::NODEV) => return Err(error.into()),
        _ => {}
    }
    ways::remove(network)?;
    let mut socket = Socket::netfilter()?;
    // Others of this node have tables of their own, whose names begin with ours.
    let is_own = |table: &String| {
        table.strip_prefix(&network.table).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for table in socket.tables()?.iter().filter(|table| is_own(table)) {
        let mut batch = Batch::of(table);
        // Making it first lets removing it succeed in any case.
        batch.table().without_table();
        socket.apply(&mut batch)?;
    }
    match fs::remove_dir_all(&network.records) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(NetworkError::record(&network.records)(error))
        }
        _ => Ok(()),
    }
}
