//! What goes back to the client: a page of our own, or what an endpoint sends, a piece at a time and only as fast as it is read.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::upstream::{Busy, Relay};

pub(crate) enum Out {
    Page(Option<Bytes>),
    Near(Relay),
    /// From an endpoint that speaks HTTP/2.
    Far {
        body: Incoming,
        _busy: Busy,
    },
}

impl Out {
    pub(crate) fn page(text: Bytes) -> Self {
        Self::Page(Some(text).filter(|text| !text.is_empty()))
    }

    /// The text of a page of our own.
    pub(crate) fn into_page(self) -> Option<Bytes> {
        match self {
            Self::Page(text) => text,
            _ => None,
        }
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Page(text) => Poll::Ready(text.take().map(|text| Ok::<_, Infallible>(Frame::data(text))))
                .map_err(Into::into),
            Self::Near(relay) => Pin::new(relay).poll_frame(context).map_err(Into::into),
            Self::Far { body, .. } => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Page(text) => text.is_none(),
            Self::Near(relay) => relay.is_end_stream(),
            Self::Far { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Page(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Near(relay) => relay.size_hint(),
            Self::Far { body, .. } => body.size_hint(),
        }
    }
}
