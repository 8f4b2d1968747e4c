//! Takes a body apart that comes in chunks. Knows no socket: bytes go in, pieces come out.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The longest line with a chunk's size, and the longest trailers.
const LONGEST_LINE: usize = 4 * 1024;
const LONGEST_TRAILERS: usize = 16 * 1024;
const MOST_TRAILERS: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Chunked {
    #[default]
    Size,
    Data(u64),
    /// The line's end behind a chunk.
    DataEnd,
    Trailers,
    Done,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
    End,
    /// More bytes are needed.
    More,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChunkError {
    #[error("no size of a chunk")]
    Size,
    #[error("a chunk without its end")]
    DataEnd,
    #[error("no trailers")]
    Trailers,
}

impl Chunked {
    pub(super) fn next(&mut self, bytes: &mut BytesMut) -> Result<Piece, ChunkError> {
        loop {
            match self {
                Self::Size => match httparse::parse_chunk_size(bytes) {
                    Ok(httparse::Status::Complete((used, size))) if is_size(&bytes[..used]) => {
                        bytes.advance(used);
                        *self = if size == 0 { Self::Trailers } else { Self::Data(size) };
                    }
                    Ok(httparse::Status::Partial) if bytes.len() < LONGEST_LINE => return Ok(Piece::More),
                    _ => return Err(ChunkError::Size),
                },
                Self::Data(left) => {
                    if bytes.is_empty() {
                        return Ok(Piece::More);
                    }
                    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= length as u64;
                    if *left == 0 {
                        *self = Self::DataEnd;
                    }
                    return Ok(Piece::Data(bytes.split_to(length).freeze()));
                }
                Self::DataEnd => {
                    if bytes.len() < 2 {
                        return Ok(Piece::More);
                    }
                    if !bytes.starts_with(b"\r\n") {
                        return Err(ChunkError::DataEnd);
                    }
                    bytes.advance(2);
                    *self = Self::Size;
                }
                Self::Trailers => return self.trailers(bytes),
                Self::Done => return Ok(Piece::End),
            }
        }
    }

    fn trailers(&mut self, bytes: &mut BytesMut) -> Result<Piece, ChunkError> {
        if bytes.starts_with(b"\r\n") {
            bytes.advance(2);
            *self = Self::Done;
            return Ok(Piece::End);
        }
        let mut found = [httparse::EMPTY_HEADER; MOST_TRAILERS];
        let (used, headers) = match httparse::parse_headers(bytes, &mut found) {
            Ok(httparse::Status::Complete(parsed)) if parsed.0 <= LONGEST_TRAILERS => parsed,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_TRAILERS => return Ok(Piece::More),
            _ => return Err(ChunkError::Trailers),
        };
        let mut trailers = HeaderMap::with_capacity(headers.len());
        for header in headers {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| ChunkError::Trailers)?;
            let value = HeaderValue::from_bytes(header.value).map_err(|_| ChunkError::Trailers)?;
            trailers.append(name, value);
        }
        bytes.advance(used);
        *self = Self::Done;
        Ok(Piece::Trailers(trailers))
    }
}

/// The parser takes a line without a digit for none, and a line's end alone for part of an extension: both may mean something else to
/// another reader.
fn is_size(line: &[u8]) -> bool {
    let ends = line.iter().filter(|byte| **byte == b'\n').count();
    line.len() <= LONGEST_LINE && line[0].is_ascii_hexdigit() && ends == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out if the bytes come in pieces of this size.
    fn read(text: &str, step: usize) -> String {
        let (mut chunked, mut bytes, mut out) = (Chunked::default(), BytesMut::new(), String::new());
        let mut input = text.as_bytes().chunks(step);
        loop {
            match chunked.next(&mut bytes) {
                Ok(Piece::Data(data)) => out.push_str(&String::from_utf8_lossy(&data)),
                Ok(Piece::Trailers(trailers)) => out.push_str(&format!("{trailers:?}")),
                Ok(Piece::End) => {
                    return format!("{out}. {} left", bytes.len() + input.map(<[u8]>::len).sum::<usize>());
                }
                Ok(Piece::More) => match input.next() {
                    Some(more) => bytes.extend_from_slice(more),
                    None => return format!("{out}…"),
                },
                Err(error) => return format!("{out}! {error}"),
            }
        }
    }

    #[test]
    fn bodies_are_the_same_however_they_come() {
        for (case, text, expected) in [
            ("two chunks", "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "abc0123456789. 0 left"),
            ("nothing", "0\r\n\r\n", ". 0 left"),
            ("more behind it", "1\r\na\r\n0\r\n\r\nHTTP", "a. 4 left"),
            ("trailers", "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n", "a{\"x-sum\": \"1\"}. 0 left"),
            ("cut off", "5\r\nabc", "abc…"),
            ("no size", "x\r\n", "! no size of a chunk"),
            ("an empty size", "1\r\na\r\n\r\n\r\n", "a! no size of a chunk"),
            ("an extension alone", "1\r\na\r\n;x\r\n\r\n", "a! no size of a chunk"),
            ("a bare line end in an extension", "1;\n\r\na\r\n0\r\n\r\n", "! no size of a chunk"),
            ("a size too large", "fffffffffffffffff\r\n", "! no size of a chunk"),
            ("a chunk that is longer than it says", "1\r\nabc\r\n", "a! a chunk without its end"),
            ("a bare line end", "1\r\na\n\n0\r\n\r\n", "a! a chunk without its end"),
        ] {
            for step in [1, 2, 3, 100] {
                // One byte at a time data come one by one as well, but together they are the same.
                assert_eq!(read(text, step), expected, "{case}, {step} at a time");
            }
        }
    }
}
