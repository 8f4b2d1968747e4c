//! The shape of our table: sets, chains and rules. No rule names a Service; Services and endpoints are entries of maps, so neither a
//! packet nor a change costs more where there are more of them.
//!
//! ```text
//! arriving, from-here ─→ services4 ─┬→ guard4 (ranges that may call)
//!   door ──doors4/nodes4──→ wide4 (hides the caller) or near4 (keeps him)
//!   door ──front4/node4──→ to4-10: one of ten slots of the door ──front-ends4/node-ends4──→ endpoint
//! leaving: hides the callers that were marked, and those who called themselves
//! ```

mod spread;

use kedge_netlink::nft::{Batch, Column, Hook, Register, Rule, SeenChain, SeenSet, Set, Work};
use kedge_range::Range;

pub(crate) use self::spread::Chain;
use crate::family::{Family, octets};

/// Where nobody is, and where somebody is but not for this caller.
pub(crate) const REFUSE: &str = "refuse";
pub(crate) const DISCARD: &str = "discard";

/// The bit by which Kubernetes has always marked packets whose sender is to be hidden.
const HIDE: u32 = 0x4000;
const TCP: u8 = 6;

/// Before hostPorts, which stand at the usual places of -100 and 100: a Service's own address is nobody's port.
const TARGETS: i32 = -105;
const SOURCES: i32 = 95;

/// As many clients are remembered for each family.
const MOST_STAYING: u32 = 1 << 18;

/// What a set of ours is for; there is one for each family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Every address that a Service has in the cluster.
    Addresses,
    /// Doors at an address that let only some in, and whom.
    Guarded,
    Allowed,
    /// Doors for calls from outside, to what is done about them.
    Doors,
    /// The same for doors at every address of the node.
    Nodes,
    /// Doors to the chain that chooses an endpoint.
    Gate(Gate),
    /// A slot of a door to an endpoint; where clients stay, an endpoint's number, too.
    Ends(Gate),
    /// A slot of a door to its endpoint's number, where clients stay.
    Ids(Gate),
    /// Who stays with which endpoint, by its number; written by rules.
    Stay(Gate),
    /// Addresses beside themselves: who calls himself is in it.
    Itself,
}

/// How doors are known: by their address or at every address of the node; and for most calls, or for those that must stay on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Gate {
    Front,
    Far,
    Node,
    FarNode,
}

impl Gate {
    const ALL: [Gate; 4] = [Gate::Front, Gate::Far, Gate::Node, Gate::FarNode];

    fn is_at_address(self) -> bool {
        matches!(self, Gate::Front | Gate::Far)
    }

    /// Its gate, then its ends, numbers and clients, in both families.
    fn names(self) -> [[&'static str; 2]; 4] {
        match self {
            Gate::Front => [
                ["front4", "front6"],
                ["front-ends4", "front-ends6"],
                ["front-ids4", "front-ids6"],
                ["front-stay4", "front-stay6"],
            ],
            Gate::Far => [
                ["far4", "far6"],
                ["far-ends4", "far-ends6"],
                ["far-ids4", "far-ids6"],
                ["far-stay4", "far-stay6"],
            ],
            Gate::Node => [
                ["node4", "node6"],
                ["node-ends4", "node-ends6"],
                ["node-ids4", "node-ids6"],
                ["node-stay4", "node-stay6"],
            ],
            Gate::FarNode => [
                ["farnode4", "farnode6"],
                ["farnode-ends4", "farnode-ends6"],
                ["farnode-ids4", "farnode-ids6"],
                ["farnode-stay4", "farnode-stay6"],
            ],
        }
    }
}

impl Role {
    pub(crate) fn all() -> impl Iterator<Item = Role> {
        let simple = [Role::Addresses, Role::Guarded, Role::Allowed, Role::Doors, Role::Nodes, Role::Itself];
        let gated = Gate::ALL
            .into_iter()
            .flat_map(|gate| [Role::Gate(gate), Role::Ends(gate), Role::Ids(gate), Role::Stay(gate)]);
        simple.into_iter().chain(gated)
    }

    /// Whether its entries are ours to say.
    pub(crate) fn is_ours(self) -> bool {
        !matches!(self, Role::Stay(_))
    }

    pub(crate) fn name(self, family: Family) -> &'static str {
        let [v4, v6] = match self {
            Role::Addresses => ["addresses4", "addresses6"],
            Role::Guarded => ["guarded4", "guarded6"],
            Role::Allowed => ["allowed4", "allowed6"],
            Role::Doors => ["doors4", "doors6"],
            Role::Nodes => ["nodes4", "nodes6"],
            Role::Itself => ["self4", "self6"],
            Role::Gate(gate) => gate.names()[0],
            Role::Ends(gate) => gate.names()[1],
            Role::Ids(gate) => gate.names()[2],
            Role::Stay(gate) => gate.names()[3],
        };
        if family == Family::V4 { v4 } else { v6 }
    }

