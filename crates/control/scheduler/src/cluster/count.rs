//! Counts of pods by node, kept up to date as pods come and go, so that no decision has to look at every pod: how many pods
//! of a group each node has, and how many on it carry a term. Knows no plugin.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::pod::PodView;
use crate::term::{Group, Namespaces, Term};

/// How many groups are remembered. Every pod that comes or goes is compared with each of them.
const REMEMBERED: usize = 256;

/// How many pods of a group each node has, by slot. Nodes that came later may be missing: they have none.
pub type Counts = Arc<Vec<u32>>;

/// What pods ask of others by a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Carried {
    Affinity,
    AntiAffinity,
    /// With its weight.
    PreferredAffinity(i32),
    PreferredAntiAffinity(i32),
}

#[derive(Default)]
pub(super) struct Groups {
    known: HashMap<Group, Known>,
    asked: u64,
}

struct Known {
    counts: Counts,
    last_asked: u64,
}

impl Groups {
    pub(super) fn counts<'p>(
        &mut self,
        group: &Group,
        namespaces: &Namespaces,
        placed: impl Iterator<Item = (usize, &'p PodView)>,
    ) -> Counts {
        self.asked += 1;
        if let Some(known) = self.known.get_mut(group) {
            known.last_asked = self.asked;
            return known.counts.clone();
        }
        if self.known.len() >= REMEMBERED {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.last_asked);
            if let Some(oldest) = oldest.map(|(group, _)| group.clone()) {
                self.known.remove(&oldest);
            }
        }
        let mut counts = Vec::new();
        for (slot, pod) in placed {
            if group.contains(pod, namespaces) {
                *room(&mut counts, slot) += 1;
            }
        }
        let counts = Arc::new(counts);
        self.known.insert(group.clone(), Known { counts: counts.clone(), last_asked: self.asked });
        counts
    }

    pub(super) fn count(&mut self, pod: &PodView, slot: usize, namespaces: &Namespaces, comes: bool) {
        for (group, known) in &mut self.known {
            if group.contains(pod, namespaces) {
                let count = room(Arc::make_mut(&mut known.counts), slot);
                *count = if comes { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }

    pub(super) fn forget_those_asking_namespaces(&mut self) {
        self.known.retain(|group, _| !group.asks_namespaces());
    }
}

fn room(counts: &mut Vec<u32>, slot: usize) -> &mut u32 {
    if counts.len() <= slot {
        counts.resize(slot + 1, 0);
    }
    &mut counts[slot]
}

/// Which terms the pods on nodes carry, and how many pods of each node do.
#[derive(Default)]
pub(super) struct Carriers(HashMap<Carried, HashMap<Term, BTreeMap<usize, u32>>>);

impl Carriers {
    pub(super) fn count(&mut self, pod: &PodView, slot: usize, comes: bool) {
        for (carried, term) in carried_by(pod) {
            let terms = self.0.entry(carried).or_default();
            if comes {
                if let Some(slots) = terms.get_mut(term) {
                    *slots.entry(slot).or_default() += 1;
                } else {
                    terms.insert(term.clone(), [(slot, 1)].into());
                }
            } else if let Some(slots) = terms.get_mut(term) {
                if let Some(count) = slots.get_mut(&slot) {
                    *count -= 1;
                    if *count == 0 {
                        slots.remove(&slot);
                    }
                }
                if slots.is_empty() {
                    terms.remove(term);
                }
            }
        }
        self.0.retain(|_, terms| !terms.is_empty());
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        self.0.iter().flat_map(|(carried, terms)| terms.iter().map(|(term, slots)| (*carried, term, slots)))
    }

    pub(super) fn of(&self, carried: Carried) -> impl Iterator<Item = (&Term, &BTreeMap<usize, u32>)> {
        self.0.get(&carried).into_iter().flatten()
    }
}

fn carried_by(pod: &PodView) -> impl Iterator<Item = (Carried, &Term)> {
    let near = pod.affinity.iter().map(|term| (Carried::Affinity, term));
    let far = pod.anti_affinity.iter().map(|term| (Carried::AntiAffinity, term));
    let rather_near =
        pod.preferred_affinity.iter().map(|(weight, term)| (Carried::PreferredAffinity(*weight), term));
    let rather_far = pod
        .preferred_anti_affinity
        .iter()
        .map(|(weight, term)| (Carried::PreferredAntiAffinity(*weight), term));
    near.chain(far).chain(rather_near).chain(rather_far)
}

/// Which value of a label each node has, as small numbers.
#[derive(Debug, Default)]
pub struct Topology {
    /// By slot; `None` for a node without the label. Nodes that came later may be missing.
    values: Vec<Option<u32>>,
    names: Vec<String>,
}

impl Topology {
    pub(super) fn of<'n>(key: &str, nodes: impl Iterator<Item = &'n crate::node::Node>) -> Self {
        let mut all = Self::default();
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        for node in nodes {
            let Some(value) = node.labels.get(key) else { continue };
            let next = u32::try_from(all.names.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(value).or_insert_with(|| {
                all.names.push(value.clone());
                next
            });
            if all.values.len() <= node.slot {
                all.values.resize(node.slot + 1, None);
            }
            all.values[node.slot] = Some(number);
        }
        all
    }

    /// The number of a node's value, below `len()`.
    pub fn at(&self, slot: usize) -> Option<usize> {
        self.values.get(slot).copied().flatten().map(|number| number as usize)
    }

    /// One more than the last slot of a node that has the label.
    pub fn slots(&self) -> usize {
        self.values.len()
    }

    /// How many different values there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }
}
