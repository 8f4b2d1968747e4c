//! For a fuzzer: what an endpoint's answer comes to if its bytes come in these pieces, read as from a socket.

use bytes::BytesMut;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::answer::{self, Head};
use super::reading::Reading;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub status: Option<StatusCode>,
    pub headers: HeaderMap,
    pub upgrade: Option<HeaderValue>,
    pub body: Vec<u8>,
    pub trailers: HeaderMap,
    pub end: End,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub enum End {
    /// More should have come.
    #[default]
    Cut,
    Refused,
    /// So many bytes behind it were not its own.
    Whole {
        left: usize,
    },
}

pub fn hear<'a>(mut pieces: impl Iterator<Item = &'a [u8]>, is_head_method: bool) -> Heard {
    let (mut heard, mut bytes, mut reading) = (Heard::default(), BytesMut::new(), None);
    let end = loop {
        match heard.go_on(&mut bytes, &mut reading, is_head_method) {
            Err(()) => break End::Refused,
            Ok(()) if reading == Some(Reading::Done) => {
                break End::Whole { left: bytes.len() + pieces.map(<[u8]>::len).sum::<usize>() };
            }
            Ok(()) => {}
        }
        match pieces.next() {
            Some(piece) => bytes.extend_from_slice(piece),
            None if reading == Some(Reading::UntilClosed) => break End::Whole { left: 0 },
            None => break End::Cut,
        }
    };
    Heard { end, ..heard }
}

impl Heard {
    /// As far as the bytes go.
    fn go_on(
        &mut self,
        bytes: &mut BytesMut,
        reading: &mut Option<Reading>,
        is_head_method: bool,
    ) -> Result<(), ()> {
        if reading.is_none() {
            let Some(head) = answer::parse(bytes, is_head_method).map_err(drop)? else { return Ok(()) };
            let Head { status, headers, upgrade, reading: announced, .. } = head;
            (self.status, self.headers, self.upgrade) = (Some(status), headers, upgrade);
            *reading = Some(announced);
        }
        let Some(reading) = reading else { return Ok(()) };
        while let Some(frame) = reading.next(bytes).map_err(drop)? {
            match frame.into_data() {
                Ok(data) => self.body.extend_from_slice(&data),
                Err(frame) => self.trailers.extend(frame.into_trailers().unwrap_or_default()),
            }
        }
        Ok(())
    }
}
