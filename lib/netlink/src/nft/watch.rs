//! Hears that somebody changed a table, whoever it was and whatever he did to it. Who wants to know what it is now reads it back.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use super::BOTH;
use crate::message::attributes;
use crate::socket::{ANSWER, NetlinkError, split};

/// Everything about tables and what is in them.
const TABLES: u32 = 1 << 6;
/// In whatever the kernel tells about tables.
const TABLE: u16 = 1;

pub struct Watch {
    socket: OwnedFd,
    buffer: Vec<u8>,
    table: String,
}

impl Watch {
    /// Over a table that need not be there, in the namespace that this thread is in now.
    pub fn over(table: &str) -> Result<Self, NetlinkError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(NETFILTER));
        let socket = socket.map_err(io::Error::from)?;
        bind(&socket, &SocketAddrNetlink::new(0, TABLES)).map_err(io::Error::from)?;
        Ok(Self { socket, buffer: vec![0; ANSWER], table: table.to_owned() })
    }

    /// Whether it was touched since this was asked last. Does not wait.
    pub fn was_touched(&mut self) -> Result<bool, NetlinkError> {
        let mut is_touched = false;
        loop {
            match recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((length, _)) => {
                    let parts = split(&self.buffer[..length.min(self.buffer.len())]);
                    is_touched |= parts.iter().any(|part| is_about(part.body, &self.table));
                }
                Err(Errno::INTR) => {}
                // There was more than the kernel keeps for us, and anything may have been in it.
                Err(Errno::NOBUFS) => is_touched = true,
                Err(Errno::AGAIN) => return Ok(is_touched),
                Err(error) => return Err(NetlinkError::Talk(error.into())),
            }
        }
    }
}

fn is_about(body: &[u8], table: &str) -> bool {
    let name = attributes(body.get(4..).unwrap_or_default()).find(|part| part.kind == TABLE);
    body.first() == Some(&BOTH) && name.is_some_and(|name| name.name() == table)
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
