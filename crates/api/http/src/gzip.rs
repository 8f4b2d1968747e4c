//! Compresses a stream piece by piece. Level 1: on a local network a higher one costs more time than it saves.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{Stream, StreamExt};

/// A compressed piece is handed on once it holds this much.
const PIECE: usize = 32 * 1024;

pub(crate) struct Gzip<S> {
    pieces: S,
    /// `None` once the end was written.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<S> Gzip<S> {
    pub(crate) fn new(pieces: S) -> Self {
        Self { pieces, encoder: Some(GzEncoder::new(Vec::with_capacity(PIECE * 2), Compression::fast())) }
    }
}

impl<S: Stream<Item = Bytes> + Unpin> Stream for Gzip<S> {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        while let Some(encoder) = &mut this.encoder {
            if encoder.get_ref().len() >= PIECE {
                return Poll::Ready(Some(
                    std::mem::replace(encoder.get_mut(), Vec::with_capacity(PIECE * 2)).into(),
                ));
            }
            match this.pieces.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                // Writing into a Vec cannot fail; if it did, a cut-off stream is what the client's decoder notices.
                Poll::Ready(Some(piece)) => {
                    if encoder.write_all(&piece).is_err() {
                        this.encoder = None;
                    }
                }
                Poll::Ready(None) => {
                    return Poll::Ready(
                        this.encoder.take().and_then(|last| last.finish().ok()).map(Bytes::from),
                    );
                }
            }
        }
        Poll::Ready(None)
    }
}
