//! From what the kernel knows to what it is to know, in an order in which each step finds what it needs: nothing is named before it
//! is there, and nothing goes while it is named.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use crate::wanted::{Chain, Direction, Element, Name, Shape, Wanted};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step<'a> {
    MakeSet(&'a Name, Shape),
    Put(&'a Name, Shape, Vec<&'a Element>),
    Take(&'a Name, Shape, Vec<&'a Element>),
    MakeChain(&'a Name, &'a Chain),
    /// Who is isolated talks to himself all the same.
    Own(Vec<IpAddr>),
    Disown(Vec<IpAddr>),
    Release(Direction, IpAddr),
    Isolate(Direction, IpAddr, &'a Name),
    RemoveChain(&'a Name),
    RemoveSet(&'a Name),
}

pub(crate) fn steps<'a>(known: &'a Wanted, wanted: &'a Wanted) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    const NOTHING: &BTreeSet<Element> = &BTreeSet::new();
    for (name, set) in &wanted.sets {
        if known.sets.get(name).is_some_and(|before| Arc::ptr_eq(before, set)) {
            continue;
        }
        let before = known.sets.get(name).map_or(NOTHING, |set| &set.elements);
        if !known.sets.contains_key(name) {
            steps.push(Step::MakeSet(name, set.shape));
        }
        let gone: Vec<_> = before.difference(&set.elements).collect();
        let come: Vec<_> = set.elements.difference(before).collect();
        if !gone.is_empty() {
            steps.push(Step::Take(name, set.shape, gone));
        }
        if !come.is_empty() {
            steps.push(Step::Put(name, set.shape, come));
        }
    }
    let new = wanted.chains.iter().filter(|(name, _)| !known.chains.contains_key(*name));
    steps.extend(new.map(|(name, chain)| Step::MakeChain(name, chain)));

    let (before, after) = (owners(known), owners(wanted));
    let gone: Vec<_> = before.difference(&after).copied().collect();
    let come: Vec<_> = after.difference(&before).copied().collect();
    steps.extend((!gone.is_empty()).then_some(Step::Disown(gone)));
    steps.extend((!come.is_empty()).then_some(Step::Own(come)));

    let is_new = |at: &(Direction, IpAddr), name: &Name| known.isolated.get(at) != Some(name);
    let is_old = |at: &(Direction, IpAddr), name: &Name| wanted.isolated.get(at) != Some(name);
    let old = known.isolated.iter().filter(|(at, name)| is_old(at, name));
    steps.extend(old.map(|((direction, address), _)| Step::Release(*direction, *address)));
    let new = wanted.isolated.iter().filter(|(at, name)| is_new(at, name));
    steps.extend(new.map(|((direction, address), name)| Step::Isolate(*direction, *address, name)));

    let old = known.chains.keys().filter(|name| !wanted.chains.contains_key(*name));
    steps.extend(old.map(Step::RemoveChain));
    let old = known.sets.keys().filter(|name| !wanted.sets.contains_key(*name));
    steps.extend(old.map(Step::RemoveSet));
    steps
}

fn owners(wanted: &Wanted) -> BTreeSet<IpAddr> {
    wanted.isolated.keys().map(|(_, address)| *address).collect()
}

#[cfg(test)]
mod tests;
