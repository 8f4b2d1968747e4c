//! Answers questions: at once from the index and from memory, later with the help of others. Knows no socket of its own.
//!
//! Whoever has seen a Service in a list may ask for it here a moment later, and our watch may be that moment behind. So before we say
//! that `service.namespace.svc` is not there, and the namespace is, the API is asked for that one object; nobody waits for a watch. Who
//! was just told so is told it again.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use kedge_client::{Key, NotReady, World};
use kedge_clock::Clock;
use kedge_facts::Service;
use kedge_range::Range;
use tokio::sync::Semaphore;

use crate::autopath;
use crate::cache::{Outcome, Question};
use crate::feed::Feed;
use crate::hosts::Hosts;
use crate::index::{Find, Index, addresses, labels};
use crate::reverse;
use crate::upstream::Upstream;
use crate::vain::Vain;
use crate::wire::{Code, Data, Foreign, IN, Name, Query, Record, Reply, Section, encode, kind};

/// Who carries traffic for host names from outside.
const GATEWAY: (&str, &str) = ("kube-system", "kedge-gateway");
/// Names that stand for names that stand for names.
const LONGEST_CHAIN: usize = 8;
/// How long the API may take to say whether something is there.
const LOOK: Duration = Duration::from_millis(250);
/// Looks at the API at once; beyond, what the index says counts.
const LOOKS: usize = 32;
/// How long a search path is followed on behalf of a client, who can follow it himself.
const AUTOPATH: Duration = Duration::from_secs(2);

/// Asks the API for one Service; nothing, if there is none or nobody answers.
pub type Look = Arc<dyn Fn(Key) -> BoxFuture<'static, Option<Service>> + Send + Sync>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Dns(Arc<Parts>);

struct Parts {
    index: Arc<ArcSwap<Index>>,
    feed: Arc<Feed>,
    hosts: Hosts,
    upstream: Arc<Upstream>,
    look: Option<Look>,
    looks: Semaphore,
    vain: Vain,
    /// Addresses of the cluster: nobody else knows whose they are.
    ranges: Vec<Range>,
    clock: Clock,
    /// Only counts.
    steady: Clock,
}

/// An answer before it is written down.
pub(crate) enum Answer {
    Own(Reply),
    Foreign(Arc<Foreign>, u32),
}

/// What became of a name on the way to what was asked for.
struct Chain {
    code: Code,
    answers: Vec<Record>,
    authority: Vec<Record>,
}

impl Dns {
    pub(crate) fn new(
        world: World,
        index: Index,
        hosts: Hosts,
        upstream: Arc<Upstream>,
        look: Option<Look>,
        ranges: Vec<Range>,
        clock: Clock,
    ) -> Self {
        let index = Arc::new(ArcSwap::from_pointee(index));
        let feed = Feed::new(world, index.clone());
        Self(Arc::new(Parts {
            index,
            feed,
            hosts,
            upstream,
            look,
            looks: Semaphore::new(LOOKS),
            vain: Vain::default(),
            ranges,
            steady: clock.steady(),
            clock,
        }))
    }

    /// Takes in what the world shows. Until then only what was remembered is known of the cluster's names, and nothing is missing.
    pub fn fill(&self) -> Result<(), NotReady> {
        self.0.feed.fill()
    }

    /// Waits until there is something else to remember.
    pub(crate) async fn changed(&self) {
        tokio::select! {
            () = self.0.feed.changed() => {}
            () = self.0.hosts.changed() => {}
        }
    }

    /// What to remember; nothing, before everything has been read once.
    pub(crate) fn text(&self) -> Option<Result<Vec<u8>, serde_json::Error>> {
        let index = self.0.index.load_full();
        index.complete.then(|| index.text(self.0.hosts.all()))
    }

    pub(crate) fn upstream(&self) -> &Arc<Upstream> {
        &self.0.upstream
    }

    /// What can be said at once, written down; nothing, if it takes longer.
    pub fn quick(&self, query: &Query, from: IpAddr, room: usize) -> Option<Vec<u8>> {
        self.at_once(query, from).map(|answer| answer.encode(query, room))
    }

    /// The answer, however long it takes.
    pub async fn slow(&self, query: &Query, from: IpAddr, room: usize) -> Vec<u8> {
        let answer = match self.at_once(query, from) {
            Some(answer) => answer,
            None => self.later(query, from).await,
        };
        answer.encode(query, room)
    }

