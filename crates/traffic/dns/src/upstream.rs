//! Asks others for names that are not ours: who is asked for which, in which order, for how long. What is being asked already is not
//! asked again, so a server that asks us back what we ask it cannot make us ask for ever.

mod lane;
mod resolv;
mod server;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use kedge_clock::Clock;
use parking_lot::Mutex;

pub(crate) use self::resolv::{Resolv, follow};
use self::server::Server;
use crate::cache::{Cache, Failed, Outcome, Question};
use crate::wire::{Code, Foreign, Name};

/// How long one server may take, the first time and the second. Together less than a resolver waits for us.
const PATIENCE: [Duration; 2] = [Duration::from_millis(1000), Duration::from_millis(1200)];
const ALTOGETHER: Duration = Duration::from_millis(4500);
/// Questions under way at once; more are refused.
const AT_ONCE: usize = 1000;
const CACHED_OCTETS: usize = 8 << 20;
const PORT: u16 = 53;

type Flight = Shared<BoxFuture<'static, Result<Arc<Foreign>, Failed>>>;

pub(crate) struct Upstream {
    usual: ArcSwap<Group>,
    /// What the node appends to names that it looks up.
    searches: ArcSwap<Vec<Name>>,
    stubs: Vec<(Name, Group)>,
    /// Where we are ourselves: nobody to ask.
    own: Vec<SocketAddr>,
    cache: Cache,
    flying: Mutex<HashMap<Question, Flight>>,
    clock: Clock,
}

/// Servers that know the same.
#[derive(Default)]
struct Group {
    servers: Vec<Arc<Server>>,
    /// The one that answered last.
    preferred: AtomicUsize,
}

impl Group {
    fn new(servers: impl IntoIterator<Item = SocketAddr>, own: &[SocketAddr]) -> Self {
        let others = servers.into_iter().filter(|at| !own.contains(at));
        Self { servers: others.map(|at| Arc::new(Server::new(at))).collect(), preferred: AtomicUsize::new(0) }
    }
}

impl Upstream {
    pub(crate) fn new(stubs: Vec<(Name, Vec<SocketAddr>)>, own: Vec<SocketAddr>, clock: Clock) -> Self {
        let mut stubs: Vec<_> =
            stubs.into_iter().map(|(domain, servers)| (domain, Group::new(servers, &own))).collect();
        // The longest first, as it says most.
        stubs.sort_by_key(|(domain, _)| std::cmp::Reverse(domain.octets().len()));
        Self {
            usual: ArcSwap::default(),
            searches: ArcSwap::default(),
            stubs,
            own,
            cache: Cache::new(CACHED_OCTETS),
            flying: Mutex::default(),
            clock,
        }
    }

    /// From now on these are asked.
    pub(crate) fn ask_these(&self, servers: impl IntoIterator<Item = SocketAddr>) {
        self.usual.store(Arc::new(Group::new(servers, &self.own)));
    }

    pub(crate) fn set(&self, resolv: &Resolv) {
        self.ask_these(resolv.servers.iter().map(|at| SocketAddr::new(*at, PORT)));
        self.searches.store(Arc::new(resolv.searches.clone()));
    }

    pub(crate) fn searches(&self) -> Arc<Vec<Name>> {
        self.searches.load_full()
    }

    /// What is known without asking.
    pub(crate) fn remembered(&self, question: &Question) -> Option<Outcome> {
        self.cache.get(question, self.clock.now())
    }

    pub(crate) async fn resolve(self: &Arc<Self>, question: Question) -> Outcome {
        if let Some(known) = self.remembered(&question) {
            return known;
        }
        let flight = self.join(question).ok_or(Failed)?;
        flight.await.map(|answer| (answer, 0))
    }

    /// The question's way out, begun now or by an earlier one.
    fn join(self: &Arc<Self>, question: Question) -> Option<Flight> {
        let mut flying = self.flying.lock();
        if let Some(flight) = flying.get(&question) {
            return Some(flight.clone());
        }
        if flying.len() >= AT_ONCE {
            return None;
        }
        let (this, asked) = (self.clone(), question.clone());
        // Its own task: whoever asked first may lose patience before the others.
        let task = tokio::spawn(async move {
            let answer = this.ask(&asked).await;
            this.cache.put(asked.clone(), answer.clone(), this.clock.now());
            this.flying.lock().remove(&asked);
            answer
        });
        let flight = task.map(|ended| ended.unwrap_or(Err(Failed))).boxed().shared();
        flying.insert(question, flight.clone());
        Some(flight)
    }

    async fn ask(&self, question: &Question) -> Result<Arc<Foreign>, Failed> {
        let usual;
        let group = match self.stubs.iter().find(|(domain, _)| question.name.before(domain).is_some()) {
            Some((_, group)) => group,
            None => {
                usual = self.usual.load_full();
                &*usual
            }
        };
        tokio::select! {
            answer = self.ask_group(group, question) => answer,
            () = self.clock.sleep(ALTOGETHER) => Err(Failed),
        }
    }

    async fn ask_group(&self, group: &Group, question: &Question) -> Result<Arc<Foreign>, Failed> {
        let count = group.servers.len();
        let first = group.preferred.load(Ordering::Relaxed);
        let mut last = Err(Failed);
        for patience in PATIENCE {
            for turn in 0..count {
                let at = (first + turn) % count;
                let Some(server) = group.servers.get(at) else { continue };
                let Some(answer) = server.ask(question, patience, &self.clock).await else { continue };
                match answer.code() {
                    Code::Fine | Code::NoSuchName => {
                        group.preferred.store(at, Ordering::Relaxed);
                        return Ok(Arc::new(answer));
                    }
                    // Another may do better.
                    Code::Malformed | Code::Failed | Code::NotImplemented | Code::Refused => {
                        last = Ok(Arc::new(answer));
                    }
                }
            }
            // Whoever answers at all says the same a second time.
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests;
