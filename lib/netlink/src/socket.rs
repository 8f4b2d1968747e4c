//! A conversation with the kernel. It answers before a send returns, so nothing here waits for long.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};

use crate::message::{DUMP, HEADER, Message};

const REQUEST: u16 = 0x1;
const CONFIRM: u16 = 0x4;
/// The kernel's tables changed while it told of them.
const TORN: u16 = 0x10;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// As much as the kernel ever puts into one answer.
pub(crate) const ANSWER: usize = 32 * 1024;
const TRIES: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    #[error("cannot talk to the kernel about its network")]
    Talk(#[from] io::Error),
    #[error("cannot {what}")]
    Refused { what: String, source: Errno },
    #[error("the kernel's answer to “{what}” makes no sense")]
    Nonsense { what: String },
}

impl NetlinkError {
    /// Whether it was refused for this reason.
    pub fn is(&self, reason: Errno) -> bool {
        matches!(self, NetlinkError::Refused { source, .. } if *source == reason)
    }
}

pub struct Socket {
    socket: OwnedFd,
    number: u32,
    buffer: Vec<u8>,
}

/// One part of an answer: its kind, and what follows its header.
pub(crate) struct Part<'a> {
    pub(crate) kind: u16,
    flags: u16,
    number: u32,
    pub(crate) body: &'a [u8],
}

impl Socket {
    /// About links, addresses and routes, in the namespace that this thread is in now and for ever.
    pub fn route() -> Result<Self, NetlinkError> {
        Self::open(None)
    }

    /// About the rules for packets.
    pub fn netfilter() -> Result<Self, NetlinkError> {
        Self::open(Some(NETFILTER))
    }

    fn open(protocol: Option<Protocol>) -> Result<Self, NetlinkError> {
        // The first protocol of the family has no number but zero, which is what none means.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
            .map_err(io::Error::from)?;
        connect(&socket, &SocketAddrNetlink::new(0, 0)).map_err(io::Error::from)?;
        Ok(Self { socket, number: 0, buffer: vec![0; ANSWER] })
    }

    /// Has everything done, in this order. All of it is tried; the first refusal is the answer.
    pub fn tell(&mut self, messages: &mut [Message]) -> Result<(), NetlinkError> {
        if messages.is_empty() {
            return Ok(());
        }
        let first = self.number.wrapping_add(1);
        let mut bytes = Vec::new();
        for message in &mut *messages {
            self.number = self.number.wrapping_add(1);
            bytes.extend(message.seal(self.number, REQUEST | CONFIRM));
        }
        self.send(&bytes)?;
        self.confirmed(first, messages)
    }

    /// As `tell`, for messages of which either all or none take effect: `begin` and `end` are not confirmed.
    pub(crate) fn tell_at_once(
        &mut self,
        mut begin: Message,
        messages: &mut [Message],
        mut end: Message,
    ) -> Result<(), NetlinkError> {
        let first = self.number.wrapping_add(1);
        // There may be megabytes of them: once, and each is given up as it is taken in.
        let mut bytes = Vec::with_capacity(messages.iter().map(|message| message.bytes.len() + 4).sum());
        bytes.extend(begin.seal(first, REQUEST));
        self.number = first;
        let count = messages.len();
        for (at, message) in messages.iter_mut().enumerate() {
            self.number = self.number.wrapping_add(1);
            // Refusals come unasked; that the last one is confirmed says that all were read. More would not fit where answers wait.
            let confirm = if at + 1 == count { CONFIRM } else { 0 };
            bytes.extend(message.seal(self.number, REQUEST | confirm));
            message.bytes = Vec::new();
        }
        let last = self.number;
        self.number = self.number.wrapping_add(1);
        bytes.extend(end.seal(self.number, REQUEST));
        self.make_room_for(bytes.len());
        self.send(&bytes)?;
        let mut refused: Option<(u32, Errno)> = None;
        let mut is_over = false;
        while !is_over {
            for part in self.parts()?.into_iter().filter(|part| part.kind == ERROR) {
                if part.number.wrapping_sub(first) > last.wrapping_sub(first) {
                    continue;
                }
                let refusal = part.refusal();
                // What is wrong with the whole is said of its beginning, and may be all that is said.
                is_over |= part.number == last || (part.number == first && refusal.is_some());
                if let Some(reason) = refusal {
                    refused.get_or_insert((part.number, reason));
                }
            }
        }
        let Some((number, source)) = refused else { return Ok(()) };
        let at = usize::try_from(number.wrapping_sub(first)).unwrap_or(usize::MAX).saturating_sub(1);
        let what = messages.get(at).map(|message| message.what.clone()).unwrap_or_default();
        Err(NetlinkError::Refused { what, source })
    }