    fn at_once(&self, query: &Query, from: IpAddr) -> Option<Answer> {
        if query.edns.is_some_and(|edns| edns.version > 0) {
            return Some(Answer::Own(Reply::default()));
        }
        if query.class != IN || matches!(query.kind, kind::AXFR | kind::IXFR) {
            return Some(Answer::Own(Reply::of(Code::Refused)));
        }
        let index = self.0.index.load();
        if let Some(part) = query.name.before(index.zone()) {
            return match index.find(&query.name, part, query.kind, query.id) {
                Find::Alias(to) if query.kind == kind::CNAME => {
                    Some(own(vec![alias(&query.name, to)], Vec::new()))
                }
                Find::Alias(_) => None,
                Find::Records { answers, additional } => Some(own(answers, additional)),
                Find::Empty => Some(absent(&index, Code::Fine)),
                Find::Missing if self.0.hosts.has(&query.name) => Some(self.host(&index, query)),
                Find::Missing if let Some(key) = self.may_be_new(&index, part) => {
                    self.0.vain.knows(from, &key, self.0.steady.now()).then(|| missing(&index))
                }
                Find::Missing if autopath::base(&index, part, query.kind, from).is_some() => None,
                Find::Missing => Some(missing(&index)),
            };
        }
        if self.0.hosts.has(&query.name) {
            return Some(self.host(&index, query));
        }
        if let Some(address) = reverse::address(&query.name)
            && let Some(answer) = self.reverse(&index, query, address)
        {
            return Some(answer);
        }
        self.0.upstream.remembered(&question(query)).map(Answer::from)
    }

    async fn later(&self, query: &Query, from: IpAddr) -> Answer {
        let index = self.0.index.load_full();
        let Some(part) = query.name.before(index.zone()) else {
            return self.0.upstream.resolve(question(query)).await.into();
        };
        match index.find(&query.name, part, query.kind, query.id) {
            Find::Alias(to) => return self.chain(&query.name, to, query).await,
            Find::Missing => {}
            Find::Records { answers, additional } => return own(answers, additional),
            Find::Empty => return absent(&index, Code::Fine),
        }
        if let Some(key) = self.may_be_new(&index, part) {
            return self.look(&index, query, key, from).await;
        }
        if let Some(base) = autopath::base(&index, part, query.kind, from)
            && let Some(answer) = self.autopath(&index, base, query).await
        {
            return answer;
        }
        missing(&index)
    }

    /// The Service that a name would be, if there could be one that the index does not show yet.
    fn may_be_new(&self, index: &Index, part: &[u8]) -> Option<Key> {
        self.0.look.as_ref()?;
        let labels = labels(part)?;
        let [b"\x03svc", namespace, service] = labels.as_slice() else { return None };
        let text = |label: &[u8]| String::from_utf8(label.get(1..)?.to_vec()).ok();
        // Only what can be a Service's name at all.
        let plain = service.get(1..)?.iter().all(|octet| octet.is_ascii_alphanumeric() || *octet == b'-');
        (plain && index.has_namespace(namespace)).then_some(())?;
        Some(Key::new(text(namespace)?, text(service)?))
    }

    async fn look(&self, index: &Arc<Index>, query: &Query, key: Key, from: IpAddr) -> Answer {
        let missing = || missing(index);
        let (Some(look), Ok(_turn)) = (&self.0.look, self.0.looks.try_acquire()) else { return missing() };
        let found = tokio::select! {
            found = look(key.clone()) => found,
            () = self.0.clock.sleep(LOOK) => None,
        };
        if found.is_none() {
            self.0.vain.note(from, key, self.0.steady.now());
        }
        let Some(entry) = found.and_then(|service| self.0.feed.compile(index, &service)) else {
            return missing();
        };
        match entry.find(&query.name, &[], query.kind, query.id) {
            Find::Records { answers, additional } => own(answers, additional),
            Find::Alias(to) if query.kind == kind::CNAME => own(vec![alias(&query.name, to)], Vec::new()),
            Find::Alias(to) => self.chain(&query.name, to, query).await,
            Find::Empty => absent(index, Code::Fine),
            Find::Missing => missing(),
        }
    }

    /// Follows one name to another, in the cluster or outside it.
    async fn chain(&self, from: &Name, to: Name, query: &Query) -> Answer {
        let found = self.follow(to.clone(), query).await;
        let mut answers = vec![alias(from, to)];
        answers.extend(found.answers);
        Answer::Own(Reply { code: found.code, answers, authority: found.authority, ..Reply::default() })
    }

