//! Streams over one connection. The caller runs the connection by polling `Driver::run`; streams end when it ends.

mod drive;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc, watch};

pub use self::drive::Driver;
use self::stream::State;
pub use self::stream::{Reader, Stream, Writer};
use crate::frame::{Frame, FrameError};
use crate::headers::Headers;

/// What may be under way on a stream, and on the whole connection, until somebody says otherwise.
const WINDOW: usize = 64 * 1024;
/// Frames that wait to be written.
const QUEUE: usize = 16;

/// Whether the peer keeps to windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// As the protocol says: nobody sends more than the other side has room for.
    Windowed,
    /// As container runtimes and Kubernetes' clients do it: nobody speaks of windows, and who reads slowly slows the whole
    /// connection down.
    Unwindowed,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    #[error("the connection has ended")]
    Ended,
    #[error("the peer takes no new streams")]
    GoneAway,
    #[error("the peer has ended the stream with status {0}")]
    Reset(u32),
    #[error("the peer does not keep to the protocol")]
    Frame(#[source] Arc<FrameError>),
    #[error("the connection does not work")]
    Connection(#[source] Arc<std::io::Error>),
}

/// Cheap to clone; clones are the same session.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    out: mpsc::Sender<Frame>,
}

pub(crate) struct Shared {
    flow: Flow,
    streams: Mutex<Streams>,
    /// What we may send on the whole connection.
    window: Arc<Semaphore>,
    /// Received on the whole connection, but not yet told to the peer.
    untold: AtomicUsize,
}

struct Streams {
    open: HashMap<u32, Entry>,
    next: u32,
    next_ping: u32,
    pings: HashMap<u32, tokio::sync::oneshot::Sender<()>>,
    gone_away: bool,
    ended: bool,
    /// What we may send on a new stream.
    window: usize,
}

/// One stream as the connection sees it.
pub(crate) struct Entry {
    /// None once the peer has said that it sends nothing more.
    data: Option<mpsc::UnboundedSender<Option<bytes::Bytes>>>,
    /// Bytes that the reader has room for.
    credit: Arc<Semaphore>,
    window: Arc<Semaphore>,
    state: watch::Sender<State>,
    finished: bool,
}

impl Session {
    /// The side that has dialled.
    pub fn client<T: AsyncRead + AsyncWrite>(io: T, flow: Flow) -> (Self, Driver<T>) {
        Self::over(io, flow, 1)
    }

    /// The side that was dialled.
    pub fn server<T: AsyncRead + AsyncWrite>(io: T, flow: Flow) -> (Self, Driver<T>) {
        Self::over(io, flow, 2)
    }

    fn over<T: AsyncRead + AsyncWrite>(io: T, flow: Flow, first: u32) -> (Self, Driver<T>) {
        let (out, queue) = mpsc::channel(QUEUE);
        let streams = Streams {
            open: HashMap::new(),
            next: first,
            next_ping: first,
            pings: HashMap::new(),
            gone_away: false,
            ended: false,
            window: WINDOW,
        };
        let window = Arc::new(Semaphore::new(WINDOW));
        let shared =
            Arc::new(Shared { flow, streams: Mutex::new(streams), window, untold: AtomicUsize::new(0) });
        let driver = Driver::new(io, shared.clone(), out.downgrade(), queue);
        (Self { shared, out }, driver)
    }

    /// Opens a stream. The peer may still refuse it; `Stream::accepted` says so.
    pub async fn open(&self, headers: Headers) -> Result<Stream, SessionError> {
        let place = self.out.reserve().await.map_err(|_| SessionError::Ended)?;
        // The number is taken and sent under one lock: a peer refuses numbers that don't grow.
        let mut streams = self.shared.streams.lock();
        if streams.ended {
            return Err(SessionError::Ended);
        }
        if streams.gone_away {
            return Err(SessionError::GoneAway);
        }
        let id = streams.next;
        streams.next += 2;
        let stream = self.shared.add(&mut streams, self.out.clone(), id, headers.clone(), State::Waiting);
        place.send(Frame::SynStream {
            stream: id,
            associated: 0,
            priority: 0,
            fin: false,
            unidirectional: false,
            headers,
        });
        Ok(stream)
    }

    /// Returns once the peer has answered.
    pub async fn ping(&self) -> Result<(), SessionError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let id = {
            let mut streams = self.shared.streams.lock();
            let id = streams.next_ping;
            streams.next_ping += 2;
            streams.pings.insert(id, answer);
            id
        };
        self.out.send(Frame::Ping { id }).await.map_err(|_| SessionError::Ended)?;
        answered.await.map_err(|_| SessionError::Ended)
    }

    /// Says that no further stream of the peer's is wanted. Those that are open go on.
    pub async fn go_away(&self) -> Result<(), SessionError> {
        let last = {
            let mut streams = self.shared.streams.lock();
            streams.gone_away = true;
            streams.open.keys().copied().max().unwrap_or(0)
        };
        self.out.send(Frame::GoAway { last, status: 0 }).await.map_err(|_| SessionError::Ended)
    }
}

impl Shared {
    fn add(
        self: &Arc<Self>,
        streams: &mut Streams,
        out: mpsc::Sender<Frame>,
        id: u32,
        headers: Headers,
        state: State,
    ) -> Stream {
        let (data, incoming) = mpsc::unbounded_channel();
        let (state, seen) = watch::channel(state);
        let credit = Arc::new(Semaphore::new(WINDOW));
        let window = Arc::new(Semaphore::new(streams.window));
        let entry = Entry {
            data: Some(data),
            credit: credit.clone(),
            window: window.clone(),
            state,
            finished: false,
        };
        streams.open.insert(id, entry);
        let reader = Reader::new(id, self.clone(), out.clone(), incoming, credit, seen.clone());
        let writer = Writer::new(id, self.clone(), out, window, seen);
        Stream { id, headers, reader, writer }
    }

    /// Gives the peer new room on the whole connection. It is given for what has arrived, whether or not it was read: what a
    /// stream may hold is bounded by its own window, and one that nobody reads must not hold up the others.
    fn widen(&self, by: usize, out: &mpsc::Sender<Frame>) {
        let untold = self.untold.fetch_add(by, Ordering::SeqCst) + by;
        if untold < WINDOW / 2 {
            return;
        }
        // A full queue is no reason to wait: it is told with the next bytes.
        if let Ok(place) = out.try_reserve() {
            let by = self.untold.swap(0, Ordering::SeqCst);
            place.send(Frame::WindowUpdate { stream: 0, by: by as u32 });
        }
    }

    /// A stream that both sides are done with is forgotten.
    fn settle(&self, id: u32, change: impl FnOnce(&mut Entry)) {
        let mut streams = self.streams.lock();
        if let Some(entry) = streams.open.get_mut(&id) {
            change(entry);
            if entry.finished && entry.data.is_none() {
                streams.open.remove(&id);
            }
        }
    }
}
