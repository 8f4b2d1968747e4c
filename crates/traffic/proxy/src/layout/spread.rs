//! Chains that choose an endpoint. There is one for each number of endpoints that some pool has, and for each time that clients stay:
//! all Services with ten endpoints share one.

use std::time::Duration;

use kedge_netlink::nft::{Batch, Register, Rule, SeenChain};

use super::{Gate, Role, at, signed, words};
use crate::family::Family;

/// The last that there is.
const LAST: Register = Register(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Chain {
    pub(crate) family: Family,
    /// Its pools have only endpoints of this node, for calls from outside.
    pub(crate) is_near: bool,
    pub(crate) count: u32,
    /// For so many seconds clients stay.
    pub(crate) stays: Option<u32>,
}

impl Chain {
    /// `to4-10`, `near6-3`, `stay4-10-600`, `nearstay4-1-60`
    pub(crate) fn name(&self) -> String {
        let family = if self.family == Family::V4 { 4 } else { 6 };
        let count = self.count;
        match (self.is_near, self.stays) {
            (false, None) => format!("to{family}-{count}"),
            (true, None) => format!("near{family}-{count}"),
            (false, Some(seconds)) => format!("stay{family}-{count}-{seconds}"),
            (true, Some(seconds)) => format!("nearstay{family}-{count}-{seconds}"),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let kind = parts.next()?;
        let (is_near, does_stay, family) = match kind {
            "to4" => (false, false, Family::V4),
            "to6" => (false, false, Family::V6),
            "near4" => (true, false, Family::V4),
            "near6" => (true, false, Family::V6),
            "stay4" => (false, true, Family::V4),
            "stay6" => (false, true, Family::V6),
            "nearstay4" => (true, true, Family::V4),
            "nearstay6" => (true, true, Family::V6),
            _ => return None,
        };
        let count = parts.next()?.parse().ok()?;
        let stays = if does_stay { Some(parts.next()?.parse().ok()?) } else { None };
        parts.next().is_none().then_some(Self { family, is_near, count, stays })
    }

    /// The chain that the kernel has, if it is one of these and as it must be.
    pub(super) fn read(seen: &SeenChain) -> Option<Self> {
        let chain = Self::parse(&seen.name)?;
        (seen.hook.is_none() && signed(&chain.rules(), seen)).then_some(chain)
    }

    /// One that it leads to, and needs.
    pub(crate) fn next(&self) -> Option<Self> {
        self.stays.map(|_| Self { stays: None, ..*self })
    }

    pub(crate) fn write(&self, batch: &mut Batch) {
        let name = self.name();
        batch.chain(&name);
        for rule in self.rules() {
            batch.rule(&name, &rule);
        }
    }

    fn rules(&self) -> Vec<Rule> {
        let gates = match self.is_near {
            false => [Gate::Front, Gate::Node],
            true => [Gate::Far, Gate::FarNode],
        };
        match (self.stays, self.next()) {
            (Some(seconds), Some(next)) => {
                let life = Duration::from_secs(seconds.into());
                // One gate to its end before the other: a door at an address may have the port of another's at all.
                let mut rules: Vec<Rule> = gates.iter().flat_map(|gate| self.stay(*gate, life)).collect();
                // More clients than can be remembered are served all the same.
                rules.push(Rule::new().goto(&next.name()));
                rules
            }
            _ => gates.iter().map(|gate| self.spread(*gate)).collect(),
        }
    }

    /// A slot by chance: its endpoint.
    fn spread(&self, gate: Gate) -> Rule {
        let (slot, door) = (Register(0), Register(1));
        let target = Register(1 + self.door_words(gate));
        let rule = at(Rule::new().keep_chance(self.count, slot), gate, self.family, door);
        self.send(rule.translated_by(Role::Ends(gate).name(self.family), slot, target), target)
    }

    /// Who was here goes to the same endpoint and stays for as long again, if it is still there. Who is new, or whose endpoint is gone,
    /// gets one by chance. What is found in one map and looked for in the next is put aside in between.
    fn stay(&self, gate: Gate, life: Duration) -> Vec<Rule> {
        let words = words(self.family);
        // A client or the one word of a number stands before the door, so that both are keys with it.
        let (client, number, door) = (Register(0), Register(words - 1), Register(words));
        let found = Register(words + self.door_words(gate));
        let [ends, ids, stay] =
            [Role::Ends(gate), Role::Ids(gate), Role::Stay(gate)].map(|role| role.name(self.family));
        let here = |rule: Rule| at(rule, gate, self.family, door);
        let with_client = |rule: Rule| rule.keep_source(self.family.kernels(), client);
        let go = || {
            let rule = here(Rule::new().keep_what_is_aside(number)).translated_by(ends, number, found);
            let rule = with_client(rule).keep_what_is_aside(LAST);
            self.send(rule.refresh(stay, client, LAST, life), found)
        };
        vec![
            Rule::new().put_nothing_aside(),
            here(with_client(Rule::new())).translated_by(stay, client, found).put_aside(found),
            go(),
            here(with_client(Rule::new())).keep_what_is_aside(LAST).forget(stay, client, LAST),
            here(Rule::new().keep_chance(self.count, number))
                .translated_by(ids, number, found)
                .put_aside(found),
            go(),
        ]
    }

    fn door_words(&self, gate: Gate) -> u32 {
        if gate.is_at_address() { words(self.family) + 2 } else { 2 }
    }

    fn send(&self, rule: Rule, target: Register) -> Rule {
        let Register(start) = target;
        rule.send_to(self.family.kernels(), target, Register(start + words(self.family)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_everything() {
        for family in Family::BOTH {
            for is_near in [false, true] {
                for stays in [None, Some(60)] {
                    let chain = Chain { family, is_near, count: 10, stays };
                    assert_eq!(Chain::parse(&chain.name()), Some(chain));
                }
            }
        }
        for odd in ["", "to4", "to5-1", "to4-x", "to4-1-1", "stay4-1", "stay4-1-1-1", "services4", "near4"] {
            assert_eq!(Chain::parse(odd), None, "{odd}");
        }
    }
}
