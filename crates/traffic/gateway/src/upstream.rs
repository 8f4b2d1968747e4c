//! The endpoints as one worker knows them: connections that wait for their next request, and how busy each is. A worker has its
//! own, so that no request waits for another worker.

mod answer;
mod chunked;
mod heard;
mod http1;
mod http2;
mod outgoing;
mod reading;
mod relay;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use self::answer::Head;
pub use self::heard::{End, Heard, hear};
pub(crate) use self::http1::{Answer, Switched, exchange};
pub(crate) use self::http2::call;
pub(crate) use self::outgoing::{Framing, Outgoing};
pub(crate) use self::relay::Relay;
use crate::patience::Patience;
use crate::routes::Backend;

const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How many connections to one endpoint wait for their next request.
const MOST_IDLE: usize = 128;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot connect to {to}")]
    Connect { to: SocketAddr, source: io::Error },
    #[error("{to} broke off")]
    Broken { to: SocketAddr, source: io::Error },
    #[error("{to} does not speak HTTP as it should: {why}")]
    Garbled { to: SocketAddr, why: String },
    #[error("{to} did not answer in time")]
    Silent { to: SocketAddr },
    #[error("{to} broke off")]
    Http2 { to: SocketAddr, source: hyper::Error },
}

/// One endpoint.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    idle: Mutex<Vec<Idle>>,
    busy: AtomicUsize,
    http2: Mutex<Option<SendRequest<Incoming>>>,
}

struct Idle {
    stream: TcpStream,
    buffer: BytesMut,
    patience: Patience,
    /// In which round it was left.
    since: u64,
}

/// Counts as one request under way for as long as it lives.
pub(crate) struct Busy {
    place: Arc<Place>,
    pool: Arc<Pool>,
    patience: Patience,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.place.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that one request has for itself.
pub(crate) struct Conn {
    stream: TcpStream,
    buffer: BytesMut,
    busy: Busy,
    /// It has carried requests before, and may have been closed by the other side since.
    pub(crate) is_reused: bool,
}

#[derive(Default)]
pub(crate) struct Pool {
    places: Mutex<HashMap<SocketAddr, Arc<Place>>>,
    round: AtomicU64,
    /// Told when an endpoint is called that was not known.
    came: Notify,
}

impl Pool {
    /// The less busy of the two whose turn it is, of those that have not been tried yet.
    pub(crate) fn choose(&self, backend: &Backend, tried: &[SocketAddr]) -> Option<Arc<Place>> {
        let mut places = self.places.lock();
        let all = &backend.endpoints;
        let first = backend.turn();
        let mut in_turn = (0..all.len()).map(|step| all[first.wrapping_add(step) % all.len()]);
        let mut untried = in_turn.by_ref().filter(|address| !tried.contains(address));
        let mut place = |address: SocketAddr| {
            let new = || {
                self.came.notify_one();
                Arc::new(Place::new(address))
            };
            places.entry(address).or_insert_with(new).clone()
        };
        let one = place(untried.next()?);
        let other = if all.len() > 1 { untried.next().map(place) } else { None };
        Some(match other {
            Some(other) if other.busy() < one.busy() => other,
            _ => one,
        })
    }

    /// A connection that waits, or a new one.
    pub(crate) async fn connect(self: &Arc<Self>, place: Arc<Place>) -> Result<Conn, Failure> {
        let mut busy = self.busy(place);
        while let Some(Idle { stream, buffer, patience, .. }) = busy.place.take_idle() {
            // Whoever has something to say without being asked has closed it, or is not to be trusted.
            let mut byte = [0];
            if matches!(stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                busy.patience = patience;
                return Ok(Conn { stream, buffer, busy, is_reused: true });
            }
        }
        let stream = open(busy.place.address).await?;
        Ok(Conn { stream, buffer: BytesMut::new(), busy, is_reused: false })
    }

    fn busy(self: &Arc<Self>, place: Arc<Place>) -> Busy {
        place.busy.fetch_add(1, Ordering::Relaxed);
        Busy { place, pool: self.clone(), patience: Patience::default() }
    }

    /// Closes what waits at one endpoint.
    pub(crate) fn close_idle(&self, address: SocketAddr) {
        if let Some(place) = self.places.lock().get(&address) {
            place.idle.lock().clear();
        }
    }

    /// Waits until there is something that could be closed one day: while there is nothing, nobody looks.
    pub(crate) async fn is_used(&self) {
        while self.places.lock().is_empty() {
            self.came.notified().await;
        }
    }

    /// Closes what nobody used since the last round.
    pub(crate) fn sweep(&self) {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        self.places.lock().retain(|_, place| {
            let mut idle = place.idle.lock();
            idle.retain(|waiting| waiting.since >= round);
            let mut http2 = place.http2.lock();
            if http2.as_ref().is_some_and(SendRequest::is_closed) {
                *http2 = None;
            }
            !idle.is_empty() || http2.is_some() || place.busy() > 0
        });
    }
}

async fn open(to: SocketAddr) -> Result<TcpStream, Failure> {
    let failed = |source| Failure::Connect { to, source };
    let connecting = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(to));
    let stream = connecting.await.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    // A node that vanished says nothing; a request that waits for an answer would wait for ever.
    let _kept = rustix::net::sockopt::set_socket_keepalive(&stream, true);
    Ok(stream)
}

impl Place {
    fn new(address: SocketAddr) -> Self {
        Self { address, idle: Mutex::default(), busy: AtomicUsize::new(0), http2: Mutex::default() }
    }

    fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    fn take_idle(&self) -> Option<Idle> {
        self.idle.lock().pop()
    }
}

impl Busy {
    fn to(&self) -> SocketAddr {
        self.place.address
    }

    /// Leaves a connection to the next request.
    fn leave(mut self, stream: TcpStream, buffer: BytesMut) {
        let patience = std::mem::take(&mut self.patience);
        let mut idle = self.place.idle.lock();
        if idle.len() < MOST_IDLE {
            idle.push(Idle { stream, buffer, patience, since: self.pool.round.load(Ordering::Relaxed) });
        }
    }

    /// Does something for the endpoint; nothing, if that takes too long.
    async fn within<T>(&mut self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        self.patience.until(Instant::now() + time, work).await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use kedge_client::Key;

    use super::*;
    use crate::routes::{Named, of_one};

    #[test]
    fn nobody_looks_after_what_is_not_there() {
        let pool = Pool::default();
        assert_eq!(pool.is_used().now_or_never(), None);
        let backend = of_one(Key::new("n", "s"), Named::Number(80), "127.0.0.1:1".parse().unwrap());
        pool.choose(&backend, &[]).unwrap();
        assert_eq!(pool.is_used().now_or_never(), Some(()));
        // Nothing waits there, and no request is under way.
        pool.sweep();
        assert_eq!(pool.is_used().now_or_never(), None);
    }
}
