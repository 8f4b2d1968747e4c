//! A request as it is written to an endpoint: its head, and its body as it comes from the client.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

/// So much of a body is taken at once if it is there, to be sent in one go with the head.
const AT_ONCE: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Nothing,
    Length(u64),
    Chunked,
}

impl Framing {
    pub(crate) fn of(body: &Incoming) -> Self {
        match body.size_hint().exact() {
            _ if body.is_end_stream() => Self::Nothing,
            Some(length) => Self::Length(length),
            None => Self::Chunked,
        }
    }
}

pub(crate) struct Outgoing {
    /// The head, and what was taken of the body so far, as they are sent.
    pub(crate) bytes: BytesMut,
    /// What is left of the body; none once all of it is in `bytes`.
    pub(crate) rest: Option<Rest>,
    pub(crate) is_head_method: bool,
}

pub(crate) struct Rest {
    body: Incoming,
    is_chunked: bool,
}

impl Outgoing {
    pub(crate) fn new(head: BytesMut, body: Incoming, framing: Framing, is_head_method: bool) -> Self {
        let rest = match framing {
            Framing::Nothing => None,
            Framing::Length(_) => Some(Rest { body, is_chunked: false }),
            Framing::Chunked => Some(Rest { body, is_chunked: true }),
        };
        Self { bytes: head, rest, is_head_method }
    }

    /// For requests without a body, one after the other.
    pub(crate) fn bare() -> Self {
        Self { bytes: BytesMut::new(), rest: None, is_head_method: false }
    }

    /// Makes room for the head of the next.
    pub(crate) fn again(&mut self, is_head_method: bool) {
        self.bytes.clear();
        self.is_head_method = is_head_method;
    }

    /// All of it is at hand, to be sent once more if need be.
    pub(crate) fn is_whole(&self) -> bool {
        self.rest.is_none() && !self.bytes.is_empty()
    }

    /// Takes what is there of the body, without waiting for more.
    pub(super) async fn take_ready(&mut self) -> Result<(), hyper::Error> {
        while let Some(rest) = &mut self.rest {
            if self.bytes.len() >= AT_ONCE {
                return Ok(());
            }
            let next = poll_fn(|context| Poll::Ready(Pin::new(&mut rest.body).poll_frame(context))).await;
            let Poll::Ready(next) = next else { return Ok(()) };
            let next = next.transpose()?;
            let is_last = next.is_none() || (!rest.is_chunked && rest.body.is_end_stream());
            for piece in rest.encoded(next) {
                self.bytes.extend_from_slice(&piece);
            }
            if is_last {
                self.rest = None;
            }
        }
        Ok(())
    }
}

impl Rest {
    /// One piece of the body, or its end, as it is sent.
    fn encoded(&self, frame: Option<Frame<Bytes>>) -> [Bytes; 3] {
        let none = || [Bytes::new(), Bytes::new(), Bytes::new()];
        let Some(frame) = frame else {
            return if self.is_chunked {
                [Bytes::from_static(b"0\r\n\r\n"), Bytes::new(), Bytes::new()]
            } else {
                none()
            };
        };
        match frame.into_data() {
            // An empty chunk would be the end.
            Ok(data) if data.is_empty() => none(),
            Ok(data) if self.is_chunked => {
                [format!("{:x}\r\n", data.len()).into(), data, Bytes::from_static(b"\r\n")]
            }
            Ok(data) => [data, Bytes::new(), Bytes::new()],
            // The client's trailers would have to be announced in the head, which is gone.
            Err(_) => none(),
        }
    }

    /// Sends all of it as fast as it is taken; a client that sends nothing for too long is given up.
    pub(super) async fn pump(mut self, mut to: OwnedWriteHalf, patience: Duration) -> Option<OwnedWriteHalf> {
        loop {
            let next = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            let next = tokio::time::timeout(patience, next).await.ok()?.transpose().ok()?;
            let is_last = next.is_none();
            let [one, two, three] = self.encoded(next);
            let mut pieces = one.chain(two).chain(three);
            let sent = tokio::time::timeout(patience, to.write_all_buf(&mut pieces));
            sent.await.ok()?.ok()?;
            if is_last {
                return Some(to);
            }
        }
    }
}
