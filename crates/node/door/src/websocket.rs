//! WebSockets, the server's side: the handshake, and messages both ways. Knows no channels.

#[cfg(test)]
mod tests;

use std::io;

use bytes::{Bytes, BytesMut};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use kedge_websocket::{Decoder, FrameError, Side, accepted, encode};
pub(crate) use kedge_websocket::{Kind, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::answer::{Answer, Refusal};

const READ: usize = 32 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WebSocketError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the connection does not work")]
    Connection(#[source] io::Error),
}

/// A request to speak WebSocket.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    key: String,
    /// What the client would speak over it, the best first.
    pub(crate) protocols: Vec<String>,
}

impl Handshake {
    /// None if it is no such request.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        if !has_token(headers, UPGRADE.as_str(), "websocket")
            || !has_token(headers, CONNECTION.as_str(), "upgrade")
        {
            return Ok(None);
        }
        if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
            return Err(Refusal::bad("missing or bad WebSocket version"));
        }
        let key = headers.get(SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok());
        let key = key.ok_or_else(|| Refusal::bad("missing WebSocket key"))?.trim().to_owned();
        let protocols = tokens(headers, SEC_WEBSOCKET_PROTOCOL.as_str()).collect();
        Ok(Some(Self { key, protocols }))
    }

    /// The answer that makes it one. Who asked for no protocol is answered with none.
    pub(crate) fn accept(&self, protocol: Option<&str>) -> Answer {
        let mut answer = Response::new(Empty::new().boxed_unsync());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(sum) = accepted(&self.key).parse() {
            headers.insert(SEC_WEBSOCKET_ACCEPT, sum);
        }
        if let Some(protocol) = protocol.and_then(|protocol| protocol.parse().ok()) {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        answer
    }
}

pub(crate) fn tokens<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    let all = values.flat_map(|value| value.split(','));
    all.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty())
}

pub(crate) fn has_token(headers: &HeaderMap, name: &str, wanted: &str) -> bool {
    tokens(headers, name).any(|token| token.eq_ignore_ascii_case(wanted))
}

/// What the client says.
pub(crate) struct Reader<R> {
    io: R,
    buffer: BytesMut,
    decoder: Decoder,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(io: R) -> Self {
        Self { io, buffer: BytesMut::new(), decoder: Decoder::new(Side::Client) }
    }

    /// The next message; none once the connection has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>, WebSocketError> {
        loop {
            if let Some(message) = self.decoder.decode(&mut self.buffer)? {
                return Ok(Some(message));
            }
            self.buffer.reserve(READ);
            if self.io.read_buf(&mut self.buffer).await.map_err(WebSocketError::Connection)? == 0 {
                return Ok(None);
            }
        }
    }
}

/// What we say.
pub(crate) struct Writer<W> {
    io: W,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(crate) fn new(io: W) -> Self {
        Self { io }
    }

    pub(crate) async fn send(&mut self, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
        let mut frame = encode(kind, parts, None);
        self.io.write_all_buf(&mut frame).await?;
        self.io.flush().await
    }

    /// Says that nothing more comes, and closes our direction.
    pub(crate) async fn close(&mut self, code: u16) -> io::Result<()> {
        self.send(Kind::Close, &[&code.to_be_bytes()]).await?;
        self.io.shutdown().await
    }

    pub(crate) async fn pong(&mut self, content: &Bytes) -> io::Result<()> {
        self.send(Kind::Pong, &[content]).await
    }
}
