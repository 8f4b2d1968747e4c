//! Runs a connection: writes what is queued, and hands what arrives to its stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, mpsc};

use super::stream::State;
use super::{Entry, Flow, SessionError, Shared, Stream, WINDOW};
use crate::frame::{Decoder, Encoder, Frame, Setting};
use crate::headers::Headers;
use crate::reset;

/// Streams that a peer may have open at once.
const MOST_STREAMS: usize = 1024;
const READ: usize = 32 * 1024;

pub struct Driver<T> {
    io: T,
    shared: Arc<Shared>,
    out: mpsc::WeakSender<Frame>,
    queue: mpsc::Receiver<Frame>,
}

impl<T: AsyncRead + AsyncWrite> Driver<T> {
    pub(crate) fn new(
        io: T,
        shared: Arc<Shared>,
        out: mpsc::WeakSender<Frame>,
        queue: mpsc::Receiver<Frame>,
    ) -> Self {
        Self { io, shared, out, queue }
    }

    /// Until the connection ends. Streams that the peer opens go to `opened`; without one they are refused. Once the session
    /// and all its streams are dropped, our direction is closed.
    pub async fn run(self, opened: Option<mpsc::Sender<Stream>>) -> Result<(), SessionError> {
        let Self { io, shared, out, queue } = self;
        let (read, write) = tokio::io::split(io);
        let mut incoming = Incoming { shared: shared.clone(), out, opened, highest: 0 };
        let ended = {
            let (mut reading, mut writing) =
                (std::pin::pin!(incoming.read_all(read)), std::pin::pin!(write_all(write, queue)));
            tokio::select! {
                ended = &mut reading => ended,
                written = &mut writing => match written {
                    Ok(()) => reading.await,
                    Err(error) => Err(error),
                },
            }
        };
        incoming.end();
        ended
    }
}

async fn write_all<T: AsyncWrite>(
    mut write: WriteHalf<T>,
    mut queue: mpsc::Receiver<Frame>,
) -> Result<(), SessionError> {
    let broken = |error| SessionError::Connection(Arc::new(error));
    let wrong = |error| SessionError::Frame(Arc::new(error));
    let mut encoder = Encoder::new().map_err(wrong)?;
    let mut buffer = BytesMut::new();
    while let Some(frame) = queue.recv().await {
        encoder.encode(&frame, &mut buffer).map_err(wrong)?;
        // What is queued already goes in the same packet.
        while buffer.len() < READ
            && let Ok(frame) = queue.try_recv()
        {
            encoder.encode(&frame, &mut buffer).map_err(wrong)?;
        }
        write.write_all_buf(&mut buffer).await.map_err(broken)?;
        write.flush().await.map_err(broken)?;
    }
    write.shutdown().await.map_err(broken)
}

struct Incoming {
    shared: Arc<Shared>,
    /// Not held on to: a session that nobody uses any more shall end.
    out: mpsc::WeakSender<Frame>,
    opened: Option<mpsc::Sender<Stream>>,
    /// The newest stream of the peer's.
    highest: u32,
}

impl Incoming {
    async fn read_all<T: AsyncRead>(&mut self, mut read: ReadHalf<T>) -> Result<(), SessionError> {
        let mut decoder = Decoder::default();
        let mut buffer = BytesMut::with_capacity(READ);
        loop {
            while let Some(frame) =
                decoder.decode(&mut buffer).map_err(|error| SessionError::Frame(Arc::new(error)))?
            {
                self.take(frame).await;
            }
            buffer.reserve(READ);
            let count = read.read_buf(&mut buffer).await;
            if count.map_err(|error| SessionError::Connection(Arc::new(error)))? == 0 {
                return Ok(());
            }
        }
    }

    async fn take(&mut self, frame: Frame) {
        match frame {
            Frame::Data { stream, fin, data } => self.data(stream, fin, data).await,
            Frame::SynStream { stream, fin, headers, .. } => self.opened(stream, fin, headers),
            Frame::SynReply { stream, fin, .. } => {
                self.with(stream, |entry| entry.state.send_replace(State::Open));
                self.finish(stream, fin);
            }
            Frame::Headers { stream, fin, .. } => self.finish(stream, fin),
            Frame::Reset { stream, status } => {
                let entry = self.shared.streams.lock().open.remove(&stream);
                if let Some(entry) = entry {
                    entry.state.send_replace(State::Reset(status));
                    entry.window.close();
                }
            }
            Frame::Ping { id } => {
                let mut streams = self.shared.streams.lock();
                let ours = id % 2 == streams.next_ping % 2;
                match (ours, streams.pings.remove(&id)) {
                    (true, Some(asked)) => drop(asked.send(())),
                    (true, None) => {}
                    // Who pings faster than we write knows already that we are there.
                    (false, _) => self.answer(Frame::Ping { id }),
                }
            }
            Frame::GoAway { .. } => self.shared.streams.lock().gone_away = true,
            Frame::WindowUpdate { stream, by } => self.widen(stream, by as usize),
            Frame::Settings { settings, .. } => self.settings(&settings),
        }
    }

