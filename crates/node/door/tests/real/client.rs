//! Clients of a node: HTTP by hand, and WebSockets with channels.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) type Io = TlsStream<TcpStream>;

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
    /// Header lines.
    pub(crate) credentials: String,
}

impl Client {
    /// The connection once the head of a good answer was read, or the bad answer.
    pub(crate) async fn open(&self, method: &str, path: &str, more: &str) -> Result<Io, (u16, String)> {
        // Who speaks the old version gets everything until the connection ends, in no pieces.
        let version = if more.is_empty() { "1.0" } else { "1.1" };
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut io = TlsConnector::from(self.tls.clone()).connect(name, stream).await.unwrap();
        let request =
            format!("{method} {path} HTTP/{version}\r\nHost: node\r\n{}{more}\r\n", self.credentials);
        io.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status < 300 {
            return Ok(io);
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut text = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        io.read_exact(&mut text).await.unwrap();
        Err((status, String::from_utf8(text).unwrap()))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path).await
    }

    pub(crate) async fn post(&self, path: &str) -> (u16, String) {
        self.ask("POST", path).await
    }

    async fn ask(&self, method: &str, path: &str) -> (u16, String) {
        match self.open(method, path, "").await {
            Ok(mut io) => {
                let mut text = String::new();
                io.read_to_string(&mut text).await.unwrap();
                (200, text)
            }
            Err(refused) => refused,
        }
    }
}

/// What was said on the channels of a command.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) status: Value,
}

pub(crate) struct WebSocket {
    io: Io,
    base64: bool,
}

impl WebSocket {
    pub(crate) async fn open(client: &Client, path: &str, protocol: &str) -> Result<Self, (u16, String)> {
        let more = format!(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocol}\r\n"
        );
        let io = client.open("GET", path, &more).await?;
        Ok(Self { io, base64: protocol.contains("base64") })
    }

    pub(crate) async fn say(&mut self, channel: u8, content: &[u8]) {
        let frame = match self.base64 {
            true => masked(1, &[&[b'0' + channel][..], STANDARD.encode(content).as_bytes()].concat()),
            false => masked(2, &[&[channel], content].concat()),
        };
        self.io.write_all(&frame).await.unwrap();
    }

    /// The next words and their channel; none once the other side has closed.
    pub(crate) async fn hear(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut content = loop {
            match frame(&mut self.io).await? {
                (8, _) => return None,
                (9, content) => self.io.write_all(&masked(10, &content)).await.unwrap(),
                (_, content) => break content,
            }
        };
        let channel = content.remove(0);
        Some(match self.base64 {
            true => (channel - b'0', STANDARD.decode(content).unwrap()),
            false => (channel, content),
        })
    }

    /// To the end.
    pub(crate) async fn all(&mut self) -> Heard {
        let mut heard = Heard::default();
        while let Some((channel, content)) = self.hear().await {
            match channel {
                1 => heard.stdout.extend(content),
                2 => heard.stderr.extend(content),
                3 => heard.status = serde_json::from_slice(&content).unwrap(),
                other => panic!("nobody speaks on {other}"),
            }
        }
        heard
    }

    /// What is said without channels, to the end.
    pub(crate) async fn everything(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        while let Some((1 | 2, content)) = frame(&mut self.io).await {
            heard.extend(content);
        }
        heard
    }

    /// The bytes that are carried inside.
    pub(crate) fn into_tunnel(self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (mut from, mut to) = tokio::io::split(theirs);
        let (mut read, mut write) = tokio::io::split(self.io);
        tokio::spawn(async move {
            while let Some((2, content)) = frame(&mut read).await {
                if to.write_all(&content).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut buffer).await {
                if write.write_all(&masked(2, &buffer[..count])).await.is_err() {
                    return;
                }
            }
        });
        ours
    }
}

async fn frame(io: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<(u8, Vec<u8>)> {
    let kind = io.read_u8().await.ok()? & 0x0f;
    let length = match io.read_u8().await.ok()? {
        126 => u64::from(io.read_u16().await.ok()?),
        127 => io.read_u64().await.ok()?,
        short => u64::from(short),
    };
    let mut content = vec![0; length as usize];
    io.read_exact(&mut content).await.ok()?;
    Some((kind, content))
}

fn masked(kind: u8, content: &[u8]) -> Vec<u8> {
    let mask = [3, 5, 7, 11];
    let mut frame = vec![0x80 | kind];
    match content.len() {
        short @ 0..=125 => frame.push(0x80 | short as u8),
        long => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(long).unwrap().to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}
