//! Plain requests, as most are: GET or HEAD over HTTP/1.1, without a body and with nothing to say about the connection. They are read,
//! passed on and answered here, with a part of the work that others need. With the first request that is anything else the connection
//! is handed on, beginning with that request's first byte.

mod reply;
mod request;

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Buf;
use futures::FutureExt;
use http::Response;
use http_body::Body;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::Instant;

use self::request::{Asked, Seen};
use crate::body::Out;
use crate::page::page;
use crate::patience::Patience;
use crate::serve::{Came, Desk, switch, trouble};
use crate::upstream::{Answer, Framing, Head, Outgoing, Relay};

/// As much is read at a time.
const ROOM: usize = 4 * 1024;
/// How much of a buffer is kept for the next request.
const KEPT: usize = 16 * 1024;
/// How much may be said while an answer is under way; more waits in the socket.
const AHEAD: usize = 64 * 1024;
/// A piece of an answer that is longer is sent from where it is.
const SHORT: usize = 4 * 1024;

/// For a fuzzer: what an endpoint gets for the plain request that these bytes begin with.
pub fn passed_plainly(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut room = request::room();
    let Seen::Plain(asked) = request::see(bytes, &mut room) else { return None };
    let mut out = Outgoing::bare();
    let came = Came { from: std::net::Ipv4Addr::LOCALHOST.into(), is_secure: false };
    asked.write(0, came, &mut out.bytes);
    Some(out.bytes.to_vec())
}

/// One client's connection.
struct Plain<'d, S> {
    stream: S,
    desk: &'d Desk,
    came: Came,
    patience: Patience,
    /// What the client has said that nobody has looked at yet.
    said: Vec<u8>,
    /// What is passed on, and what goes back.
    out: Outgoing,
    back: Vec<u8>,
}

/// The connection is over. How that came about is the client's business.
struct Over;

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// Answers plain requests. At the first one that is not, what is left: the connection, and what came over it since.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    desk: &Desk,
    came: Came,
    head_time: Duration,
) -> Option<(S, Vec<u8>)> {
    let (patience, out) = (Patience::default(), Outgoing::bare());
    let mut plain = Plain { stream, desk, came, patience, said: Vec::new(), out, back: Vec::new() };
    match plain.serve(head_time).await {
        Ok(()) => Some((plain.stream, plain.said)),
        Err(Over) => None,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Plain<'_, S> {
    /// Ends at a request for somebody else.
    async fn serve(&mut self, head_time: Duration) -> Result<(), Over> {
        let mut end = Instant::now() + head_time;
        loop {
            // More may be said while this is looked at.
            let mut said = std::mem::take(&mut self.said);
            let mut room = request::room();
            let answered = match request::see(&said, &mut room) {
                Seen::Plain(asked) => self.answer(&asked).await?.then_some(asked.length),
                Seen::Part => Some(0),
                Seen::Other => None,
            };
            said.drain(..answered.unwrap_or(0));
            said.extend_from_slice(&self.said);
            self.said = said;
            match answered {
                None => return Ok(()),
                Some(0) => self.listen(end).await?,
                Some(1..) => {
                    self.said.shrink_to(KEPT);
                    self.back.shrink_to(KEPT);
                    end = Instant::now() + head_time;
                }
            }
        }
    }

    /// Hears more of a request.
    async fn listen(&mut self, end: Instant) -> Result<(), Over> {
        self.said.reserve(ROOM);
        match self.patience.until(end, self.stream.read_buf(&mut self.said)).await {
            Some(Ok(1..)) => Ok(()),
            _ => Err(Over),
        }
    }

    /// Whether it was for us to answer.
    async fn answer(&mut self, asked: &Asked<'_, '_>) -> Result<bool, Over> {
        let Some(target) = self.desk.target(asked.host, asked.path(), self.came) else { return Ok(false) };
        let Some(backend) = target.backend() else { return Ok(false) };
        self.out.again(asked.is_head);
        asked.write(target.strip, self.came, &mut self.out.bytes);
        let passing = self.desk.pass(backend, &mut self.out, true);
        let passed = unless_gone(&mut self.stream, &mut self.said, passing).await.ok_or(Over)?;
        match passed {
            Ok(Answer::Whole(head, relay)) => self.relay(&head, relay).await?,
            Ok(Answer::Switched(head, switched)) => {
                self.tell(switch(head, switched, None), asked.is_head).await?;
            }
            Err(failure) => {
                let trouble = trouble(&failure, asked.host, asked.path(), backend);
                self.tell(page(&trouble, &asked.headers()), asked.is_head).await?;
            }
        }
        Ok(true)
    }

    /// An answer of an endpoint, each piece as it comes.
    async fn relay(&mut self, head: &Head, mut relay: Relay) -> Result<(), Over> {
        let is_chunked = relay.size_hint().exact().is_none();
        // If it has a length, the endpoint has said it.
        let framing = if is_chunked { Framing::Chunked } else { Framing::Nothing };
        reply::head(head.status, &head.headers, framing, &mut self.back);
        while !relay.is_end_stream() {
            let mut next = poll_fn(|context| Pin::new(&mut relay).poll_frame(context));
            let next = match (&mut next).now_or_never() {
                Some(next) => next,
                None => {
                    self.flush().await?;
                    unless_gone(&mut self.stream, &mut self.said, next).await.ok_or(Over)?
                }
            };
            let frame = match next {
                None => break,
                Some(Ok(frame)) => frame,
                // What came is told; that there is no more shows by the end of the connection.
                Some(Err(_)) => {
                    self.flush().await?;
                    return Err(Over);
                }
            };
            // Trailers are for who asks for them, and that is not plain.
            let Ok(mut data) = frame.into_data() else { continue };
            // An empty chunk would be the end.
            if data.is_empty() {
                continue;
            }
            if is_chunked {
                reply::chunk(data.len(), &mut self.back);
            }
            if data.len() <= SHORT {
                self.back.extend_from_slice(&data);
            } else {
                self.stream.write_all_buf(&mut Buf::chain(&*self.back, &mut data)).await?;
                self.back.clear();
            }
            if is_chunked {
                self.back.extend_from_slice(b"\r\n");
            }
            // Who sends many short pieces without a pause is not to fill the memory.
            if self.back.len() >= KEPT {
                self.flush().await?;
            }
        }
        if is_chunked {
            self.back.extend_from_slice(b"0\r\n\r\n");
        }
        self.flush().await
    }

    /// An answer of our own.
    async fn tell(&mut self, answer: Response<Out>, is_head: bool) -> Result<(), Over> {
        let (parts, body) = answer.into_parts();
        let text = body.into_page().unwrap_or_default();
        reply::head(parts.status, &parts.headers, Framing::Length(text.len() as u64), &mut self.back);
        if !is_head {
            self.back.extend_from_slice(&text);
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Over> {
        self.stream.write_all(&self.back).await?;
        self.back.clear();
        Ok(self.stream.flush().await?)
    }
}

/// What comes of the work; nothing, if the client leaves before. What it says meanwhile is kept.
async fn unless_gone<T>(
    stream: &mut (impl AsyncRead + Unpin),
    said: &mut Vec<u8>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        while said.len() < AHEAD {
            let mut room = [MaybeUninit::uninit(); 512];
            let mut room = ReadBuf::uninit(&mut room);
            match Pin::new(&mut *stream).poll_read(context, &mut room) {
                Poll::Ready(Ok(())) if !room.filled().is_empty() => said.extend_from_slice(room.filled()),
                Poll::Ready(_) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        Poll::Pending
    })
    .await
}
