//! From policies, pods and namespaces to what the kernel is to know. Decides and does nothing else.
//!
//! A pod is isolated in a direction by any policy that selects it and speaks of that direction; what any of them allows is allowed.
//! What was decided before is kept, and is decided again only for those that something different is said of.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kedge_client::Key;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::nft::Family;

use crate::meaning::Policy;
use crate::people::{Moved, People, Person};
use crate::permits::{Permit, Way, Who, permits};
use crate::places::Places;
use crate::sources::Source;
use crate::spans::united;
use crate::understood::{Difference, Understood, Within};
use crate::wanted::{Chain, Direction, Doors, Line, Name, Peers, Set, Wanted};

/// Decides for one node, and remembers.
#[derive(Debug)]
pub(crate) struct Compiler {
    node: String,
    policies: Understood<NetworkPolicy, Policy>,
    people: People,
    /// In an order, so that of two that claim an address it is always the same one.
    judged: BTreeMap<Key, Judged>,
    sets: HashMap<Name, (Arc<Source>, Arc<Set>)>,
}

impl Within for Policy {
    fn namespace(&self) -> &str {
        &self.namespace
    }
}

/// What was decided for one pod of this node.
#[derive(Debug)]
struct Judged {
    person: Arc<Person>,
    isolated: Vec<((Direction, IpAddr), Name)>,
    chains: Vec<(Name, Arc<Chain>)>,
    sources: Vec<(Name, Arc<Source>)>,
}

/// What a node is to enforce for its own pods. `places` knows addresses that the API does not show yet.
pub fn compile(
    policies: &[Arc<NetworkPolicy>],
    pods: &[Arc<Pod>],
    namespaces: &[Arc<Namespace>],
    places: &Places,
    node: &str,
) -> Wanted {
    Compiler::new(node).compile(policies, pods, namespaces, places)
}

impl Compiler {
    pub(crate) fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            policies: Understood::default(),
            people: People::default(),
            judged: BTreeMap::new(),
            sets: HashMap::new(),
        }
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::new(&self.node);
    }

    /// The same as if it were decided for the first time, only sooner.
    pub(crate) fn compile(
        &mut self,
        policies: &[Arc<NetworkPolicy>],
        pods: &[Arc<Pod>],
        namespaces: &[Arc<Namespace>],
        places: &Places,
    ) -> Wanted {
        let turned = self.policies.follow(policies, false, |policy| Policy::of(policy));
        let moved = self.people.follow(pods, namespaces, places);
        self.judge(&turned);
        self.refill(&moved);
        let mut wanted = Wanted::default();
        for judged in self.judged.values() {
            wanted.isolated.extend(judged.isolated.iter().cloned());
            wanted.chains.extend(judged.chains.iter().cloned());
            for (name, source) in &judged.sources {
                if wanted.sets.contains_key(name) {
                    continue;
                }
                let fill = || (source.clone(), Arc::new(source.filled(&self.people)));
                let (_, set) = self.sets.entry(name.clone()).or_insert_with(fill);
                wanted.sets.insert(name.clone(), set.clone());
            }
        }
        self.sets.retain(|name, _| wanted.sets.contains_key(name));
        wanted
    }

    /// Those that are new here, and those that a policy selects that is different now.
    fn judge(&mut self, turned: &Difference<Policy>) {
        let mut before = std::mem::take(&mut self.judged);
        for person in self.people.on(&self.node) {
            let key = Key::of(&*person.pod);
            let concerns = |policy: &Arc<Policy>| {
                policy.namespace == person.namespace() && policy.pods.matches(person.labels())
            };
            let judged = before.remove(&key).filter(|judged| Arc::ptr_eq(&judged.person, person));
            let judged = judged.filter(|_| !turned.all().any(concerns));
            let judged = judged.unwrap_or_else(|| judge(person, self.policies.within(person.namespace())));
            self.judged.insert(key, judged);
        }
    }

    /// Sets that somebody left or came to. One that is the same in the end stays the one that it was.
    fn refill(&mut self, moved: &Moved) {
        for (source, set) in self.sets.values_mut() {
            if !source.is_touched(moved, &self.people) {
                continue;
            }
            let filled = source.filled(&self.people);
            if filled != **set {
                *set = Arc::new(filled);
            }
        }
    }
}

fn judge(person: &Arc<Person>, policies: &[Arc<Policy>]) -> Judged {
    let mut judged =
        Judged { person: person.clone(), isolated: Vec::new(), chains: Vec::new(), sources: Vec::new() };
    for direction in [Direction::In, Direction::Out] {
        let Some(permits) = permits(policies, person, direction) else { continue };
        for family in [Family::V4, Family::V6] {
            let mut addresses = person.in_family(family).peekable();
            if addresses.peek().is_none() {
                continue;
            }
            let chain = chain(&permits, direction, family, &mut judged.sources);
            let name = Name::of(kind(direction, family), &chain.lines);
            judged.isolated.extend(addresses.map(|address| ((direction, address), name.clone())));
            judged.chains.push((name, Arc::new(chain)));
        }
    }
    judged
}

fn kind(direction: Direction, family: Family) -> &'static str {
    match (direction, family) {
        (Direction::In, Family::V4) => "in4",
        (Direction::In, Family::V6) => "in6",
        (Direction::Out, Family::V4) => "out4",
        (Direction::Out, Family::V6) => "out6",
    }
}

/// Sets by what they are made of; their names are what lines look into.
type Sources = Vec<(Name, Arc<Source>)>;

fn chain(permits: &BTreeSet<Permit>, direction: Direction, family: Family, sources: &mut Sources) -> Chain {
    let lines = permits.iter().filter_map(|permit| line(permit, family, sources)).collect();
    Chain { direction, family, lines }
}

/// None if nobody of this family is meant.
fn line(permit: &Permit, family: Family, sources: &mut Sources) -> Option<Line> {
    if let Way::Named(protocol, name) = &permit.way {
        let (who, port) = (permit.who.clone(), name.clone());
        let set = named(Source::Doors { who, protocol: *protocol, port, family }, sources);
        return Some(Line::Pair { set, protocol: *protocol });
    }
    let who = match &permit.who {
        Who::Anybody => Peers::Anybody,
        Who::Pods(pods) => Peers::Addresses(named(Source::Pods(pods.clone(), family), sources)),
        Who::Blocks(blocks) => {
            let spans = united(blocks, family);
            match spans.first()? {
                all if all.is_everything() => Peers::Anybody,
                _ => Peers::Spans(named(Source::Spans(spans, family), sources)),
            }
        }
    };
    let doors = match &permit.way {
        Way::All | Way::Named(..) => Doors::All,
        Way::Numbers(ports) => match ports.as_slice() {
            [one] => Doors::Span(*one),
            _ => Doors::Set(named(Source::Ports(ports.clone()), sources)),
        },
    };
    Some(Line::Peers { who, doors })
}

fn named(source: Source, sources: &mut Sources) -> Name {
    let name = source.name();
    if !sources.iter().any(|(other, _)| *other == name) {
        sources.push((name.clone(), Arc::new(source)));
    }
    name
}

#[cfg(test)]
mod tests;
