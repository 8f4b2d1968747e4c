//! Blocks of headers: names and values with their lengths, deflated. All blocks of one direction are one stream to the
//! compressor, so they must be read in the order in which they were written, and every one of them.

use std::io::{Error, ErrorKind};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::dictionary::dictionary;
use crate::frame::FrameError;

/// Names with their values, in order. Names are lowercase on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(
            pairs.into_iter().map(|(name, value)| (name.into().to_ascii_lowercase(), value.into())).collect(),
        )
    }
}

/// A block that would unpack to more is not from anybody we want to talk to.
const LARGEST: usize = 256 * 1024;
const STEP: usize = 4096;

pub(crate) struct Deflater(Compress);

impl Deflater {
    pub(crate) fn new() -> Result<Self, FrameError> {
        let mut compress = Compress::new(Compression::fast(), true);
        compress.set_dictionary(&dictionary()).map_err(wrong)?;
        Ok(Self(compress))
    }

    pub(crate) fn pack(&mut self, headers: &Headers) -> Result<Vec<u8>, FrameError> {
        let mut plain = Vec::with_capacity(128);
        let number = |out: &mut Vec<u8>, number: usize| {
            let number = u32::try_from(number).map_err(|_| FrameError::TooLong)?;
            out.extend_from_slice(&number.to_be_bytes());
            Ok::<(), FrameError>(())
        };
        number(&mut plain, headers.0.len())?;
        for text in headers.0.iter().flat_map(|(name, value)| [name, value]) {
            number(&mut plain, text.len())?;
            plain.extend_from_slice(text.as_bytes());
        }
        let (mut packed, start) = (Vec::new(), self.0.total_in());
        loop {
            packed.reserve(STEP);
            let done = (self.0.total_in() - start) as usize;
            self.0.compress_vec(&plain[done..], &mut packed, FlushCompress::Sync).map_err(wrong)?;
            // Room that is left over says that everything was flushed.
            if packed.len() < packed.capacity() {
                return Ok(packed);
            }
        }
    }
}

pub(crate) struct Inflater(Decompress);

impl Inflater {
    pub(crate) fn new() -> Self {
        Self(Decompress::new(true))
    }

    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<Headers, FrameError> {
        let (mut plain, start) = (Vec::new(), self.0.total_in());
        loop {
            plain.reserve(STEP);
            let done = (self.0.total_in() - start) as usize;
            match self.0.decompress_vec(&packed[done..], &mut plain, FlushDecompress::Sync) {
                Ok(Status::StreamEnd) => break,
                Ok(_) => {}
                Err(error) if error.needs_dictionary().is_some() => {
                    self.0.set_dictionary(&dictionary()).map_err(wrong)?;
                    continue;
                }
                // No more can be made of what there is.
                Err(_) if (self.0.total_in() - start) as usize == packed.len() => break,
                Err(error) => return Err(wrong(error)),
            }
            if plain.len() > LARGEST {
                return Err(FrameError::TooLong);
            }
            if (self.0.total_in() - start) as usize == packed.len() && plain.len() < plain.capacity() {
                break;
            }
        }
        parse(&plain)
    }
}

fn wrong(error: impl std::error::Error + Send + Sync + 'static) -> FrameError {
    FrameError::Compression(Error::new(ErrorKind::InvalidData, error))
}

fn parse(mut plain: &[u8]) -> Result<Headers, FrameError> {
    let malformed = || FrameError::Malformed { what: "headers" };
    let count = number(&mut plain)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        let mut text = || {
            let length = number(&mut plain)?;
            let (text, rest) = plain.split_at_checked(length).ok_or_else(malformed)?;
            plain = rest;
            String::from_utf8(text.to_vec()).map_err(|_| malformed())
        };
        headers.push((text()?, text()?));
    }
    Ok(Headers(headers))
}

fn number(plain: &mut &[u8]) -> Result<usize, FrameError> {
    let (number, rest) = plain.split_first_chunk::<4>().ok_or(FrameError::Malformed { what: "headers" })?;
    *plain = rest;
    Ok(u32::from_be_bytes(*number) as usize)
}
