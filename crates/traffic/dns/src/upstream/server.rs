//! One other server: asked in a datagram, and over a connection if the answer does not fit into one.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::lane::Lane;
use crate::cache::Question;
use crate::wire::{Foreign, Skim, skim};

/// Sockets in use at once, each with its own port that nobody can foresee.
const LANES: usize = 4;
/// For how long and for how many questions a socket is used.
const LANE_LIFE: SignedDuration = SignedDuration::from_secs(20);
const LANE_QUESTIONS: u32 = 2000;

pub(super) struct Server {
    at: SocketAddr,
    lanes: Mutex<Vec<Used>>,
}

struct Used {
    lane: Arc<Lane>,
    until: Timestamp,
    questions: u32,
}

impl Server {
    pub(super) fn new(at: SocketAddr) -> Self {
        Self { at, lanes: Mutex::default() }
    }

    /// Nothing, if it does not answer in time, or not at all.
    pub(super) async fn ask(
        &self,
        question: &Question,
        patience: Duration,
        clock: &Clock,
    ) -> Option<Foreign> {
        let answer = tokio::select! {
            answer = self.by_datagram(question, clock) => answer,
            () = clock.sleep(patience) => None,
        }?;
        if !skim(&answer)?.is_truncated() {
            return Foreign::new(answer);
        }
        let whole = tokio::select! {
            whole = self.by_connection(question, clock) => whole.ok().flatten(),
            () = clock.sleep(patience) => None,
        };
        // A part is better than nothing, and says that it is one.
        Foreign::new(whole.unwrap_or(answer))
    }

    async fn by_datagram(&self, question: &Question, clock: &Clock) -> Option<Vec<u8>> {
        let lane = self.lane(clock).await.ok()?;
        lane.ask(question, clock).await
    }

    async fn lane(&self, clock: &Clock) -> io::Result<Arc<Lane>> {
        let now = clock.now();
        {
            let mut lanes = self.lanes.lock();
            lanes
                .retain(|used| used.until > now && used.questions < LANE_QUESTIONS && !used.lane.is_broken());
            if lanes.len() >= LANES {
                let chosen = usize::try_from(clock.chance() % LANES as u128).unwrap_or_default();
                if let Some(used) = lanes.get_mut(chosen) {
                    used.questions += 1;
                    return Ok(used.lane.clone());
                }
            }
        }
        let lane = Arc::new(Lane::open(self.at).await?);
        let until = now.saturating_add(LANE_LIFE).unwrap_or(Timestamp::MAX);
        let mut lanes = self.lanes.lock();
        if lanes.len() < LANES {
            lanes.push(Used { lane: lane.clone(), until, questions: 1 });
        }
        Ok(lane)
    }

    async fn by_connection(&self, question: &Question, clock: &Clock) -> io::Result<Option<Vec<u8>>> {
        let mut stream = TcpStream::connect(self.at).await?;
        let id = clock.chance() as u16;
        let message = question.message(id);
        let length = u16::try_from(message.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes(), &*message].concat()).await?;
        let length = stream.read_u16().await?;
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await?;
        let fits = skim(&answer).is_some_and(|found| found.id == id && question.is_answered_by(&found));
        Ok(fits.then_some(answer))
    }
}

impl Question {
    /// As it is sent.
    pub(super) fn message(&self, id: u16) -> Vec<u8> {
        const RECURSE: u8 = 0x01;
        const UNCHECKED: u8 = 0x10;
        let mut octets = Vec::with_capacity(64);
        octets.extend(id.to_be_bytes());
        octets.extend([RECURSE, if self.unchecked { UNCHECKED } else { 0 }, 0, 1, 0, 0, 0, 0, 0, 1]);
        octets.extend(self.name.octets());
        octets.push(0);
        octets.extend(self.kind.to_be_bytes());
        octets.extend(self.class.to_be_bytes());
        octets.extend(crate::wire::Edns { size: 0, version: 0, signatures: self.signatures }.ours());
        octets
    }

    pub(super) fn is_answered_by(&self, skim: &Skim) -> bool {
        skim.is_response() && skim.name == self.name && skim.kind == self.kind && skim.class == self.class
    }
}
