//! Commands and attached processes over WebSocket: each message begins with the number of its channel, each channel is a stream
//! of the runtime's.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use hyper_util::rt::TokioIo;
use kedge_spdy::{Flow, Headers, Reader, Session, SessionError, Stream, Writer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::Said;
use super::backend::reach;
use crate::answer::{Answer, Refusal};
use crate::call::Call;
use crate::websocket::{self, Handshake, Kind, Message};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Says that a channel of the client's has ended.
const CLOSE: u8 = 255;

const NORMAL: u16 = 1000;
const WRONG: u16 = 1002;
/// A client that went without a word is noticed by what is said to it, so something is said now and then.
const PING: Duration = Duration::from_secs(30);
/// How long a client may take to close after everything was said.
const FAREWELL: Duration = Duration::from_secs(10);
/// Kubernetes' clients up to 1.33 begin to read before they know their own channels: what comes in that instant is thrown away, be it how a
/// command ended. So nothing is said before a client was heard of, and then for as long as this, which is less than a command takes to begin.
pub(super) const SETTLING: Duration = Duration::from_millis(20);
/// A client that answers no ping is not waited for any longer.
const HEARING: Duration = Duration::from_secs(1);

/// How channels are written, and what can be said on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    name: &'static str,
    base64: bool,
    /// The client can say that its input has ended.
    closes: bool,
    /// How it ended is told as a Status in JSON, and not only if it ended badly.
    tells_status: bool,
}

const fn dialect(name: &'static str, base64: bool, closes: bool, tells_status: bool) -> Dialect {
    Dialect { name, base64, closes, tells_status }
}

const DIALECTS: [Dialect; 5] = [
    dialect("v5.channel.k8s.io", false, true, true),
    dialect("v4.channel.k8s.io", false, false, true),
    dialect("v4.base64.channel.k8s.io", true, false, true),
    dialect("channel.k8s.io", false, false, false),
    dialect("base64.channel.k8s.io", true, false, false),
];

impl Dialect {
    /// The first of the client's that we speak. Who names none speaks the oldest.
    pub(super) fn of(protocols: &[String]) -> Result<(Option<&'static str>, Self), Refusal> {
        if protocols.is_empty() {
            return Ok((None, DIALECTS[3]));
        }
        let found = protocols.iter().find_map(|wanted| DIALECTS.iter().find(|one| one.name == wanted));
        let found = found.ok_or_else(|| {
            Refusal::new(
                http::StatusCode::FORBIDDEN,
                format!("unable to upgrade: none of the protocols {protocols:?} is spoken here"),
            )
        })?;
        Ok((Some(found.name), *found))
    }

    /// The channel of a message and what is said on it.
    pub(super) fn read(self, message: Message) -> Option<(u8, Bytes)> {
        let mut content = message.content;
        if content.is_empty() {
            return None;
        }
        let channel = content.split_to(1)[0];
        if !self.base64 {
            return Some((channel, content));
        }
        let channel = channel.checked_sub(b'0').filter(|channel| *channel < 10)?;
        Some((channel, STANDARD.decode(&content).ok()?.into()))
    }

    pub(super) async fn write<W: AsyncWrite + Unpin>(
        self,
        to: &mut websocket::Writer<W>,
        channel: u8,
        content: &[u8],
    ) -> std::io::Result<()> {
        if self.base64 {
            to.send(Kind::Text, &[&[b'0' + channel], STANDARD.encode(content).as_bytes()]).await
        } else {
            to.send(Kind::Binary, &[&[channel], content]).await
        }
    }

