//! Frames of WebSockets (RFC 6455), of clients and of servers: bytes to messages and back. Messages that come in pieces are put together
//! again. Knows no connection and no channels.

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Whoever sends more at once wants something else of us.
const LONGEST: usize = 32 * 1024 * 1024;
const LONGEST_CONTROL: u64 = 125;
/// Everybody's, by the standard.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Who sends a frame. What clients send is masked, what servers send is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub content: Bytes,
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame that uses what was not agreed on")]
    Reserved,
    #[error("a frame that is not masked")]
    Bare,
    #[error("a frame that is masked")]
    Masked,
    #[error("a frame that is of no known kind")]
    Kind,
    #[error("a frame that is too long to be a sign, or a piece of one")]
    Sign,
    #[error("a frame that is too long")]
    Length,
    #[error("a frame that goes on with nothing")]
    Nothing,
    #[error("a frame that begins before the last one has ended")]
    Begun,
}

/// What a server says to show that it took a client's key for one.
pub fn accepted(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{GUID}").as_bytes()))
}

/// One whole message. A client's has a mask.
pub fn encode(kind: Kind, parts: &[&[u8]], mask: Option<[u8; 4]>) -> BytesMut {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut out = BytesMut::with_capacity(length + 14);
    out.put_u8(0x80 | kind as u8);
    match length {
        0..=125 => out.put_u8(masked | length as u8),
        126..=0xffff => {
            out.put_u8(masked | 126);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(masked | 127);
            out.put_u64(length as u64);
        }
    }
    out.extend(mask.into_iter().flatten());
    let from = out.len();
    parts.iter().for_each(|part| out.put_slice(part));
    if let Some(mask) = mask {
        let content = out.iter_mut().skip(from);
        content.zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    }
    out
}

#[derive(Debug)]
pub struct Decoder {
    from: Side,
    /// A message whose end is still to come.
    begun: Option<(Kind, BytesMut)>,
}

impl Decoder {
    pub fn new(from: Side) -> Self {
        Self { from, begun: None }
    }

    /// Takes the next message off the front, if it is there as a whole.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Message>, FrameError> {
        loop {
            let Some(head) = Head::of(input, self.from)? else { return Ok(None) };
            if input.len() < head.size + head.length {
                return Ok(None);
            }
            input.advance(head.size);
            let mut content = input.split_to(head.length);
            for (byte, mask) in content.iter_mut().zip(head.mask.iter().cycle()) {
                *byte ^= mask;
            }
            let kind = match head.opcode {
                0 => {
                    let Some((kind, mut whole)) = self.begun.take() else {
                        return Err(FrameError::Nothing);
                    };
                    if whole.len() + content.len() > LONGEST {
                        return Err(FrameError::Length);
                    }
                    whole.unsplit(content);
                    content = whole;
                    kind
                }
                1 => Kind::Text,
                2 => Kind::Binary,
                8 => Kind::Close,
                9 => Kind::Ping,
                10 => Kind::Pong,
                _ => return Err(FrameError::Kind),
            };
            if head.opcode < 8 {
                if head.opcode > 0 && self.begun.is_some() {
                    return Err(FrameError::Begun);
                }
                if !head.fin {
                    self.begun = Some((kind, content));
                    continue;
                }
            }
            return Ok(Some(Message { kind, content: content.freeze() }));
        }
    }
}

struct Head {
    fin: bool,
    opcode: u8,
    mask: [u8; 4],
    size: usize,
    length: usize,
}

impl Head {
    fn of(input: &[u8], from: Side) -> Result<Option<Self>, FrameError> {
        let Some(([first, second], mut rest)) = input.split_first_chunk::<2>() else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(FrameError::Reserved);
        }
        match (from, second & 0x80 != 0) {
            (Side::Client, false) => return Err(FrameError::Bare),
            (Side::Server, true) => return Err(FrameError::Masked),
            (Side::Client, true) | (Side::Server, false) => {}
        }
        let length = match second & 0x7f {
            126 => rest.try_get_u16().map(u64::from),
            127 => rest.try_get_u64(),
            short => Ok(u64::from(short)),
        };
        let Ok(length) = length else { return Ok(None) };
        let (fin, opcode) = (first & 0x80 != 0, first & 0x0f);
        if opcode >= 8 && (!fin || length > LONGEST_CONTROL) {
            return Err(FrameError::Sign);
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or(FrameError::Length)?;
        let (mask, rest) = match from {
            Side::Server => ([0; 4], rest),
            Side::Client => match rest.split_first_chunk::<4>() {
                Some((mask, rest)) => (*mask, rest),
                None => return Ok(None),
            },
        };
        Ok(Some(Self { fin, opcode, mask, size: input.len() - rest.len(), length }))
    }
}
