//! Chains that choose an endpoint. There is one for each number of endpoints that some pool has, and for each time that clients stay:
//! all Services with ten endpoints share one.

use std::time::Duration;

use kedge_netlink::nft::{Batch, Register, Rule, SeenChain};

use super::{Role, door, node_door, signed, words};
use crate::family::Family;

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
        let roles = match self.is_near {
            false => [Role::Front, Role::Node],
            true => [Role::Far, Role::FarNode],
        };
        match (self.stays, self.next()) {
            (Some(seconds), Some(next)) => {
                let life = Duration::from_secs(seconds.into());
                let mut rules: Vec<Rule> = roles.iter().map(|role| self.stay(*role, life)).collect();
                rules.extend(roles.iter().map(|role| self.leave(*role)));
                rules.extend(roles.iter().map(|role| self.come(*role, life)));
                // More clients than can be remembered are served all the same.
                rules.push(Rule::new().goto(&next.name()));
                rules
            }
            _ => roles.iter().map(|role| self.spread(*role)).collect(),
        }
    }

    /// A slot by chance: its endpoint.
    fn spread(&self, role: Role) -> Rule {
        let words = words(self.family);
        let (slot, pool, target) = (Register(0), Register(1), Register(words + 2));
        let rule = self.pool(role, target, pool).keep_chance(self.count, slot);
        let rule = rule.translated_by(Role::Ends.name(self.family), slot, target);
        self.send(rule, target)
    }

    /// Who was here and whose endpoint still is goes there, and stays for as long again.
    fn stay(&self, role: Role, life: Duration) -> Rule {
        let (client, pool, target) = self.places();
        let (stay, alive) = (Role::Stay.name(self.family), Role::Alive.name(self.family));
        let rule = self.pool(role, target, pool).keep_source(self.family.kernels(), client);
        let rule = rule.translated_by(stay, client, target).known_to(alive, pool);
        self.send(rule.refresh(stay, client, target, life), target)
    }

    /// Whose endpoint is gone is forgotten.
    fn leave(&self, role: Role) -> Rule {
        let (client, pool, target) = self.places();
        let stay = Role::Stay.name(self.family);
        let rule = self.pool(role, target, pool).keep_source(self.family.kernels(), client);
        rule.translated_by(stay, client, target).forget(stay, client, target)
    }

    /// Who is new gets an endpoint by chance, and is remembered with it.
    fn come(&self, role: Role, life: Duration) -> Rule {
        let (client, pool, target) = self.places();
        let Register(pool_start) = pool;
        let slot = Register(pool_start - 1);
        let rule = self.pool(role, target, pool).keep_chance(self.count, slot);
        let rule = rule.translated_by(Role::Ends.name(self.family), slot, target);
        // The slot has done its part; the client takes its place.
        let rule = rule.keep_source(self.family.kernels(), client);
        self.send(rule.remember(Role::Stay.name(self.family), client, target, life), target)
    }

    /// Client, pool and endpoint follow each other, so that neighbours are keys.
    fn places(&self) -> (Register, Register, Register) {
        let words = words(self.family);
        (Register(0), Register(words), Register(2 * words + 1))
    }

    /// Keeps the pool behind the door that a packet is at; the door is in the way of nothing that is kept later.
    fn pool(&self, role: Role, key: Register, pool: Register) -> Rule {
        let rule = match role {
            Role::Front | Role::Far => door(Rule::new(), self.family, key),
            _ => node_door(Rule::new(), key),
        };
        rule.translated_by(role.name(self.family), key, pool)
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