    fn answer(&self, frame: Frame) {
        if let Some(out) = self.out.upgrade() {
            let _full = out.try_send(frame);
        }
    }

    fn with<R>(&self, stream: u32, act: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        self.shared.streams.lock().open.get_mut(&stream).map(act)
    }

    fn finish(&self, stream: u32, fin: bool) {
        if fin {
            self.shared.settle(stream, |entry| {
                if let Some(data) = entry.data.take() {
                    let _unread = data.send(None);
                }
            });
        }
    }

    fn opened(&mut self, stream: u32, fin: bool, headers: Headers) {
        let (Some(opened), Some(out)) = (&self.opened, self.out.upgrade()) else {
            return self.answer(Frame::Reset { stream, status: reset::REFUSED_STREAM });
        };
        let mut streams = self.shared.streams.lock();
        let theirs = stream % 2 != streams.next % 2 && stream > self.highest;
        if !theirs {
            return self.answer(Frame::Reset { stream, status: reset::PROTOCOL_ERROR });
        }
        self.highest = stream;
        if streams.gone_away || streams.open.len() >= MOST_STREAMS {
            return self.answer(Frame::Reset { stream, status: reset::REFUSED_STREAM });
        }
        let made = self.shared.add(&mut streams, out, stream, headers, State::Open);
        drop(streams);
        if opened.try_send(made).is_err() {
            self.shared.streams.lock().open.remove(&stream);
            return self.answer(Frame::Reset { stream, status: reset::REFUSED_STREAM });
        }
        self.finish(stream, fin);
    }

    async fn data(&mut self, stream: u32, fin: bool, data: Bytes) {
        if self.shared.flow == Flow::Windowed
            && let Some(out) = self.out.upgrade()
        {
            self.shared.widen(data.len(), &out);
        }
        let found = self.with(stream, |entry| (entry.data.clone(), entry.credit.clone()));
        let Some((sender, credit)) = found else {
            return self.answer(Frame::Reset { stream, status: reset::INVALID_STREAM });
        };
        let Some(sender) = sender else {
            return self.answer(Frame::Reset { stream, status: reset::STREAM_ALREADY_CLOSED });
        };
        if !data.is_empty() {
            match self.spend(&credit, data.len()).await {
                Spent::Taken => drop(sender.send(Some(data))),
                Spent::Unread => {}
                Spent::TooMuch => {
                    self.shared.streams.lock().open.remove(&stream);
                    return self.answer(Frame::Reset { stream, status: reset::FLOW_CONTROL_ERROR });
                }
            }
        }
        self.finish(stream, fin);
    }

    async fn spend(&self, credit: &Semaphore, length: usize) -> Spent {
        let length = length.min(WINDOW) as u32;
        let taken = match self.shared.flow {
            Flow::Windowed => credit.try_acquire_many(length).map_err(|_| credit.is_closed()),
            Flow::Unwindowed => credit.acquire_many(length).await.map_err(|_| true),
        };
        match taken {
            Ok(permits) => {
                permits.forget();
                Spent::Taken
            }
            Err(true) => Spent::Unread,
            Err(false) => Spent::TooMuch,
        }
    }

    fn widen(&self, stream: u32, by: usize) {
        let window = match stream {
            0 => Some(self.shared.window.clone()),
            _ => self.with(stream, |entry| entry.window.clone()),
        };
        // More than the protocol lets a window grow to is as good as that.
        if let Some(window) = window
            && window.available_permits() + by <= i32::MAX as usize
        {
            window.add_permits(by);
        }
    }

    fn settings(&self, settings: &[Setting]) {
        let wanted = settings.iter().rev().find(|setting| setting.id == Setting::INITIAL_WINDOW);
        let Some(wanted) = wanted.map(|setting| setting.value.min(i32::MAX as u32) as usize) else { return };
        let mut streams = self.shared.streams.lock();
        let before = std::mem::replace(&mut streams.window, wanted);
        for entry in streams.open.values() {
            match wanted.checked_sub(before) {
                Some(more) => entry.window.add_permits(more),
                None => drop(entry.window.forget_permits(before - wanted)),
            }
        }
    }

    /// Nobody waits for what will not come.
    fn end(&self) {
        let mut streams = self.shared.streams.lock();
        streams.ended = true;
        streams.pings.clear();
        for (_, entry) in streams.open.drain() {
            entry.window.close();
            entry.state.send_replace(State::Lost);
        }
        self.shared.window.close();
    }
}

enum Spent {
    Taken,
    /// Nobody reads it.
    Unread,
    TooMuch,
}