    /// A batch is sent as one, however long it is.
    fn make_room_for(&self, length: usize) {
        const SPARE: usize = 64 * 1024;
        if sockopt::socket_send_buffer_size(&self.socket).is_ok_and(|room| room < length + SPARE) {
            // Whoever may change rules may have the room too; if not, the send says so.
            let _refused_with_the_send =
                sockopt::set_socket_send_buffer_size_force(&self.socket, length + SPARE);
        }
    }

    /// Reads until every message is confirmed.
    fn confirmed(&mut self, first: u32, messages: &[Message]) -> Result<(), NetlinkError> {
        let mut refused: Option<(usize, Errno)> = None;
        let mut open = messages.len();
        while open > 0 {
            for part in self.parts()? {
                let at = usize::try_from(part.number.wrapping_sub(first)).unwrap_or(usize::MAX);
                if part.kind != ERROR || at >= messages.len() {
                    continue;
                }
                open -= 1;
                if let Some(reason) = part.refusal() {
                    refused.get_or_insert((at, reason));
                }
            }
        }
        match refused {
            None => Ok(()),
            Some((at, source)) => {
                let what = messages.get(at).map(|message| message.what.clone()).unwrap_or_default();
                Err(NetlinkError::Refused { what, source })
            }
        }
    }

    /// Everything that the kernel answers to one question.
    pub(crate) fn ask<T>(
        &mut self,
        mut question: Message,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, NetlinkError> {
        let is_dump = question.flags() & DUMP == DUMP;
        let confirm = if is_dump { 0 } else { CONFIRM };
        for _ in 0..TRIES {
            self.number = self.number.wrapping_add(1);
            let number = self.number;
            let bytes = question.seal(number, REQUEST | confirm).to_vec();
            self.send(&bytes)?;
            let (mut answers, mut torn, mut over) = (Vec::new(), false, false);
            while !over {
                for part in self.parts()?.into_iter().filter(|part| part.number == number) {
                    torn |= part.flags & TORN != 0;
                    match part.kind {
                        ERROR => match part.refusal() {
                            Some(source) => {
                                return Err(NetlinkError::Refused { what: question.what, source });
                            }
                            None => over = true,
                        },
                        DONE => over = true,
                        _ => answers.extend(read(part.body)),
                    }
                }
            }
            if !torn {
                return Ok(answers);
            }
        }
        Err(NetlinkError::Nonsense { what: question.what })
    }

    fn send(&self, bytes: &[u8]) -> Result<(), NetlinkError> {
        send(&self.socket, bytes, SendFlags::empty()).map_err(io::Error::from)?;
        Ok(())
    }

    fn parts(&mut self) -> Result<Vec<Part<'_>>, NetlinkError> {
        let length = loop {
            match recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((length, _)) => break length,
                Err(Errno::INTR) => {}
                Err(error) => return Err(NetlinkError::Talk(error.into())),
            }
        };
        Ok(split(&self.buffer[..length.min(self.buffer.len())]))
    }
}

impl Part<'_> {
    /// A confirmation is an error with the number zero.
    fn refusal(&self) -> Option<Errno> {
        let code = self.body.first_chunk().copied().map_or(0, i32::from_ne_bytes);
        (code != 0).then(|| Errno::from_raw_os_error(-code))
    }
}

/// The parts of what was received, up to the first that is cut off.
pub(crate) fn split(bytes: &[u8]) -> Vec<Part<'_>> {
    let mut rest = bytes;
    let mut parts = Vec::new();
    while let Some(header) = rest.first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        // A refusal is followed by all that was refused, which may be more than fits; only its code counts.
        let is_enough = kind == ERROR && rest.len() >= HEADER + size_of::<i32>();
        let length = if is_enough { length.min(rest.len()) } else { length };
        let Some(body) = rest.get(HEADER..length) else { break };
        parts.push(Part {
            kind,
            flags: u16::from_ne_bytes([header[6], header[7]]),
            number: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
            body,
        });
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(length: u32, kind: u16, number: u32, body: &[u8]) -> Vec<u8> {
        let header =
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 2], &number.to_ne_bytes(), &[0; 4]];
        [&header.concat(), body].concat()
    }

    #[test]
    fn an_answer_has_parts() {
        let confirmed = part(20, ERROR, 7, &0i32.to_ne_bytes());
        let refused = part(20, ERROR, 8, &(-17i32).to_ne_bytes());
        for (case, bytes, expected) in [
            ("nothing", vec![], vec![]),
            ("two", [&confirmed[..], &refused].concat(), vec![(7, None), (8, Some(Errno::EXIST))]),
            ("half a header", confirmed[..10].to_vec(), vec![]),
            ("half a body", [&confirmed[..], &refused[..18]].concat(), vec![(7, None)]),
            ("a length that is none", part(3, ERROR, 9, &[]), vec![]),
        ] {
            let read: Vec<_> = split(&bytes).iter().map(|part| (part.number, part.refusal())).collect();
            assert_eq!(read, expected, "{case}");
        }
    }
}