    /// What a client is told of how it ended, given what the runtime told.
    pub(super) fn status(self, told: &[u8]) -> Option<Vec<u8>> {
        let status: Option<Value> = serde_json::from_slice(told).ok();
        if self.tells_status {
            let lost = || {
                let message = "the container runtime ended the stream without a status";
                let status = json!({"metadata": {}, "status": "Failure", "message": message,
                    "reason": "InternalError", "code": 500});
                status.to_string().into_bytes()
            };
            return Some(if told.is_empty() { lost() } else { told.to_vec() });
        }
        match status {
            Some(status) if status["status"] == "Success" => None,
            Some(status) => status["message"].as_str().map(|text| text.as_bytes().to_vec()),
            None => (!told.is_empty()).then(|| told.to_vec()),
        }
    }
}

pub(super) async fn translate(
    call: Call,
    handshake: &Handshake,
    address: &str,
    said: Said,
) -> Result<Answer, Refusal> {
    let (name, dialect) = Dialect::of(&handshake.protocols)?;
    let reached = reach(address, vec![HeaderValue::from_static("v4.channel.k8s.io")]).await?;
    let (session, driver) = Session::client(reached.io, Flow::Unwindowed);
    let driven = Driven(tokio::spawn(driver.run(None)));
    let streams = Streams::open(&session, said).await.map_err(Refusal::failed)?;
    let client = hyper::upgrade::on(call);
    tokio::spawn(async move {
        let _driven = driven;
        match client.await {
            Ok(client) => carry(TokioIo::new(client), streams, dialect, PING).await,
            Err(error) => tracing::debug!(%error, "a client went before its stream began"),
        }
    });
    Ok(handshake.accept(name))
}

