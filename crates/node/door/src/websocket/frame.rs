//! Frames of WebSockets (RFC 6455). Messages that come in pieces are put together again.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A client that sends more at once wants something else of us.
const LONGEST: usize = 32 * 1024 * 1024;
const LONGEST_CONTROL: u64 = 125;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WebSocketError {
    #[error("a frame that {0}")]
    Frame(&'static str),
    #[error("the connection does not work")]
    Connection(#[source] std::io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) content: Bytes,
}

/// One whole message of a server.
pub(crate) fn encode(kind: Kind, parts: &[&[u8]]) -> BytesMut {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = BytesMut::with_capacity(length + 10);
    out.put_u8(0x80 | kind as u8);
    match length {
        0..=125 => out.put_u8(length as u8),
        126..=0xffff => {
            out.put_u8(126);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(length as u64);
        }
    }
    parts.iter().for_each(|part| out.put_slice(part));
    out
}

#[derive(Default)]
pub(crate) struct Decoder {
    /// A message whose end is still to come.
    begun: Option<(Kind, BytesMut)>,
}

impl Decoder {
    /// Takes the next message off the front, if it is there as a whole.
    pub(crate) fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Message>, WebSocketError> {
        loop {
            let Some(head) = Head::of(input)? else { return Ok(None) };
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
                        return Err(WebSocketError::Frame("goes on with nothing"));
                    };
                    if whole.len() + content.len() > LONGEST {
                        return Err(WebSocketError::Frame("is too long"));
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
                _ => return Err(WebSocketError::Frame("is of no known kind")),
            };
            if head.opcode < 8 {
                if head.opcode > 0 && self.begun.is_some() {
                    return Err(WebSocketError::Frame("begins before the last one has ended"));
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
    fn of(input: &[u8]) -> Result<Option<Self>, WebSocketError> {
        let Some(([first, second], mut rest)) = input.split_first_chunk::<2>() else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(WebSocketError::Frame("uses what was not agreed on"));
        }
        if second & 0x80 == 0 {
            return Err(WebSocketError::Frame("is not masked"));
        }
        let length = match second & 0x7f {
            126 => rest.try_get_u16().map(u64::from),
            127 => rest.try_get_u64(),
            short => Ok(u64::from(short)),
        };
        let Ok(length) = length else { return Ok(None) };
        let (fin, opcode) = (first & 0x80 != 0, first & 0x0f);
        if opcode >= 8 && (!fin || length > LONGEST_CONTROL) {
            return Err(WebSocketError::Frame("is too long to be a sign"));
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or(WebSocketError::Frame("is too long"))?;
        let Some((mask, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        Ok(Some(Self { fin, opcode, mask: *mask, size: input.len() - rest.len(), length }))
    }
}
