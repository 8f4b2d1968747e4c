//! The body of an answer, as its head announced it. Knows no socket: bytes go in, frames come out.

use bytes::{Bytes, BytesMut};
use http_body::Frame;

use super::chunked::{ChunkError, Chunked, Piece};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Length(u64),
    Chunked(Chunked),
    UntilClosed,
    Done,
}

impl Reading {
    /// None if more bytes are needed, or none are.
    pub(super) fn next(&mut self, bytes: &mut BytesMut) -> Result<Option<Frame<Bytes>>, ChunkError> {
        Ok(match self {
            Self::Done => None,
            _ if bytes.is_empty() => None,
            Self::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= length as u64;
                if *left == 0 {
                    *self = Self::Done;
                }
                Some(Frame::data(bytes.split_to(length).freeze()))
            }
            Self::UntilClosed => Some(Frame::data(bytes.split().freeze())),
            Self::Chunked(chunked) => match chunked.next(bytes)? {
                Piece::More => None,
                Piece::Data(data) => {
                    // Looking behind the last chunk spares the client a second write.
                    if bytes.starts_with(b"\r\n0\r\n\r\n") && *chunked == Chunked::DataEnd {
                        let _end = bytes.split_to(7);
                        *self = Self::Done;
                    }
                    Some(Frame::data(data))
                }
                Piece::Trailers(trailers) => {
                    *self = Self::Done;
                    Some(Frame::trailers(trailers))
                }
                Piece::End => {
                    *self = Self::Done;
                    None
                }
            },
        })
    }
}