    async fn follow(&self, mut name: Name, query: &Query) -> Chain {
        let mut answers = Vec::new();
        for _ in 0..LONGEST_CHAIN {
            let index = self.0.index.load_full();
            let part = name.before(index.zone()).map(<[u8]>::to_vec);
            let find = part.map(|part| index.find(&name, &part, query.kind, query.id));
            let (code, authority) = match find {
                Some(Find::Alias(to)) => {
                    answers.push(alias(&name, to.clone()));
                    name = to;
                    continue;
                }
                Some(Find::Records { answers: found, .. }) => {
                    answers.extend(found);
                    (Code::Fine, Vec::new())
                }
                Some(Find::Empty) => (Code::Fine, vec![index.authority()]),
                None | Some(Find::Missing) if self.0.hosts.has(&name) => {
                    answers.extend(self.host_addresses(&index, &name, query.kind, query.id));
                    (Code::Fine, Vec::new())
                }
                Some(Find::Missing) if index.complete => (Code::NoSuchName, vec![index.authority()]),
                Some(Find::Missing) => (Code::Failed, Vec::new()),
                None => match self.0.upstream.resolve(Question { name, ..question(query) }).await {
                    Ok((foreign, age)) => {
                        answers.extend(foreign.records(Section::Answer, age));
                        (foreign.code(), foreign.records(Section::Authority, age))
                    }
                    Err(_) => (Code::Failed, Vec::new()),
                },
            };
            return Chain { code, answers, authority };
        }
        Chain { code: Code::Failed, answers: Vec::new(), authority: Vec::new() }
    }

    /// Goes the search path that the client would go, and gives what it would find. Nothing, if there is nothing.
    async fn autopath(&self, index: &Index, base: &[u8], query: &Query) -> Option<Answer> {
        let walk = async {
            for name in autopath::candidates(index, base, &self.0.upstream.searches()) {
                let is_last = name.octets() == base;
                let found = self.follow(name.clone(), query).await;
                let has_it = found.answers.iter().any(|record| record.data.kind() == query.kind);
                // A name of the cluster that is there without what is asked for: whether to go on is the client's choice.
                if found.code == Code::Fine && !has_it && name.before(index.zone()).is_some() {
                    return None;
                }
                // Elsewhere such a name is the end of the path only at its end.
                if found.code == Code::Fine && (has_it || is_last) {
                    let mut answers = vec![alias(&query.name, name)];
                    answers.extend(found.answers);
                    return Some(Answer::Own(Reply {
                        answers,
                        authority: found.authority,
                        ..Reply::default()
                    }));
                }
            }
            None
        };
        tokio::select! {
            answer = walk => answer,
            () = self.0.clock.sleep(AUTOPATH) => None,
        }
    }

    fn host(&self, index: &Index, query: &Query) -> Answer {
        let answers = self.host_addresses(index, &query.name, query.kind, query.id);
        if answers.is_empty() { absent(index, Code::Fine) } else { own(answers, Vec::new()) }
    }

    fn host_addresses(&self, index: &Index, name: &Name, asked: u16, turn: u16) -> Vec<Record> {
        let gateway = index.service(GATEWAY.0, GATEWAY.1);
        gateway.map_or_else(Vec::new, |gateway| addresses(name, gateway.addresses(), asked, turn))
    }

    /// Whose address it is; nothing, if others may know.
    fn reverse(&self, index: &Index, query: &Query, address: IpAddr) -> Option<Answer> {
        let names: Vec<&Name> = index.names_of(address).collect();
        if names.is_empty() {
            let ours = self.0.ranges.iter().any(|range| range.contains(address));
            let code = if index.complete { Code::NoSuchName } else { Code::Failed };
            return ours.then(|| absent(index, code));
        }
        let pointers = names
            .into_iter()
            .map(|name| Record::new(&query.name, crate::index::TTL, Data::Ptr(name.clone())));
        Some(match query.kind {
            kind::PTR => own(pointers.collect(), Vec::new()),
            _ => absent(index, Code::Fine),
        })
    }
}

impl Answer {
    fn encode(&self, query: &Query, room: usize) -> Vec<u8> {
        match self {
            Answer::Own(reply) => encode(query, reply, room),
            Answer::Foreign(foreign, age) => foreign.encode(query, *age, room),
        }
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Ok((foreign, age)) => Answer::Foreign(foreign, age),
            Err(_) => Answer::Own(Reply::of(Code::Failed)),
        }
    }
}

fn own(answers: Vec<Record>, additional: Vec<Record>) -> Answer {
    Answer::Own(Reply { authoritative: true, answers, additional, ..Reply::default() })
}

/// There is nothing, and our zone's word for how long to believe it.
fn absent(index: &Index, code: Code) -> Answer {
    Answer::Own(Reply { code, authoritative: true, authority: vec![index.authority()], ..Reply::default() })
}

/// Until everything has been read once, what is not known may be there all the same.
fn missing(index: &Index) -> Answer {
    match index.complete {
        true => absent(index, Code::NoSuchName),
        false => Answer::Own(Reply::of(Code::Failed)),
    }
}

fn alias(name: &Name, to: Name) -> Record {
    Record::new(name, crate::index::TTL, Data::Cname(to))
}

fn question(query: &Query) -> Question {
    Question {
        name: query.name.clone(),
        kind: query.kind,
        class: query.class,
        signatures: query.wants_signatures(),
        unchecked: query.is_unchecked(),
    }
}

#[cfg(test)]
mod tests;
