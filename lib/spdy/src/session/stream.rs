//! One stream, in its two halves.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, watch};

use super::{Flow, SessionError, Shared, WINDOW};
use crate::frame::Frame;
use crate::headers::Headers;

/// Frames of this size keep one stream from holding up the others.
const PIECE: usize = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// For the peer's answer.
    Waiting,
    Open,
    Reset(u32),
    /// With the connection.
    Lost,
}

pub struct Stream {
    pub id: u32,
    /// What it was opened with.
    pub headers: Headers,
    pub reader: Reader,
    pub writer: Writer,
}

impl Stream {
    /// Returns once the peer has taken the stream.
    pub async fn accepted(&mut self) -> Result<(), SessionError> {
        let state = self.writer.state.wait_for(|state| *state != State::Waiting).await;
        let state = state.map_err(|_| SessionError::Ended)?.clone();
        match state {
            State::Open | State::Waiting => Ok(()),
            State::Reset(status) => Err(SessionError::Reset(status)),
            State::Lost => Err(SessionError::Ended),
        }
    }

    pub fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }
}

/// What the peer sends.
pub struct Reader {
    id: u32,
    shared: Arc<Shared>,
    out: mpsc::Sender<Frame>,
    incoming: mpsc::UnboundedReceiver<Option<Bytes>>,
    credit: Arc<Semaphore>,
    state: watch::Receiver<State>,
    /// Read, but not yet told to the peer.
    untold: usize,
    done: bool,
}

impl Reader {
    pub(crate) fn new(
        id: u32,
        shared: Arc<Shared>,
        out: mpsc::Sender<Frame>,
        incoming: mpsc::UnboundedReceiver<Option<Bytes>>,
        credit: Arc<Semaphore>,
        state: watch::Receiver<State>,
    ) -> Self {
        Self { id, shared, out, incoming, credit, state, untold: 0, done: false }
    }

    /// The next bytes, or none once the peer has ended its half. Loses nothing when dropped half way.
    pub async fn read(&mut self) -> Result<Option<Bytes>, SessionError> {
        if self.done {
            return Ok(None);
        }
        let data = match self.incoming.recv().await {
            Some(Some(data)) => data,
            Some(None) => {
                self.done = true;
                return Ok(None);
            }
            // Not as it should end.
            None => {
                return Err(match &*self.state.borrow() {
                    State::Reset(status) => SessionError::Reset(*status),
                    State::Lost | State::Waiting | State::Open => SessionError::Ended,
                });
            }
        };
        self.credit.add_permits(data.len().min(WINDOW));
        if self.shared.flow == Flow::Windowed {
            self.untold += data.len();
            if self.untold >= WINDOW / 2
                && let Ok(place) = self.out.try_reserve()
            {
                place.send(Frame::WindowUpdate { stream: self.id, by: self.untold as u32 });
                self.untold = 0;
            }
            self.shared.widen(0, &self.out);
        }
        Ok(Some(data))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // What still comes is thrown away instead of being waited for.
        self.credit.close();
    }
}

/// What we send. Dropping it without `finish` leaves the peer waiting.
pub struct Writer {
    id: u32,
    shared: Arc<Shared>,
    out: mpsc::Sender<Frame>,
    window: Arc<Semaphore>,
    state: watch::Receiver<State>,
}

impl Writer {
    pub(crate) fn new(
        id: u32,
        shared: Arc<Shared>,
        out: mpsc::Sender<Frame>,
        window: Arc<Semaphore>,
        state: watch::Receiver<State>,
    ) -> Self {
        Self { id, shared, out, window, state }
    }

    /// Takes an opened stream of the peer's.
    pub async fn accept(&self, headers: Headers) -> Result<(), SessionError> {
        self.send(Frame::SynReply { stream: self.id, fin: false, headers }).await
    }

    pub async fn write(&self, mut data: Bytes) -> Result<(), SessionError> {
        while !data.is_empty() {
            let length = self.room(data.len().min(PIECE)).await?;
            self.send(Frame::Data { stream: self.id, fin: false, data: data.split_to(length) }).await?;
        }
        Ok(())
    }

    /// Nothing more will be written. The other half goes on.
    pub async fn finish(self) -> Result<(), SessionError> {
        let sent = self.send(Frame::Data { stream: self.id, fin: true, data: Bytes::new() }).await;
        self.shared.settle(self.id, |entry| entry.finished = true);
        sent
    }

    /// Ends both halves at once.
    pub async fn reset(self, status: u32) -> Result<(), SessionError> {
        let sent = self.send(Frame::Reset { stream: self.id, status }).await;
        self.shared.streams.lock().open.remove(&self.id);
        sent
    }

    async fn send(&self, frame: Frame) -> Result<(), SessionError> {
        match &*self.state.borrow() {
            State::Reset(status) => return Err(SessionError::Reset(*status)),
            State::Lost => return Err(SessionError::Ended),
            State::Waiting | State::Open => {}
        }
        self.out.send(frame).await.map_err(|_| SessionError::Ended)
    }

    /// How much of it may be sent now: waits until something may.
    async fn room(&self, wanted: usize) -> Result<usize, SessionError> {
        if self.shared.flow == Flow::Unwindowed {
            return Ok(wanted);
        }
        let on_stream = take(&self.window, wanted).await?;
        let on_session = take(&self.shared.window, on_stream).await?;
        self.window.add_permits(on_stream - on_session);
        Ok(on_session)
    }
}

/// At least one, and as many as there are.
async fn take(window: &Semaphore, wanted: usize) -> Result<usize, SessionError> {
    window.acquire().await.map_err(|_| SessionError::Ended)?.forget();
    let more = window.available_permits().min(wanted - 1);
    let more = match window.try_acquire_many(u32::try_from(more).unwrap_or(0)) {
        Ok(permits) => {
            permits.forget();
            more
        }
        Err(_) => 0,
    };
    Ok(1 + more)
}
