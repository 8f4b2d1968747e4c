//! Hears of every change to links, addresses, routes and neighbours, whoever makes it. Says what changed, not how it is now: whoever
//! wants to know looks again.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use crate::message::attributes;
use crate::socket::{ANSWER, NetlinkError, split};

const LINKS: u32 = 0x1;
const NEIGHBOURS: u32 = 0x4;
const ADDRESSES: u32 = 0x10 | 0x100;
const ROUTES: u32 = 0x40 | 0x400;

const NAME: u16 = 3;
/// Of a route.
const OVER: u16 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A link of this name came, changed or went.
    Link(String),
    /// Of the link with this number.
    Address(u32),
    /// Over the link with this number, if it leads over one alone.
    Route(Option<u32>),
    /// Somebody on the link with this number is not there any more.
    NeighbourGone(u32),
    /// There were more than the kernel keeps for us.
    Lost,
}

pub struct Monitor {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Monitor {
    /// Of the namespace that this thread is in now.
    pub fn open() -> Result<Self, NetlinkError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None);
        let socket = socket.map_err(io::Error::from)?;
        let groups = LINKS | NEIGHBOURS | ADDRESSES | ROUTES;
        bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(io::Error::from)?;
        Ok(Self { socket, buffer: vec![0; ANSWER] })
    }

    /// What changed since it was asked last. Does not wait.
    pub fn changes(&mut self) -> Result<Vec<Change>, NetlinkError> {
        let mut changes = Vec::new();
        loop {
            match recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((length, _)) => {
                    let parts = split(&self.buffer[..length.min(self.buffer.len())]);
                    changes.extend(parts.iter().filter_map(|part| read(part.kind, part.body)));
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => changes.push(Change::Lost),
                Err(Errno::AGAIN) => return Ok(changes),
                Err(error) => return Err(NetlinkError::Talk(error.into())),
            }
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Monitor {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn read(kind: u16, body: &[u8]) -> Option<Change> {
    let number = |at: usize| body.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes);
    match kind {
        16 | 17 => {
            let name = attributes(body.get(16..)?).find(|attribute| attribute.kind == NAME)?;
            Some(Change::Link(name.name()))
        }
        20 | 21 => Some(Change::Address(number(4)?)),
        24 | 25 => {
            let over = attributes(body.get(12..)?).find(|attribute| attribute.kind == OVER);
            Some(Change::Route(over.and_then(|over| over.number())))
        }
        29 => Some(Change::NeighbourGone(number(4)?)),
        _ => None,
    }
}
