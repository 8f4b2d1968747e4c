//! The table in the kernel: read back, made whole, changed. Everything is done at once or not at all, so that there is never a moment
//! without rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kedge_netlink::nft::{Batch, Element, Lists};
use kedge_netlink::{Errno, NetlinkError, Socket};
use kedge_range::Range;

use crate::elements::{Behind, read_end};
use crate::family::Family;
use crate::layout::{Chain, Layout, Role};
use crate::table::{Step, Table};
use crate::wanted::Target;

pub(crate) struct Kernel {
    socket: Socket,
    table: String,
    layout: Layout,
    /// Those of the chains for endpoints that are there.
    chains: BTreeSet<Chain>,
}

/// What the kernel has of our table.
pub(crate) struct Found {
    chains: BTreeSet<Chain>,
    sets: Vec<(Role, Family, Vec<Element>)>,
}

impl Found {
    /// Which endpoint has which slot.
    pub(crate) fn slots(&self) -> HashMap<Behind, Vec<Target>> {
        let mut slots: HashMap<Behind, BTreeMap<u32, Target>> = HashMap::new();
        for (role, family, elements) in &self.sets {
            let Role::Ends(gate) = role else { continue };
            for (door, slot, target) in elements.iter().filter_map(|element| read_end(*family, element)) {
                slots.entry((*gate, *family, door)).or_default().insert(slot, target);
            }
        }
        slots.into_iter().map(|(behind, slots)| (behind, slots.into_values().collect())).collect()
    }
}

impl Kernel {
    pub(crate) fn open(table: &str, cluster: &[Range]) -> Result<Self, NetlinkError> {
        let layout = Layout::new(cluster);
        Ok(Self { socket: Socket::netfilter()?, table: table.to_owned(), layout, chains: BTreeSet::new() })
    }

    /// Whether the table is there, with our rules; what is in its maps is not looked at.
    pub(crate) fn is_there(&mut self) -> Result<bool, NetlinkError> {
        let chains = self.socket.chains(&self.table)?;
        let sets = self.socket.sets(&self.table)?;
        Ok(self.layout.compare(&chains, &sets).is_some())
    }

    /// None if there is no table of ours, or one with other rules.
    pub(crate) fn read(&mut self) -> Result<Option<Found>, NetlinkError> {
        let chains = self.socket.chains(&self.table)?;
        let sets = self.socket.sets(&self.table)?;
        let Some(chains) = self.layout.compare(&chains, &sets) else { return Ok(None) };
        let mut found = Found { chains: chains.into_iter().collect(), sets: Vec::new() };
        for family in Family::BOTH {
            for role in Role::all().filter(|role| role.is_ours()) {
                match self.socket.elements(&self.table, role.name(family)) {
                    Ok(elements) => found.sets.push((role, family, elements)),
                    // Somebody took it away just now.
                    Err(error) if error.is(Errno::NOENT) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Some(found))
    }

    /// Makes the table what is wanted, whatever it is now. Tells how many entries went and came, or none if all was made anew.
    pub(crate) fn repair(
        &mut self,
        wanted: &Table,
        found: Option<Found>,
    ) -> Result<Option<(usize, usize)>, NetlinkError> {
        let Some(found) = found else {
            let mut batch = Batch::of(&self.table);
            // Making it first lets removing it succeed in any case.
            batch.table().without_table().table();
            self.layout.write(&mut batch);
            let chains = wanted.chains();
            write_chains(chains.iter().copied(), &mut batch);
            // Written as they come: there may be very many.
            let mut lists = Lists::default();
            wanted.entries(|place, value| {
                let (set, element) = place.element(value);
                batch.list_one(&mut lists, set, &element);
            });
            batch.close(lists);
            self.socket.apply(&mut batch)?;
            self.chains = chains;
            return Ok(None);
        };
        self.chains = found.chains;
        let mut whole = Step { chains: wanted.chains(), ..Step::default() };
        wanted.entries(|place, value| whole.changes.enter(place, value));
        for (role, family, elements) in found.sets {
            elements.into_iter().for_each(|element| whole.changes.is_there(role, family, element));
        }
        let count = whole.changes.count();
        self.apply(whole)?;
        Ok(Some(count))
    }

    /// Refused if the kernel has not what we think: then it must be read again.
    pub(crate) fn apply(&mut self, step: Step) -> Result<(), NetlinkError> {
        let mut batch = Batch::of(&self.table);
        let new: Vec<Chain> = step.chains.difference(&self.chains).copied().collect();
        write_chains(new.iter().copied(), &mut batch);
        step.changes.write(&mut batch);
        self.socket.apply(&mut batch)?;
        self.chains.extend(new);
        Ok(())
    }

    pub(crate) fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }
}

/// Each after the one that it leads to.
fn write_chains(chains: impl Iterator<Item = Chain>, batch: &mut Batch) {
    let (last, first): (Vec<Chain>, Vec<Chain>) = chains.partition(|chain| chain.next().is_some());
    first.iter().chain(&last).for_each(|chain| chain.write(batch));
}
