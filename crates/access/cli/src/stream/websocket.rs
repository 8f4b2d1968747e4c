//! A WebSocket to the server, the client's side: the handshake, and messages both ways. Knows no channels.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderValue, Method, Response, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use kedge_clock::Clock;
use kedge_websocket::{Decoder, Kind, Message, Side, accepted, encode};
use kube::client::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use super::{broken, nonsense};
use crate::client::{Api, request};
use crate::error::CliError;

const READ: usize = 32 * 1024;
const NORMAL: u16 = 1000;

/// Both directions, and what the server chose to speak over them.
pub(super) struct Socket {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) protocol: String,
}

pub(super) struct Reader {
    io: ReadHalf<TokioIo<Upgraded>>,
    buffer: BytesMut,
    decoder: Decoder,
}

pub(super) struct Writer {
    io: WriteHalf<TokioIo<Upgraded>>,
    clock: Clock,
}

/// Offers protocols, the best first.
pub(super) async fn connect(
    api: &Api,
    clock: &Clock,
    path: &str,
    protocols: &[&'static str],
) -> Result<Socket, CliError> {
    let key = STANDARD.encode(clock.chance().to_be_bytes());
    let mut request = request(Method::GET, path, "*/*", None, Bytes::new())?;
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    if let Ok(key) = key.parse() {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
    for protocol in protocols {
        headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    let response = api.open(request).await?;
    let protocol = agreed(&response, &key, protocols)?;
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| nonsense(&error.to_string()))?;
    let (read, write) = tokio::io::split(TokioIo::new(upgraded));
    Ok(Socket {
        reader: Reader { io: read, buffer: BytesMut::new(), decoder: Decoder::new(Side::Server) },
        writer: Writer { io: write, clock: clock.clone() },
        protocol,
    })
}

/// What the server chose, if it took the handshake for one.
fn agreed(response: &Response<Body>, key: &str, protocols: &[&'static str]) -> Result<String, CliError> {
    let told = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS
        || told(SEC_WEBSOCKET_ACCEPT) != Some(&*accepted(key))
    {
        return Err(CliError::unmet(
            "unable to upgrade connection: the server does not speak WebSocket here",
        ));
    }
    let protocol = told(SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    match protocols.contains(&protocol) {
        true => Ok(protocol.to_owned()),
        false => Err(CliError::unmet(format!(
            "unable to upgrade connection: the server chose {protocol:?}, which was not offered"
        ))),
    }
}

impl Reader {
    /// The next message; none once the connection has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Message>, CliError> {
        loop {
            let message =
                self.decoder.decode(&mut self.buffer).map_err(|error| nonsense(&error.to_string()))?;
            if let Some(message) = message {
                return Ok(Some(message));
            }
            self.buffer.reserve(READ);
            if self.io.read_buf(&mut self.buffer).await.map_err(broken)? == 0 {
                return Ok(None);
            }
        }
    }
}

impl Writer {
    pub(super) async fn send(&mut self, kind: Kind, parts: &[&[u8]]) -> Result<(), CliError> {
        let mask = (self.clock.chance() as u32).to_be_bytes();
        let mut frame = encode(kind, parts, Some(mask));
        self.io.write_all_buf(&mut frame).await.map_err(broken)?;
        self.io.flush().await.map_err(broken)
    }

    /// Says that nothing more comes.
    pub(super) async fn close(&mut self) -> Result<(), CliError> {
        self.send(Kind::Close, &[&NORMAL.to_be_bytes()]).await
    }
}