/// The connection to the runtime, which ends with whoever holds this.
pub(super) struct Driven(pub(super) JoinHandle<Result<(), SessionError>>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The runtime's streams.
pub(super) struct Streams {
    stdin: Option<Writer>,
    resize: Option<Writer>,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
    error: Option<Reader>,
}

impl Streams {
    /// The runtime begins once it has all of them.
    pub(super) async fn open(session: &Session, said: Said) -> Result<Self, SessionError> {
        let open = async |wanted: bool, kind: &str| -> Result<Option<Stream>, SessionError> {
            if !wanted {
                return Ok(None);
            }
            let headers: Headers = [("streamType", kind)].into_iter().collect();
            session.open(headers).await.map(Some)
        };
        let mut opened = [
            open(true, "error").await?,
            open(said.stdin, "stdin").await?,
            open(said.stdout, "stdout").await?,
            open(said.stderr, "stderr").await?,
            open(said.tty, "resize").await?,
        ];
        for stream in opened.iter_mut().flatten() {
            stream.accepted().await?;
        }
        let [error, stdin, stdout, stderr, resize] = opened;
        Ok(Self {
            stdin: stdin.map(|stream| stream.writer),
            resize: resize.map(|stream| stream.writer),
            stdout: stdout.map(|stream| stream.reader),
            stderr: stderr.map(|stream| stream.reader),
            error: error.map(|stream| stream.reader),
        })
    }
}

/// Until everything was said, or the client is gone.
pub(super) async fn carry(
    client: impl AsyncRead + AsyncWrite,
    streams: Streams,
    dialect: Dialect,
    ping: Duration,
) {
    let (read, write) = tokio::io::split(client);
    let mut from = websocket::Reader::new(read);
    let mut to = websocket::Writer::new(write);
    let (pongs, pings) = mpsc::channel(4);
    let (heard, reads) = oneshot::channel();
    let Streams { stdin, resize, stdout, stderr, error } = streams;
    let ended = {
        let inward = inward(&mut from, dialect, stdin, resize, (heard, pongs));
        let outward = async {
            settled(&mut to, reads).await?;
            outward(&mut to, dialect, [stdout, stderr, error], pings, ping).await
        };
        tokio::select! {
            ended = outward => ended.map(|()| NORMAL),
            wrong = inward => match wrong {
                true => Ok(WRONG),
                // The client has left; nobody hears what is still said.
                false => return,
            },
        }
    };
    let Ok(code) = ended else { return };
    if to.close(code).await.is_ok() {
        // A connection that is closed with something unread in it takes with it what was sent last.
        let rest = async { while let Ok(Some(_)) = from.next().await {} };
        let _late = tokio::time::timeout(FAREWELL, rest).await;
    }
}

/// Until the client reads and has had a moment.
async fn settled<W: AsyncWrite + Unpin>(
    to: &mut websocket::Writer<W>,
    reads: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    to.send(Kind::Ping, &[]).await?;
    let _silent = tokio::time::timeout(HEARING, reads).await;
    tokio::time::sleep(SETTLING).await;
    Ok(())
}

/// What the client says. True if it does not keep to the protocol.
async fn inward<R: AsyncRead + Unpin>(
    from: &mut websocket::Reader<R>,
    dialect: Dialect,
    mut stdin: Option<Writer>,
    resize: Option<Writer>,
    (heard, pongs): (oneshot::Sender<()>, mpsc::Sender<Bytes>),
) -> bool {
    let mut heard = Some(heard);
    loop {
        let message = match from.next().await {
            Ok(Some(message)) => message,
            Ok(None) | Err(websocket::WebSocketError::Connection(_)) => return false,
            Err(_) => return true,
        };
        if let Some(heard) = heard.take() {
            let _waits = heard.send(());
        }
        match message.kind {
            Kind::Close => return false,
            // Who pings faster than we write hears that we are there from what we write.
            Kind::Ping => drop(pongs.try_send(message.content)),
            Kind::Pong => {}
            Kind::Text | Kind::Binary => match dialect.read(message) {
                // A process that has ended takes no more input; how it ended is about to be told.
                Some((STDIN, content)) => {
                    if let Some(stdin) = &stdin {
                        let _ended = stdin.write(content).await;
                    }
                }
                Some((RESIZE, content)) => {
                    if let Some(resize) = &resize {
                        let _ended = resize.write(content).await;
                    }
                }
                Some((CLOSE, channel)) if dialect.closes => {
                    if channel[..] == [STDIN]
                        && let Some(stdin) = stdin.take()
                    {
                        let _ended = stdin.finish().await;
                    }
                }
                _ => {}
            },
        }
    }
}

/// What the runtime says; how it ended comes last.
async fn outward<W: AsyncWrite + Unpin>(
    to: &mut websocket::Writer<W>,
    dialect: Dialect,
    readers: [Option<Reader>; 3],
    mut pings: mpsc::Receiver<Bytes>,
    every: Duration,
) -> std::io::Result<()> {
    let [mut stdout, mut stderr, mut error] = readers;
    // Tells the client that the connection stands.
    let first = match (&stdout, &stderr) {
        (Some(_), _) => STDOUT,
        (None, Some(_)) => STDERR,
        (None, None) => ERROR,
    };
    dialect.write(to, first, &[]).await?;
    let mut status = Vec::new();
    while stdout.is_some() || stderr.is_some() || error.is_some() {
        let (channel, said) = tokio::select! {
            said = next(&mut stdout) => (STDOUT, said),
            said = next(&mut stderr) => (STDERR, said),
            said = next(&mut error) => (ERROR, said),
            Some(ping) = pings.recv() => {
                to.pong(&ping).await?;
                continue;
            }
            () = tokio::time::sleep(every) => {
                to.send(Kind::Ping, &[]).await?;
                continue;
            }
        };
        match (channel, said) {
            (_, None) => {}
            (ERROR, Some(said)) => status.extend_from_slice(&said),
            (channel, Some(said)) => dialect.write(to, channel, &said).await?,
        }
    }
    match dialect.status(&status) {
        Some(status) => dialect.write(to, ERROR, &status).await,
        None => Ok(()),
    }
}

/// What comes next; none at the end, and after it nothing ever.
async fn next(reader: &mut Option<Reader>) -> Option<Bytes> {
    let Some(open) = reader else { return std::future::pending().await };
    // The runtime ends its streams by resetting them.
    let said = open.read().await.ok().flatten();
    if said.is_none() {
        *reader = None;
    }
    said
}
