//! What is wanted in the kernel's words, and the kernel told of it: all at once when it is not known to have it, then only what
//! differs. The table is ours alone, so whatever else is in it goes.

use std::collections::{BTreeMap, BTreeSet};

use kedge_netlink::nft::{Batch, Element, Hook, Rule, SeenChain, SeenSet, Set, Work};
use kedge_netlink::{Errno, NetlinkError, Socket};

use crate::change::{Step, steps};
use crate::wanted::Wanted;
use crate::words;

/// The rules of one node, and what the kernel is known to have of them.
#[derive(Clone, Debug)]
pub struct Rules {
    table: String,
    /// `None` until the kernel was asked.
    known: Option<Wanted>,
}

/// A whole table. Chains are in an order in which none names a later one.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) sets: BTreeMap<String, (Set, BTreeSet<Element>)>,
    pub(crate) chains: Vec<(String, Vec<Rule>)>,
    /// The one that packets meet.
    pub(crate) entry: (String, Vec<Rule>),
}

impl Rules {
    pub fn new(table: &str) -> Self {
        Self { table: table.to_owned(), known: None }
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn are(&self, wanted: &Wanted) -> bool {
        self.known.as_ref() == Some(wanted)
    }

    /// All of it or, if it fails, nothing.
    pub fn become_these(&mut self, wanted: Wanted) -> Result<(), NetlinkError> {
        let mut socket = Socket::netfilter()?;
        match self.known.take() {
            // What an earlier life left is left alone if it is right.
            None if self.are_in_force(&wanted)? => {}
            None => self.replace(&mut socket, &wanted)?,
            Some(known) if known.is_empty() || wanted.is_empty() => self.replace(&mut socket, &wanted)?,
            Some(known) => match socket.apply(&mut self.difference(&known, &wanted)) {
                // Somebody had his hands in it.
                Err(NetlinkError::Refused { what, source }) => {
                    tracing::warn!(
                        "the table {} is not what it was ({what}: {source}) and is made anew",
                        self.table
                    );
                    self.replace(&mut socket, &wanted)?;
                }
                done => done?,
            },
        }
        self.known = Some(wanted);
        Ok(())
    }

    /// Whether the kernel has what it was told last. Says yes once nobody waits for it any more.
    pub(crate) fn is_as_told(&self, is_waited_for: impl Fn() -> bool) -> Result<bool, NetlinkError> {
        self.known.as_ref().map_or(Ok(false), |known| self.compare(known, is_waited_for))
    }

    /// Whether the kernel has just these, whatever is known of it.
    pub fn are_in_force(&self, wanted: &Wanted) -> Result<bool, NetlinkError> {
        self.compare(wanted, || true)
    }

    fn compare(&self, wanted: &Wanted, is_waited_for: impl Fn() -> bool) -> Result<bool, NetlinkError> {
        let mut socket = Socket::netfilter()?;
        let chains = socket.chains(&self.table)?;
        let sets = socket.sets(&self.table)?;
        if wanted.is_empty() {
            return Ok(chains.is_empty() && sets.is_empty());
        }
        if !is_waited_for() {
            return Ok(true);
        }
        let program = words::program(wanted);
        let mut rules: BTreeMap<&str, Vec<Option<String>>> = BTreeMap::new();
        for (name, lines) in program.chains.iter().chain([&program.entry]) {
            rules.insert(name, lines.iter().map(|rule| Some(rule.signature())).collect());
        }
        let met_at = Some((Hook::Through as u32, words::PRIORITY));
        let is_chain = |seen: &SeenChain| {
            let hook = met_at.filter(|_| seen.name == program.entry.0);
            seen.hook == hook && rules.get(seen.name.as_str()) == Some(&seen.rules)
        };
        let is_set = |seen: &SeenSet| program.sets.get(&seen.name).is_some_and(|(set, _)| seen.is_like(set));
        let is_whole = chains.len() == rules.len() && sets.len() == program.sets.len();
        if !is_whole || !chains.iter().all(is_chain) || !sets.iter().all(is_set) {
            return Ok(false);
        }
        for (name, (_, elements)) in &program.sets {
            // A change takes the processor that this would take.
            if !is_waited_for() {
                return Ok(true);
            }
            let found: BTreeSet<Element> = match socket.elements(&self.table, name) {
                Ok(found) => found.into_iter().collect(),
                Err(error) if error.is(Errno::NOENT) => return Ok(false),
                Err(error) => return Err(error),
            };
            if found != *elements {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whatever it was before is gone in the same moment.
    fn replace(&self, socket: &mut Socket, wanted: &Wanted) -> Result<(), NetlinkError> {
        let mut batch = Batch::of(&self.table);
        // Making it first lets removing it succeed in any case.
        batch.table().without_table();
        if !wanted.is_empty() {
            batch.table();
            words::program(wanted).write(&mut batch);
        }
        socket.apply(&mut batch)
    }

    fn difference(&self, known: &Wanted, wanted: &Wanted) -> Batch {
        let mut batch = Batch::of(&self.table);
        for step in steps(known, wanted) {
            carry_out(&step, &mut batch);
        }
        batch
    }
}

impl Program {
    fn write(&self, batch: &mut Batch) {
        for (set, _) in self.sets.values() {
            batch.make(set);
        }
        for (name, _) in &self.chains {
            batch.chain(name);
        }
        for (name, (_, elements)) in &self.sets {
            batch.elements(name, elements);
        }
        for (name, rules) in &self.chains {
            for rule in rules {
                batch.rule(name, rule);
            }
        }
        let (name, rules) = &self.entry;
        batch.chain_at(name, Work::Filter, Hook::Through, words::PRIORITY);
        for rule in rules {
            batch.rule(name, rule);
        }
    }
}

fn carry_out(step: &Step<'_>, batch: &mut Batch) {
    match step {
        Step::MakeSet(name, shape) => {
            batch.make(&words::set(name, *shape));
        }
        Step::Put(name, _, elements) => {
            let elements: Vec<_> = elements.iter().map(|element| words::element(element)).collect();
            batch.elements(name.as_str(), &elements);
        }
        Step::Take(name, _, elements) => {
            let elements: Vec<_> = elements.iter().map(|element| words::element(element)).collect();
            batch.without_elements(name.as_str(), &elements);
        }
        Step::MakeChain(name, chain) => {
            batch.chain(name.as_str());
            for rule in words::rules(chain) {
                batch.rule(name.as_str(), &rule);
            }
        }
        Step::Own(addresses) => {
            for address in addresses {
                let (set, element) = words::own(*address);
                batch.elements(set, [&element]);
            }
        }
        Step::Disown(addresses) => {
            for address in addresses {
                let (set, element) = words::own(*address);
                batch.without_elements(set, [&element]);
            }
        }
        Step::Release(direction, address) => {
            let (map, element) = words::isolated(*direction, *address, None);
            batch.without_elements(map, [&element]);
        }
        Step::Isolate(direction, address, chain) => {
            let (map, element) = words::isolated(*direction, *address, Some(chain));
            batch.elements(map, [&element]);
        }
        Step::RemoveChain(name) => {
            batch.without_chain(name.as_str());
        }
        Step::RemoveSet(name) => {
            batch.without_set(name.as_str());
        }
    }
}

/// Takes everything away that a node of this table asked of packets.
pub fn remove(table: &str) -> Result<(), NetlinkError> {
    let mut batch = Batch::of(table);
    batch.table().without_table();
    Socket::netfilter()?.apply(&mut batch)
}
