//! One request to an endpoint over HTTP/1.1, in the task of the client's own request: no queue and no other task stand between.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::answer::{self, Head};
use super::outgoing::Outgoing;
use super::reading::Reading;
use super::relay::{Ear, Relay};
use super::{Busy, Conn, Failure};

const ROOM: usize = 8 * 1024;

pub(crate) enum Answer {
    Whole(Head, Relay),
    /// It goes over to another protocol.
    Switched(Head, Switched),
}

/// A connection that no longer speaks HTTP, and what it has said since.
pub(crate) struct Switched {
    pub(crate) stream: TcpStream,
    pub(crate) said: BytesMut,
    /// The endpoint is busy until the tunnel ends.
    pub(crate) busy: Busy,
}

/// Sends a request and waits for the head of its answer.
pub(crate) async fn exchange(conn: Conn, out: &mut Outgoing, patience: Duration) -> Result<Answer, Failure> {
    let to = conn.busy.to();
    let broken = |source| Failure::Broken { to, source };
    out.take_ready().await.map_err(|error| broken(io::Error::other(error)))?;
    let Conn { mut stream, mut buffer, mut busy, .. } = conn;
    let mut ear = match out.rest.take() {
        None => {
            let sent = send(&mut stream, &out.bytes, patience).await.ok_or(Failure::Silent { to })?;
            // Who takes no more may have answered before it stopped; if it did not, reading says so.
            sent.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
                .map_err(broken)?;
            Ear::Whole(stream)
        }
        Some(rest) => {
            let (read, mut write) = stream.into_split();
            let first = out.bytes.split().freeze();
            let mut sending = JoinSet::new();
            sending.spawn(async move {
                tokio::time::timeout(patience, write.write_all(&first)).await.ok()?.ok()?;
                rest.pump(write, patience).await
            });
            Ear::Half(read, sending)
        }
    };
    let head = wait(&mut ear, &mut buffer, out.is_head_method, patience, &mut busy).await?;
    match (head.status, ear) {
        (StatusCode::SWITCHING_PROTOCOLS, Ear::Whole(stream)) => {
            Ok(Answer::Switched(head, Switched { stream, said: buffer, busy }))
        }
        (StatusCode::SWITCHING_PROTOCOLS, Ear::Half(..)) => {
            Err(Failure::Garbled { to, why: "it switched protocols amid a request".to_owned() })
        }
        (_, ear) => {
            let Head { status, headers, upgrade, reading, keeps } = head;
            let relay = Relay::new(ear, busy, buffer, reading, keeps);
            let head = Head { status, headers, upgrade, reading: Reading::Done, keeps };
            Ok(Answer::Whole(head, relay))
        }
    }
}

/// Most requests are taken at once, and need no clock; nothing, if the rest is not taken in time.
async fn send(stream: &mut TcpStream, bytes: &[u8], patience: Duration) -> Option<io::Result<()>> {
    let left = match stream.try_write(bytes) {
        Ok(sent) if sent == bytes.len() => return Some(Ok(())),
        Ok(sent) => bytes.get(sent..).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => bytes,
        Err(error) => return Some(Err(error)),
    };
    tokio::time::timeout(patience, stream.write_all(left)).await.ok()
}

async fn wait(
    ear: &mut Ear,
    buffer: &mut BytesMut,
    is_head_method: bool,
    patience: Duration,
    busy: &mut Busy,
) -> Result<Head, Failure> {
    let to = busy.to();
    let reading = async {
        loop {
            buffer.reserve(ROOM);
            let read = ear.read_buf(buffer).await.map_err(|source| Failure::Broken { to, source })?;
            if read == 0 {
                return Err(Failure::Broken { to, source: io::ErrorKind::UnexpectedEof.into() });
            }
            let parsed = answer::parse(buffer, is_head_method);
            if let Some(head) = parsed.map_err(|why| Failure::Garbled { to, why })? {
                return Ok(head);
            }
        }
    };
    busy.within(patience, reading).await.ok_or(Failure::Silent { to })?
}