    fn set(self, family: Family) -> Set {
        use Column::{Port, Protocol, V4, V6, Word};
        let address = if family == Family::V4 { V4 } else { V6 };
        let at_address = [address, Protocol, Port];
        let door = |gate: Gate| if gate.is_at_address() { &at_address[..] } else { &at_address[1..] };
        let target = [address, Port];
        let of = |keys: &[Column]| Set::of(self.name(family), keys);
        match self {
            Role::Addresses => of(&[address]),
            Role::Guarded => of(&at_address),
            Role::Allowed => of(&[address, Protocol, Port, address]).with_ranges(),
            Role::Doors => of(&at_address).to_verdicts(),
            Role::Nodes => of(door(Gate::Node)).to_verdicts(),
            Role::Gate(gate) => of(door(gate)).to_verdicts(),
            Role::Ends(gate) => of(&[&[Word], door(gate)].concat()).to(&target),
            Role::Ids(gate) => of(&[&[Word], door(gate)].concat()).to(&[Word]),
            Role::Stay(gate) => {
                of(&[&[address], door(gate)].concat()).to(&[Word]).written_by_rules(MOST_STAYING)
            }
            Role::Itself => of(&[address, address]),
        }
    }
}

/// Chains that doors lead to.
pub(crate) fn wide(family: Family) -> &'static str {
    if family == Family::V4 { "wide4" } else { "wide6" }
}

pub(crate) fn near(family: Family) -> &'static str {
    if family == Family::V4 { "near4" } else { "near6" }
}

/// One chain as it must be.
struct Fixed {
    name: &'static str,
    hook: Option<(Work, Hook, i32)>,
    rules: Vec<Rule>,
}

/// All that does not depend on Services.
pub(crate) struct Layout {
    sets: Vec<Set>,
    chains: Vec<Fixed>,
}

impl Layout {
    /// `cluster` is where pods are: they are seen as who they are.
    pub(crate) fn new(cluster: &[Range]) -> Self {
        let sets = Family::BOTH.iter().flat_map(|family| Role::all().map(|role| role.set(*family))).collect();
        // Each after those that it leads to.
        let mut chains = vec![
            fixed(REFUSE, vec![Rule::new().protocol(TCP).reset(), Rule::new().refuse()]),
            fixed(DISCARD, vec![Rule::new().drop()]),
        ];
        chains.extend(Family::BOTH.into_iter().flat_map(|family| of_family(family, cluster)));
        let to_services = || {
            let jump = |family: Family| Rule::new().family(family.kernels()).jump(services(family));
            Family::BOTH.map(jump).to_vec()
        };
        let at = |name, hook, priority, rules| Fixed {
            name,
            hook: Some((Work::Translate, hook, priority)),
            rules,
        };
        chains.push(at("arriving", Hook::Arriving, TARGETS, to_services()));
        chains.push(at("from-here", Hook::FromHere, TARGETS, to_services()));
        chains.push(at("leaving", Hook::Leaving, SOURCES, leaving()));
        Self { sets, chains }
    }

    /// Makes everything that is not there; what is there by these names must not be.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for set in &self.sets {
            batch.make(set);
        }
        for chain in &self.chains {
            match chain.hook {
                Some((work, hook, priority)) => batch.chain_at(chain.name, work, hook, priority),
                None => batch.chain(chain.name),
            };
            for rule in &chain.rules {
                batch.rule(chain.name, rule);
            }
        }
    }

    /// Whether the kernel has just this, and which chains for endpoints besides. None where something differs.
    pub(crate) fn compare(&self, chains: &[SeenChain], sets: &[SeenSet]) -> Option<Vec<Chain>> {
        let has_sets = self.sets.iter().all(|set| sets.iter().any(|seen| seen.is_like(set)));
        if !has_sets || sets.len() != self.sets.len() {
            return None;
        }
        let has = |chain: &&Fixed| chains.iter().any(|seen| chain.is(seen));
        if self.chains.iter().filter(has).count() != self.chains.len() {
            return None;
        }
        let others = chains.iter().filter(|seen| self.chains.iter().all(|chain| chain.name != seen.name));
        others.map(Chain::read).collect()
    }
}

