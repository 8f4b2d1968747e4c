//! When a long answer lets others have their turn on its thread. Knows how much has left and how many others there are, not what is sent.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;

/// How much of a long answer has left since others had their turn. Without pauses a connection would fill all the room that the network
/// has, and many of them would keep everybody else waiting: the more there are, the shorter is the turn of each, so that everybody's comes
/// as soon. The first pause comes after the first piece: the client has something to do then, while more is made.
///
/// A pause is not free: it has another thread woken, to look for work. Where there is none it takes the processor from the client, and often
/// the answer's own task with it. So who is alone goes on, as long as another thread is there for whoever comes.
pub(crate) struct Turn {
    sent: usize,
    /// How much work a byte is, beside one that is only sent.
    cost: usize,
    has_begun: bool,
    /// Whether there are other threads.
    is_helped: bool,
}

/// How many long answers are under way in this process.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
/// How many requests have no answer yet.
static IN_HAND: AtomicUsize = AtomicUsize::new(0);

/// A request that has no answer yet.
pub(crate) struct InHand(());

impl InHand {
    pub(crate) fn new() -> Self {
        IN_HAND.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        IN_HAND.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turn {
    /// What all long answers together send before each had a turn, as long as they are few.
    const LENGTH: usize = 512 * 1024;
    const LEAST: usize = 64 * 1024;
    /// What one sends that nobody is known to wait for: a few milliseconds' work.
    const ALONE: usize = 4 * 1024 * 1024;
    const COMPRESSED: usize = 4;

    pub(crate) fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::Relaxed);
        let is_helped = Handle::try_current().is_ok_and(|runtime| runtime.metrics().num_workers() > 1);
        Self { sent: 0, cost: 1, has_begun: false, is_helped }
    }

    pub(crate) fn is_over(&self) -> bool {
        let under_way = UNDER_WAY.load(Ordering::Relaxed).max(1);
        let is_alone = self.is_helped && under_way == 1 && IN_HAND.load(Ordering::Relaxed) == 0;
        let length = match (is_alone, self.has_begun) {
            (true, _) => Self::ALONE,
            (false, true) => (Self::LENGTH / under_way).max(Self::LEAST),
            (false, false) => 1,
        };
        self.sent >= length
    }

    pub(crate) fn sent(&mut self, length: usize) {
        self.sent += length * self.cost;
    }

    /// Others have theirs; whoever is polled with this context comes back after them.
    pub(crate) fn pass(&mut self, context: &mut Context<'_>) {
        (self.sent, self.has_begun) = (0, true);
        let _pending = pin!(tokio::task::yield_now()).poll(context);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is compressed on its way: the pauses are between the pieces that go in, as next to nothing may come out.
pub(crate) struct Compressing<S> {
    pieces: S,
    turn: Turn,
}

impl<S> Compressing<S> {
    pub(crate) fn new(pieces: S) -> Self {
        let mut turn = Turn::begin();
        turn.cost = Turn::COMPRESSED;
        Self { pieces, turn }
    }
}

impl<S: Stream<Item = Bytes> + Unpin> Stream for Compressing<S> {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.turn.is_over() {
            self.turn.pass(context);
            return Poll::Pending;
        }
        let piece = self.pieces.poll_next_unpin(context);
        if let Poll::Ready(Some(piece)) = &piece {
            self.turn.sent(piece.len());
        }
        piece
    }
}
