//! All that is wanted of the kernel, kept as it was last asked for, so that the next wish becomes the smallest change. Knows Services
//! as what they want; does nothing itself.

mod claims;
mod slots;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kedge_client::Key;
use kedge_netlink::nft::Value;

use self::claims::Claims;
use self::slots::settle;
use crate::changes::Changes;
use crate::elements::{chain, entries, own};
use crate::layout::Chain;
use crate::wanted::{PoolId, Target, Wanted};

#[derive(Default)]
pub(crate) struct Table {
    services: HashMap<Key, Wanted>,
    claims: Claims,
    /// How many Services have an endpoint at this address.
    own: HashMap<IpAddr, u32>,
    /// The slots that the kernel had when we began, until their pool is wanted.
    found: HashMap<PoolId, Vec<Target>>,
}

/// What comes of new wishes.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) changes: Changes,
    /// Chains that must be there first.
    pub(crate) chains: BTreeSet<Chain>,
}

impl Table {
    /// Endpoints keep the slots that they had, so that a new beginning changes nothing.
    pub(crate) fn with_slots(found: HashMap<PoolId, Vec<Target>>) -> Self {
        Self { found, ..Self::default() }
    }

    /// Slots found at the beginning are needed no longer.
    pub(crate) fn forget_slots(&mut self) {
        self.found = HashMap::new();
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Wanted> {
        self.services.get(key)
    }

    pub(crate) fn services(&self) -> impl Iterator<Item = (&Key, &Wanted)> {
        self.services.iter()
    }

    /// Notes who wants which door. Others who win or lose one by it must be looked at in the same step.
    pub(crate) fn claim(&mut self, key: &Key, wanted: &Wanted) -> Vec<Key> {
        let doors = wanted.fronts.iter().map(|front| (front.door, front.way));
        self.claims.claim(key, wanted.since, doors)
    }

    /// Puts new wishes in the place of old ones. Everybody whose doors are concerned must be among them.
    pub(crate) fn step(&mut self, wishes: BTreeMap<Key, Wanted>) -> Step {
        let mut step = Step::default();
        // All that goes before all that comes: an entry may go from one to another.
        let mut before: HashMap<PoolId, Vec<Target>> = HashMap::new();
        for key in wishes.keys() {
            if let Some(old) = self.services.remove(key) {
                self.withdraw(&old, &mut step.changes);
                before.extend(old.pools.into_iter().map(|pool| (pool.id, pool.targets)));
            }
        }
        for (key, mut wanted) in wishes {
            wanted.fronts.retain(|front| self.claims.has(&key, &front.door));
            wanted.fronts.shrink_to_fit();
            for pool in &mut wanted.pools {
                let old = before.remove(&pool.id).or_else(|| self.found.remove(&pool.id)).unwrap_or_default();
                pool.targets = settle(&old, &pool.targets);
            }
            if !wanted.is_nothing() {
                self.enter(&wanted, &mut step);
                self.services.insert(key, wanted);
            }
        }
        step
    }

    /// Everything, as a change of nothing.
    pub(crate) fn whole(&self) -> Step {
        let mut step = Step::default();
        for wanted in self.services.values() {
            enter(wanted, &mut step);
        }
        for address in self.own.keys() {
            step.changes.enter(own(*address), Value::None);
        }
        step
    }

    fn withdraw(&mut self, wanted: &Wanted, changes: &mut Changes) {
        entries(wanted, |place, value| changes.withdraw(place, value));
        for address in &wanted.own {
            if let Some(count) = self.own.get_mut(address) {
                *count -= 1;
                if *count == 0 {
                    self.own.remove(address);
                    changes.withdraw(own(*address), Value::None);
                }
            }
        }
    }

    fn enter(&mut self, wanted: &Wanted, step: &mut Step) {
        enter(wanted, step);
        for address in &wanted.own {
            let count = self.own.entry(*address).or_default();
            *count += 1;
            if *count == 1 {
                step.changes.enter(own(*address), Value::None);
            }
        }
    }
}

fn enter(wanted: &Wanted, step: &mut Step) {
    entries(wanted, |place, value| step.changes.enter(place, value));
    for chain in wanted.pools.iter().filter_map(chain) {
        step.chains.extend(chain.next());
        step.chains.insert(chain);
    }
}

#[cfg(test)]
mod tests;