impl Fixed {
    fn is(&self, seen: &SeenChain) -> bool {
        let hook = self.hook.map(|(_, hook, priority)| (hook as u32, priority));
        seen.name == self.name && seen.hook == hook && signed(&self.rules, seen)
    }
}

/// Whether these are the rules that the kernel has.
fn signed(rules: &[Rule], seen: &SeenChain) -> bool {
    rules.iter().map(|rule| Some(rule.signature())).eq(seen.rules.iter().cloned())
}

fn fixed(name: &'static str, rules: Vec<Rule>) -> Fixed {
    Fixed { name, hook: None, rules }
}

fn services(family: Family) -> &'static str {
    if family == Family::V4 { "services4" } else { "services6" }
}

fn of_family(family: Family, cluster: &[Range]) -> Vec<Fixed> {
    let [guard, inner] = match family {
        Family::V4 => ["guard4", "inner4"],
        Family::V6 => ["guard6", "inner6"],
    };
    let name = |role: Role| role.name(family);
    let cluster: Vec<&Range> = cluster.iter().filter(|range| Family::of(range.first()) == family).collect();
    let (first, end) = (Register(0), Register(words(family) + 2));
    let door = || door(Rule::new(), family, first);
    let led = |gate: Gate| at(Rule::new(), gate, family, first).decided_by(name(Role::Gate(gate)), first);
    let to_pools = || vec![led(Gate::Front), led(Gate::Node)];

    let caller = door().keep_source(family.kernels(), end);
    let guarded = vec![caller.known_to(name(Role::Allowed), first).give_back(), Rule::new().drop()];
    let hidden = [vec![Rule::new().mark(HIDE)], to_pools()].concat();
    let mut kept: Vec<Rule> = Vec::new();
    kept.extend(cluster.iter().map(|range| from(Rule::new(), range, true).goto(inner)));
    kept.push(Rule::new().from_this_machine().goto(wide(family)));
    kept.extend([led(Gate::Far), led(Gate::FarNode)]);

    let stranger = cluster.iter().fold(Rule::new(), |rule, range| from(rule, range, false));
    let stranger = stranger.keep_target(family.kernels(), first);
    let target = Rule::new().keep_target(family.kernels(), first);
    let services_rules = vec![
        door().known_to(name(Role::Guarded), first).jump(guard),
        door().decided_by(name(Role::Doors), first),
        // Others than pods do not know the way back to us, or would answer by another one.
        stranger.known_to(name(Role::Addresses), first).mark(HIDE),
        led(Gate::Front),
        // An address of a Service is nobody's: without an answer calls would wander off to wherever strangers are.
        target.known_to(name(Role::Addresses), first).goto(REFUSE),
        node_door(Rule::new().to_this_machine(), first).decided_by(name(Role::Nodes), first),
    ];
    vec![
        fixed(guard, guarded),
        fixed(inner, to_pools()),
        fixed(wide(family), hidden),
        fixed(near(family), kept),
        fixed(services(family), services_rules),
    ]
}

fn leaving() -> Vec<Rule> {
    // What stays on this machine is answered by it.
    let mut rules = vec![Rule::new().leaves_by("lo").accept()];
    rules.push(Rule::new().is_marked(HIDE).unmark(HIDE).masquerade_at_random());
    for family in Family::BOTH {
        let pair = Rule::new().family(family.kernels()).was_sent_elsewhere();
        let pair = pair.keep_source(family.kernels(), Register(0));
        let pair = pair.keep_target(family.kernels(), Register(words(family)));
        rules.push(pair.known_to(Role::Itself.name(family), Register(0)).masquerade_at_random());
    }
    rules
}

/// An address takes so many.
fn words(family: Family) -> u32 {
    if family == Family::V4 { 1 } else { 4 }
}

/// Keeps the door that a packet is at.
fn door(rule: Rule, family: Family, at: Register) -> Rule {
    let Register(start) = at;
    let protocol = start + words(family);
    let rule = rule.keep_target(family.kernels(), at).keep_protocol(Register(protocol));
    rule.keep_target_port(Register(protocol + 1))
}

fn node_door(rule: Rule, at: Register) -> Rule {
    let Register(start) = at;
    rule.keep_protocol(at).keep_target_port(Register(start + 1))
}

/// Keeps the door as a gate knows it.
fn at(rule: Rule, gate: Gate, family: Family, at: Register) -> Rule {
    if gate.is_at_address() { door(rule, family, at) } else { node_door(rule, at) }
}

fn from(rule: Rule, range: &Range, is: bool) -> Rule {
    rule.from(Family::of(range.first()).kernels(), is, &octets(range.first()), &range.mask())
}

#[cfg(test)]
mod tests;
