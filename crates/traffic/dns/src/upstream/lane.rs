//! A socket to one other server, on a port that the kernel chose, with many questions under way. An answer counts if its number and
//! its question are those of one that is waited for.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_clock::Clock;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::cache::Question;
use crate::wire::skim;

const LARGEST: usize = 4096;

pub(super) struct Lane {
    shared: Arc<Shared>,
    reader: AbortHandle,
}

struct Shared {
    socket: UdpSocket,
    waiting: Mutex<HashMap<u16, Waiting>>,
    broken: AtomicBool,
}

struct Waiting {
    question: Question,
    tell: oneshot::Sender<Vec<u8>>,
}

impl Lane {
    pub(super) async fn open(to: SocketAddr) -> io::Result<Self> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).await?;
        socket.connect(to).await?;
        let shared = Arc::new(Shared { socket, waiting: Mutex::default(), broken: AtomicBool::new(false) });
        let reader = tokio::spawn(read(shared.clone())).abort_handle();
        Ok(Self { shared, reader })
    }

    /// Nobody answers here any more, or never did.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Relaxed)
    }

    /// Waits until there is an answer; nothing, if there will be none.
    pub(super) async fn ask(&self, question: &Question, clock: &Clock) -> Option<Vec<u8>> {
        let (tell, told) = oneshot::channel();
        let place = Place { shared: &self.shared, id: self.place(question, tell, clock)? };
        self.shared.socket.send(&question.message(place.id)).await.ok()?;
        told.await.ok()
    }

    fn place(&self, question: &Question, tell: oneshot::Sender<Vec<u8>>, clock: &Clock) -> Option<u16> {
        let mut waiting = self.shared.waiting.lock();
        // With a thousand of them at most, a free number is found soon.
        let id = (0..64).map(|_| clock.chance() as u16).find(|id| !waiting.contains_key(id))?;
        waiting.insert(id, Waiting { question: question.clone(), tell });
        Some(id)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A number in use, for as long as somebody waits.
struct Place<'a> {
    shared: &'a Shared,
    id: u16,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.waiting.lock().remove(&self.id);
    }
}

async fn read(shared: Arc<Shared>) {
    let mut buffer = vec![0; LARGEST];
    loop {
        match shared.socket.recv(&mut buffer).await {
            Ok(length) => {
                if let Some(message) = buffer.get(..length) {
                    hand_over(&shared, message);
                }
            }
            // The other side says that nobody is there: whoever waits need not wait for that.
            Err(_) => {
                shared.broken.store(true, Ordering::Relaxed);
                shared.waiting.lock().clear();
                return;
            }
        }
    }
}

fn hand_over(shared: &Shared, message: &[u8]) {
    let Some(found) = skim(message) else { return };
    let mut waiting = shared.waiting.lock();
    // Somebody may guess numbers: a wrong guess must not end the wait for the right one.
    if waiting.get(&found.id).is_some_and(|one| one.question.is_answered_by(&found))
        && let Some(one) = waiting.remove(&found.id)
    {
        // Nobody may be waiting any more.
        let _ = one.tell.send(message.to_vec());
    }
}
