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
use crate::changes::{Changes, Place};
use crate::elements::{Behind, behind, chain, entries, own};
use crate::layout::Chain;
use crate::wanted::{PoolId, Target, Wanted};

#[derive(Default)]
pub(crate) struct Table {
    services: HashMap<Key, Wanted>,
    claims: Claims,
    /// How many Services have an endpoint at this address.
    own: HashMap<IpAddr, u32>,
}

/// What comes of new wishes.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) changes: Changes,
    /// Chains that must be there first.
    pub(crate) chains: BTreeSet<Chain>,
}

impl Table {
    pub(crate) fn get(&self, key: &Key) -> Option<&Wanted> {
        self.services.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.services.len()
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
            for pool in &mut wanted.pools {
                let old = before.remove(&pool.id).unwrap_or_default();
                pool.targets = settle(&old, &pool.targets);
            }
            if !wanted.is_nothing() {
                entries(&wanted, |place, value| step.changes.enter(place, value));
                step.chains.extend(chains(&wanted));
                self.take_in(&wanted, |place| step.changes.enter(place, Value::None));
                self.services.insert(key, wanted.kept());
            }
        }
        step
    }

    /// The first wishes of all: nothing was there but slots that the kernel had.
    pub(crate) fn fill(&mut self, wishes: BTreeMap<Key, Wanted>, found: &HashMap<Behind, Vec<Target>>) {
        self.services.reserve(wishes.len());
        for (key, mut wanted) in wishes {
            wanted.fronts.retain(|front| self.claims.has(&key, &front.door));
            let mut pools = std::mem::take(&mut wanted.pools);
            for pool in &mut pools {
                let old = behind(&wanted, &pool.id).and_then(|behind| found.get(&behind));
                pool.targets = settle(old.map(Vec::as_slice).unwrap_or_default(), &pool.targets);
            }
            wanted.pools = pools;
            if !wanted.is_nothing() {
                self.take_in(&wanted, drop);
                self.services.insert(key, wanted.kept());
            }
        }
    }

    /// All chains that pools need.
    pub(crate) fn chains(&self) -> BTreeSet<Chain> {
        self.services.values().flat_map(chains).collect()
    }

    /// All entries.
    pub(crate) fn entries(&self, mut each: impl FnMut(Place, Value)) {
        self.services.values().for_each(|wanted| entries(wanted, &mut each));
        self.own.keys().for_each(|address| each(own(*address), Value::None));
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

    /// Counts a Service's own endpoints, and says which are new.
    fn take_in(&mut self, wanted: &Wanted, mut new: impl FnMut(Place)) {
        for address in &wanted.own {
            let count = self.own.entry(*address).or_default();
            *count += 1;
            if *count == 1 {
                new(own(*address));
            }
        }
    }
}

fn chains(wanted: &Wanted) -> impl Iterator<Item = Chain> {
    wanted.pools.iter().filter_map(chain).flat_map(|chain| chain.next().into_iter().chain([chain]))
}

#[cfg(test)]
mod tests;
