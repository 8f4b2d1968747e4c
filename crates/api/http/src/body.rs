//! What is sent back: nothing, one piece, or pieces made while they are sent. A slow reader holds up nobody but itself:
//! a piece is made only when the connection asks for it.

use std::future::ready;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, stream};
use http_body::{Frame, SizeHint};

use crate::gzip::Gzip;
use crate::turn::{Compressing, Turn};

/// Pieces that come one by one; ends when the stream does.
pub(crate) type Pieces = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// Somebody else's answer that broke off. Whoever reads it must not take what came for all of it.
#[derive(Debug, thiserror::Error)]
#[error("the answer broke off: {0}")]
pub struct Broken(String);

impl Broken {
    pub(crate) fn of(error: &impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

#[derive(Default)]
pub struct Body(Content);

#[derive(Default)]
enum Content {
    #[default]
    Empty,
    Whole(Bytes),
    /// Long, and known in full before it is sent.
    Pieces(Pieces, Turn),
    /// The same, compressed on its way.
    Compressed(Pieces),
    /// Made of what happens while it is sent: each piece must leave at once.
    Live(Pieces),
    /// The same, from somebody who may break off.
    Relayed(Pin<Box<dyn Stream<Item = Result<Bytes, Broken>> + Send>>),
}

impl Body {
    /// What the chunks of a list make: one piece if they are few, else pieces made on the way.
    pub(crate) fn chunks(mut chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Self {
        let mut first = Vec::new();
        let mut held = 0;
        while held < FIRST {
            let Some(chunk) = chunks.next() else { return joined(first).into() };
            held += chunk.len();
            first.push(chunk);
        }
        let pieces = stream::once(ready(joined(first))).chain(stream::iter(chunks));
        Self(Content::Pieces(Box::pin(pieces), Turn::begin()))
    }

    fn gzip(pieces: impl Stream<Item = Bytes> + Send + Unpin + 'static) -> Self {
        Self(Content::Compressed(Box::pin(Gzip::new(Compressing::new(pieces)))))
    }

    pub(crate) fn live(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Content::Live(Box::pin(pieces)))
    }

    pub(crate) fn relayed(pieces: impl Stream<Item = Result<Bytes, Broken>> + Send + 'static) -> Self {
        Self(Content::Relayed(Box::pin(pieces)))
    }

    /// Whether it is made of what happens while it is sent.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.0, Content::Live(_) | Content::Relayed(_))
    }

    /// What somebody else says, each piece as `change` makes it and `end` behind the last one. What breaks off has no end.
    pub(crate) fn changed<S: Send + 'static>(
        self,
        state: S,
        change: fn(&mut S, &Bytes) -> Bytes,
        end: fn(S) -> Bytes,
    ) -> Self {
        let Content::Relayed(pieces) = self.0 else { return self };
        let changed = stream::unfold((pieces, Some(state)), move |(mut pieces, state)| async move {
            let mut state = state?;
            match pieces.next().await {
                Some(Ok(piece)) => Some((Ok(change(&mut state, &piece)), (pieces, Some(state)))),
                Some(Err(broken)) => Some((Err(broken), (pieces, None))),
                None => Some((Ok(end(state)), (pieces, None))),
            }
        });
        Self::relayed(changed.filter(|piece| {
            let sent = !piece.as_ref().is_ok_and(Bytes::is_empty);
            async move { sent }
        }))
    }

    /// Keeps `held` until the last piece is sent, or nobody wants the rest.
    pub(crate) fn holding(self, held: impl Send + 'static) -> Self {
        match self.0 {
            Content::Live(pieces) => Self(Content::Live(Box::pin(pieces.inspect(move |_| {
                let _ = &held;
            })))),
            Content::Relayed(pieces) => Self(Content::Relayed(Box::pin(pieces.inspect(move |_| {
                let _ = &held;
            })))),
            other => Self(other),
        }
    }

    /// All of it at once. What has to be waited for is not there yet and is left out.
    pub(crate) fn gathered(self) -> Bytes {
        match self.0 {
            Content::Empty => Bytes::new(),
            Content::Whole(bytes) => bytes,
            Content::Pieces(pieces, _) | Content::Compressed(pieces) | Content::Live(pieces) => {
                let all = pieces.collect::<Vec<Bytes>>().now_or_never();
                Bytes::from(all.unwrap_or_default().concat())
            }
            Content::Relayed(pieces) => {
                let whole = pieces.filter_map(|piece| async { piece.ok() });
                Bytes::from(whole.collect::<Vec<Bytes>>().now_or_never().unwrap_or_default().concat())
            }
        }
    }

    /// Compresses what is long; what is live or short stays as it is. Says whether it did.
    pub(crate) fn compressed(self) -> (Self, bool) {
        match self.0 {
            Content::Whole(bytes) if bytes.len() > LARGE => {
                // Cut up so that compressing is spread over the sending.
                let pieces = (0..bytes.len())
                    .step_by(LARGE)
                    .map(move |at| bytes.slice(at..bytes.len().min(at + LARGE)));
                (Self::gzip(stream::iter(pieces)), true)
            }
            Content::Pieces(mut pieces, _) => {
                let mut first = Vec::new();
                while first.iter().map(Bytes::len).sum::<usize>() <= LARGE {
                    // What is known in full is not waited for.
                    let Some(piece) = pieces.next().now_or_never().flatten() else {
                        return (joined(first).into(), false);
                    };
                    first.push(piece);
                }
                (Self::gzip(stream::iter(first).chain(pieces)), true)
            }
            other => (Self(other), false),
        }
    }
}

/// Compressing less than this costs more than it saves.
const LARGE: usize = 128 * 1024;
/// The first piece of a long answer leaves when it holds this much.
const FIRST: usize = 16 * 1024;

fn joined(pieces: Vec<Bytes>) -> Bytes {
    match <[Bytes; 1]>::try_from(pieces) {
        Ok([only]) => only,
        Err(several) => several.concat().into(),
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self(Content::Empty) } else { Self(Content::Whole(bytes)) }
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Content::Empty => f.write_str("Body(empty)"),
            Content::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Content::Pieces(..) | Content::Compressed(_) | Content::Live(_) | Content::Relayed(_) => {
                f.write_str("Body(in pieces)")
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.0 {
            Content::Empty => Poll::Ready(None),
            Content::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Content::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Content::Pieces(_, turn) if turn.is_over() => {
                turn.pass(context);
                Poll::Pending
            }
            Content::Pieces(pieces, turn) => pieces.as_mut().poll_next(context).map(|piece| {
                turn.sent(piece.as_ref().map_or(0, Bytes::len));
                piece.map(|bytes| Ok(Frame::data(bytes)))
            }),
            Content::Compressed(pieces) | Content::Live(pieces) => {
                pieces.as_mut().poll_next(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
            Content::Relayed(pieces) => {
                pieces.as_mut().poll_next(context).map(|piece| piece.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Empty => SizeHint::with_exact(0),
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Pieces(..) | Content::Compressed(_) | Content::Live(_) | Content::Relayed(_) => {
                SizeHint::default()
            }
        }
    }
}

#[cfg(test)]
mod tests;
