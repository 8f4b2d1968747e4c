//! Gives this node the addresses at which every node answers, and takes them away again. They are noted beside the node's data, so that
//! whoever cleans up knows which were ours.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use kedge_netlink::{Errno, NetlinkError, Socket, address};

const LOOPBACK: &str = "lo";

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("cannot note the addresses of the cluster's DNS in {}", path.display())]
    Note { path: PathBuf, source: io::Error },
    #[error("the node cannot have the addresses of the cluster's DNS")]
    Kernel(#[from] NetlinkError),
}

/// From now on these addresses are the node's.
pub(crate) fn hold(addresses: &[IpAddr], note: &Path) -> Result<(), PlaceError> {
    let text: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    let failed = |source| PlaceError::Note { path: note.to_owned(), source };
    if fs::read_to_string(note).ok().as_ref() != Some(&text) {
        // What is not ours any more is not left behind.
        release(note)?;
        fs::write(note, text).map_err(failed)?;
    }
    let mut socket = Socket::route()?;
    let link = socket.link(LOOPBACK)?.index;
    let mut told: Vec<_> = addresses.iter().map(|&at| address::add(link, at, whole(at))).collect();
    Ok(socket.tell(&mut told)?)
}

/// Takes away what was noted. Doing it twice is doing it once.
pub fn release(note: &Path) -> Result<(), PlaceError> {
    let text = match fs::read_to_string(note) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(PlaceError::Note { path: note.to_owned(), source }),
    };
    let mut socket = Socket::route()?;
    let link = socket.link(LOOPBACK)?.index;
    for at in text.lines().filter_map(|line| line.parse::<IpAddr>().ok()) {
        match socket.tell(&mut [address::remove(link, at, whole(at))]) {
            Err(error) if error.is(Errno::ADDRNOTAVAIL) => {}
            done => done?,
        }
    }
    fs::remove_file(note).map_err(|source| PlaceError::Note { path: note.to_owned(), source })
}

fn whole(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
