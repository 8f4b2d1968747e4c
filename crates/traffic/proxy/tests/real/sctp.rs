//! SCTP by hand: its first two messages as raw packets. A kernel may lead and judge SCTP without speaking it itself, and this one is asked
//! for no more than that.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recv, sendto, socket_with,
};

const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
/// By which the caller wants to be known, and the called.
const CALLERS: u32 = 0x1234_5678;
const CALLEDS: u32 = 0x8765_4321;

/// All of SCTP that comes to a namespace.
pub(crate) struct Line(OwnedFd);

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) is_answer: bool,
}

impl Line {
    /// In the namespace of this thread.
    pub(crate) fn open() -> Self {
        let socket =
            socket_with(AddressFamily::INET, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::SCTP));
        Self(socket.expect("raw packets need root"))
    }

    /// Asks to speak.
    pub(crate) fn call(&self, from: u16, to: SocketAddrV4) {
        self.send(message(from, to.port(), 0, INIT, CALLERS), *to.ip());
    }

    /// Agrees to whoever asked.
    pub(crate) fn answer(&self, heard: &Heard) {
        self.send(message(heard.to.port(), heard.from.port(), CALLERS, INIT_ACK, CALLEDS), *heard.from.ip());
    }

    fn send(&self, message: Vec<u8>, to: Ipv4Addr) {
        // A raw packet brings its own ports.
        sendto(&self.0, &message, SendFlags::empty(), &SocketAddrV4::new(to, 0)).expect("it can be sent");
    }

    /// The next message, if one has come.
    pub(crate) fn hear(&self) -> Option<Heard> {
        let mut packet = [0; 256];
        let (length, _) = recv(&self.0, packet.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
        let packet = packet.get(..length)?;
        let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
        let body = packet.get(usize::from(packet.first()? & 0x0f) * 4..)?;
        let port = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk::<2>()?));
        Some(Heard {
            from: SocketAddrV4::new(address(12)?, port(0)?),
            to: SocketAddrV4::new(address(16)?, port(2)?),
            is_answer: *body.get(12)? == INIT_ACK,
        })
    }
}

/// One message with one chunk: ports, whom it is for, a sum over all of it; then the chunk, which names its sender.
fn message(from: u16, to: u16, verified_by: u32, kind: u8, tag: u32) -> Vec<u8> {
    let mut message = [from.to_be_bytes(), to.to_be_bytes()].concat();
    message.extend(verified_by.to_be_bytes());
    message.extend([0; 4]);
    message.extend([kind, 0, 0, 20]);
    message.extend(tag.to_be_bytes());
    message.extend(65_536u32.to_be_bytes());
    message.extend([0, 1, 0, 1]);
    message.extend(1u32.to_be_bytes());
    let sum = crc32c(&message);
    message[8..12].copy_from_slice(&sum.to_le_bytes());
    message
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}
