//! One frame as bytes and back. Keeps what the protocol makes both sides keep, the state of the compressors, and no other.

#[cfg(test)]
mod tests;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::headers::{Deflater, Headers, Inflater};

const VERSION: u16 = 3;
const FIN: u8 = 1;
const UNIDIRECTIONAL: u8 = 2;
const HEAD: usize = 8;
const ID: u32 = 0x7fff_ffff;
/// A length has 24 bits.
const LONGEST: usize = 0xff_ffff;
/// Longer ones are only made to use up our memory.
const LONGEST_CONTROL: usize = 256 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the peer speaks version {0} of SPDY, not {VERSION}")]
    Version(u16),
    #[error("a frame with wrong {what}")]
    Malformed { what: &'static str },
    #[error("a frame that is too long")]
    TooLong,
    #[error("headers that cannot be packed or unpacked")]
    Compression(#[source] std::io::Error),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    SynStream {
        stream: u32,
        associated: u32,
        priority: u8,
        fin: bool,
        unidirectional: bool,
        headers: Headers,
    },
    SynReply {
        stream: u32,
        fin: bool,
        headers: Headers,
    },
    Reset {
        stream: u32,
        status: u32,
    },
    Settings {
        clear: bool,
        settings: Vec<Setting>,
    },
    Ping {
        id: u32,
    },
    GoAway {
        last: u32,
        status: u32,
    },
    Headers {
        stream: u32,
        fin: bool,
        headers: Headers,
    },
    WindowUpdate {
        stream: u32,
        by: u32,
    },
    Data {
        stream: u32,
        fin: bool,
        data: Bytes,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub flags: u8,
    /// 24 bits.
    pub id: u32,
    pub value: u32,
}

impl Setting {
    /// How much may be sent on a new stream before the other side has answered.
    pub const INITIAL_WINDOW: u32 = 7;
}

pub struct Encoder(Deflater);

impl Encoder {
    pub fn new() -> Result<Self, FrameError> {
        Deflater::new().map(Self)
    }

    pub fn encode(&mut self, frame: &Frame, out: &mut BytesMut) -> Result<(), FrameError> {
        let fin = |fin: &bool| if *fin { FIN } else { 0 };
        match frame {
            Frame::Data { stream, fin: last, data } => {
                if data.len() > LONGEST {
                    return Err(FrameError::TooLong);
                }
                out.put_u32(stream & ID);
                out.put_u32(u32::from(fin(last)) << 24 | data.len() as u32);
                out.put_slice(data);
            }
            Frame::SynStream { stream, associated, priority, fin: last, unidirectional, headers } => {
                let packed = self.0.pack(headers)?;
                let one_way = if *unidirectional { UNIDIRECTIONAL } else { 0 };
                control(out, 1, fin(last) | one_way, 10 + packed.len())?;
                out.put_u32(stream & ID);
                out.put_u32(associated & ID);
                out.put_u8(priority << 5);
                out.put_u8(0);
                out.put_slice(&packed);
            }
            Frame::SynReply { stream, fin: last, headers } => {
                self.with_headers(out, 2, fin(last), *stream, headers)?
            }
            Frame::Headers { stream, fin: last, headers } => {
                self.with_headers(out, 8, fin(last), *stream, headers)?
            }
            Frame::Reset { stream, status } => pair(out, 3, stream & ID, *status)?,
            Frame::GoAway { last, status } => pair(out, 7, last & ID, *status)?,
            Frame::WindowUpdate { stream, by } => pair(out, 9, stream & ID, by & ID)?,
            Frame::Ping { id } => {
                control(out, 6, 0, 4)?;
                out.put_u32(*id);
            }
            Frame::Settings { clear, settings } => {
                control(out, 4, u8::from(*clear), 4 + 8 * settings.len())?;
                out.put_u32(settings.len() as u32);
                for setting in settings {
                    out.put_u32(u32::from(setting.flags) << 24 | setting.id & 0xff_ffff);
                    out.put_u32(setting.value);
                }
            }
        }
        Ok(())
    }

    fn with_headers(
        &mut self,
        out: &mut BytesMut,
        kind: u16,
        flags: u8,
        stream: u32,
        headers: &Headers,
    ) -> Result<(), FrameError> {
        let packed = self.0.pack(headers)?;
        control(out, kind, flags, 4 + packed.len())?;
        out.put_u32(stream & ID);
        out.put_slice(&packed);
        Ok(())
    }
}

fn control(out: &mut BytesMut, kind: u16, flags: u8, length: usize) -> Result<(), FrameError> {
    if length > LONGEST {
        return Err(FrameError::TooLong);
    }
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    out.put_u32(u32::from(flags) << 24 | length as u32);
    Ok(())
}

fn pair(out: &mut BytesMut, kind: u16, first: u32, second: u32) -> Result<(), FrameError> {
    control(out, kind, 0, 8)?;
    out.put_u32(first);
    out.put_u32(second);
    Ok(())
}

pub struct Decoder {
    inflater: Inflater,
    /// What is still to come of a data frame.
    data: Option<Rest>,
}

#[derive(Clone, Copy)]
struct Rest {
    stream: u32,
    fin: bool,
    left: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { inflater: Inflater::new(), data: None }
    }
}

