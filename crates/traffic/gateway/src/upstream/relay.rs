//! The body of an answer on its way from an endpoint to the client: read only when the client takes more, and at its end the
//! connection is left to the next request.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

use super::Busy;
use super::reading::Reading;

const PIECE: usize = 32 * 1024;

/// Where an answer comes from: the whole connection, or one half of it while a task still sends the request's body.
pub(super) enum Ear {
    Whole(TcpStream),
    Half(OwnedReadHalf, JoinSet<Option<OwnedWriteHalf>>),
}

impl Ear {
    /// The whole connection, if the request was sent to its end.
    fn whole(self) -> Option<TcpStream> {
        match self {
            Self::Whole(stream) => Some(stream),
            Self::Half(read, mut sending) => {
                let write = sending.try_join_next()?.ok()??;
                read.reunite(write).ok()
            }
        }
    }
}

impl AsyncRead for Ear {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Whole(stream) => Pin::new(stream).poll_read(context, into),
            Self::Half(read, _) => Pin::new(read).poll_read(context, into),
        }
    }
}

pub(crate) struct Relay {
    ear: Option<(Ear, Busy)>,
    bytes: BytesMut,
    reading: Reading,
    keeps: bool,
}

impl Relay {
    pub(super) fn new(ear: Ear, busy: Busy, bytes: BytesMut, reading: Reading, keeps: bool) -> Self {
        let mut relay = Self { ear: Some((ear, busy)), bytes, reading, keeps };
        if relay.reading == Reading::Done {
            relay.finish();
        }
        relay
    }

    fn finish(&mut self) {
        self.reading = Reading::Done;
        let Some((ear, busy)) = self.ear.take() else { return };
        // Bytes that nobody asked for are not the next answer.
        if self.keeps
            && self.bytes.is_empty()
            && let Some(stream) = ear.whole()
        {
            busy.leave(stream, std::mem::take(&mut self.bytes));
        }
    }

    /// What is there already, without reading.
    fn next(&mut self) -> io::Result<Option<Frame<Bytes>>> {
        let bad = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let frame = self.reading.next(&mut self.bytes).map_err(bad)?;
        if self.reading == Reading::Done {
            self.finish();
        }
        Ok(frame)
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let relay = self.get_mut();
        loop {
            if let Some(frame) = relay.next().transpose() {
                return Poll::Ready(Some(frame));
            }
            let Some((ear, _)) = &mut relay.ear else { return Poll::Ready(None) };
            relay.bytes.reserve(PIECE);
            let read = std::pin::pin!(ear.read_buf(&mut relay.bytes));
            if ready!(read.poll(context))? == 0 {
                let is_end = relay.reading == Reading::UntilClosed;
                relay.reading = Reading::Done;
                relay.ear = None;
                // A body that is cut off must not look whole.
                let cut = || Some(Err(io::ErrorKind::UnexpectedEof.into()));
                return Poll::Ready(if is_end { None } else { cut() });
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.reading == Reading::Done
    }

    fn size_hint(&self) -> SizeHint {
        match self.reading {
            Reading::Length(length) => SizeHint::with_exact(length),
            Reading::Done => SizeHint::with_exact(0),
            Reading::Chunked(_) | Reading::UntilClosed => SizeHint::default(),
        }
    }
}