impl Decoder {
    /// Takes the next frame off the front, if it is there as a whole. A data frame may come in several pieces, so that it is
    /// passed on while it comes and its length costs us nothing.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        loop {
            if let Some(rest) = self.data {
                return Ok(self.data_from(rest, input));
            }
            let Some((head, _)) = input.split_first_chunk::<HEAD>() else { return Ok(None) };
            let [a, b, c, d, flags, length @ ..] = *head;
            let length = u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
            if a & 0x80 == 0 {
                let stream = u32::from_be_bytes([a, b, c, d]);
                input.advance(HEAD);
                self.data = Some(Rest { stream, fin: flags & FIN != 0, left: length });
                continue;
            }
            if length > LONGEST_CONTROL {
                return Err(FrameError::TooLong);
            }
            if input.len() < HEAD + length {
                return Ok(None);
            }
            let version = u16::from_be_bytes([a & 0x7f, b]);
            if version != VERSION {
                return Err(FrameError::Version(version));
            }
            input.advance(HEAD);
            let body = input.split_to(length).freeze();
            if let Some(frame) = self.control(u16::from_be_bytes([c, d]), flags, body)? {
                return Ok(Some(frame));
            }
            // An unknown kind of frame means nothing to us, and need not.
        }
    }

    fn data_from(&mut self, rest: Rest, input: &mut BytesMut) -> Option<Frame> {
        let Rest { stream, fin, left } = rest;
        if left > 0 && input.is_empty() {
            return None;
        }
        let data = input.split_to(left.min(input.len())).freeze();
        let left = left - data.len();
        self.data = (left > 0).then_some(Rest { stream, fin, left });
        Some(Frame::Data { stream, fin: fin && left == 0, data })
    }

    fn control(&mut self, kind: u16, flags: u8, mut body: Bytes) -> Result<Option<Frame>, FrameError> {
        let short = |what| move |_| FrameError::Malformed { what };
        let fin = flags & FIN != 0;
        Ok(Some(match kind {
            1 => {
                let what = "the start of a stream";
                let stream = body.try_get_u32().map_err(short(what))? & ID;
                let associated = body.try_get_u32().map_err(short(what))? & ID;
                let priority = body.try_get_u8().map_err(short(what))? >> 5;
                body.try_get_u8().map_err(short(what))?;
                let (unidirectional, headers) = (flags & UNIDIRECTIONAL != 0, self.inflater.unpack(&body)?);
                Frame::SynStream { stream, associated, priority, fin, unidirectional, headers }
            }
            2 | 8 => {
                let stream = body.try_get_u32().map_err(short("headers"))? & ID;
                let headers = self.inflater.unpack(&body)?;
                match kind {
                    2 => Frame::SynReply { stream, fin, headers },
                    _ => Frame::Headers { stream, fin, headers },
                }
            }
            3 | 7 | 9 => {
                let first = body.try_get_u32().map_err(short("numbers"))? & ID;
                let second = body.try_get_u32().map_err(short("numbers"))?;
                match kind {
                    3 => Frame::Reset { stream: first, status: second },
                    7 => Frame::GoAway { last: first, status: second },
                    _ => Frame::WindowUpdate { stream: first, by: second & ID },
                }
            }
            4 => {
                let count = body.try_get_u32().map_err(short("settings"))? as usize;
                if count > body.len() / 8 {
                    return Err(FrameError::Malformed { what: "settings" });
                }
                let mut settings = Vec::with_capacity(count);
                for _ in 0..count {
                    let (id, value) = (body.get_u32(), body.get_u32());
                    settings.push(Setting { flags: (id >> 24) as u8, id: id & 0xff_ffff, value });
                }
                Frame::Settings { clear: flags & 1 != 0, settings }
            }
            6 => Frame::Ping { id: body.try_get_u32().map_err(short("ping"))? },
            _ => return Ok(None),
        }))
    }
}
