//! Counts of pods by node, kept up to date as pods come and go, so that no decision has to look at every pod: how many pods
//! of a group each node has, and how many on it carry a term. Knows no plugin.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::pod::PodView;
use crate::select::{Labels, Selector, Test};
use crate::term::{Group, Namespaces, Term};

/// How many numbers are remembered for all groups together: 16 MB. What is forgotten is counted again when it is asked for.
const REMEMBERED: usize = 4 << 20;

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

/// Pods that no group can tell apart, as the pods of one set mostly are: a pod that comes or goes is compared with no group,
/// its class has been. A new group is compared with the classes, which are fewer than the pods.
#[derive(Default)]
struct Class {
    slots: BTreeMap<usize, u32>,
    /// The places of the groups that contain it.
    groups: Vec<usize>,
}

/// By namespace, by whether they leave, by labels.
type Classes = HashMap<String, [HashMap<Labels, Class>; 2]>;

#[derive(Default)]
pub(super) struct Groups {
    classes: Classes,
    places: HashMap<Group, usize>,
    known: Vec<Option<Known>>,
    free: Vec<usize>,
    asked: u64,
    /// The highest slot that was ever counted, and one.
    slots: usize,
}

struct Known {
    group: Group,
    counts: Counts,
    last_asked: u64,
}

impl Groups {
    pub(super) fn counts(&mut self, group: &Group, namespaces: &Namespaces) -> Counts {
        self.asked += 1;
        if let Some(known) = self.places.get(group).and_then(|place| self.known[*place].as_mut()) {
            known.last_asked = self.asked;
            return known.counts.clone();
        }
        if (self.places.len() + 1) * self.slots > REMEMBERED {
            self.forget_the_oldest();
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.known.push(None);
            self.known.len() - 1
        });
        let mut counts = Vec::new();
        for (namespace, leaving, labels, class) in each(&mut self.classes) {
            if group.takes(namespace, leaving, labels, namespaces) {
                class.groups.push(place);
                class.slots.iter().for_each(|(slot, pods)| *room(&mut counts, *slot) += pods);
            }
        }
        let counts = Arc::new(counts);
        self.known[place] =
            Some(Known { group: group.clone(), counts: counts.clone(), last_asked: self.asked });
        self.places.insert(group.clone(), place);
        counts
    }

    pub(super) fn count(&mut self, pod: &PodView, slot: usize, namespaces: &Namespaces, comes: bool) {
        self.slots = self.slots.max(slot + 1);
        if !self.classes.contains_key(&pod.key.namespace) {
            self.classes.insert(pod.key.namespace.clone(), Default::default());
        }
        let Some(alike) = self.classes.get_mut(&pod.key.namespace) else { return };
        let alike = &mut alike[usize::from(pod.leaving)];
        if !alike.contains_key(&pod.labels) {
            let known =
                self.known.iter().enumerate().filter_map(|(place, known)| Some((place, known.as_ref()?)));
            let containing = known.filter(|(_, known)| known.group.contains(pod, namespaces));
            let groups = containing.map(|(place, _)| place).collect();
            alike.insert(pod.labels.clone(), Class { slots: BTreeMap::new(), groups });
        }
        let Some(class) = alike.get_mut(&pod.labels) else { return };
        let pods = class.slots.entry(slot).or_default();
        *pods = if comes { *pods + 1 } else { pods.saturating_sub(1) };
        if *pods == 0 {
            class.slots.remove(&slot);
        }
        for place in &class.groups {
            if let Some(Some(known)) = self.known.get_mut(*place) {
                let count = room(Arc::make_mut(&mut known.counts), slot);
                *count = if comes { *count + 1 } else { count.saturating_sub(1) };
            }
        }
        if class.slots.is_empty() {
            alike.remove(&pod.labels);
        }
    }

    pub(super) fn forget_those_asking_namespaces(&mut self) {
        let asking = self.places.iter().filter(|(group, _)| group.asks_namespaces());
        let places = asking.map(|(_, place)| *place).collect();
        self.forget(&places);
    }

    /// The older half, so that there is room for a while.
    fn forget_the_oldest(&mut self) {
        let mut all: Vec<_> = self.places.values().copied().collect();
        all.sort_by_key(|place| self.known[*place].as_ref().map(|known| known.last_asked));
        all.truncate(all.len().div_ceil(2));
        self.forget(&all.into_iter().collect());
    }

    fn forget(&mut self, places: &BTreeSet<usize>) {
        if places.is_empty() {
            return;
        }
        for (_, _, _, class) in each(&mut self.classes) {
            class.groups.retain(|place| !places.contains(place));
        }
        for place in places {
            if let Some(known) = self.known[*place].take() {
                self.places.remove(&known.group);
                self.free.push(*place);
            }
        }
    }
}

fn each(classes: &mut Classes) -> impl Iterator<Item = (&str, bool, &Labels, &mut Class)> {
    classes.iter_mut().flat_map(|(namespace, [staying, leaving])| {
        let staying = staying.iter_mut().map(|(labels, class)| (false, labels, class));
        let leaving = leaving.iter_mut().map(|(labels, class)| (true, labels, class));
        staying.chain(leaving).map(|(leaving, labels, class)| (namespace.as_str(), leaving, labels, class))
    })
}

fn room(counts: &mut Vec<u32>, slot: usize) -> &mut u32 {
    if counts.len() <= slot {
        counts.resize(slot + 1, 0);
    }
    &mut counts[slot]
}

/// Which terms the pods on nodes carry, and how many pods of each node do. Terms that mean only pods with a certain label are
/// kept under it, so that a pod meets the few that may mean it.
#[derive(Default)]
pub(super) struct Carriers {
    /// By the label's name and value.
    labelled: HashMap<String, HashMap<String, Terms>>,
    others: Terms,
}

type Terms = HashMap<Carried, HashMap<Term, BTreeMap<usize, u32>>>;

impl Carriers {
    pub(super) fn count(&mut self, pod: &PodView, slot: usize, comes: bool) {
        for (carried, term) in carried_by(pod) {
            let terms = match certain_label(&term.who.selector) {
                Some((name, value)) => {
                    self.labelled.entry(name.to_owned()).or_default().entry(value.to_owned()).or_default()
                }
                None => &mut self.others,
            };
            count_term(terms, carried, term, slot, comes);
            if terms.is_empty()
                && let Some((name, value)) = certain_label(&term.who.selector)
                && let Some(values) = self.labelled.get_mut(name)
            {
                values.remove(value);
            }
        }
    }

    /// Those that may mean a pod with these labels.
    pub(super) fn met_by(
        &self,
        labels: &Labels,
    ) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        let labelled = labels.iter().filter_map(|(name, value)| self.labelled.get(name)?.get(value));
        std::iter::once(&self.others).chain(labelled).flat_map(each_term)
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        let labelled = self.labelled.values().flat_map(HashMap::values);
        std::iter::once(&self.others).chain(labelled).flat_map(each_term)
    }
}

fn each_term(terms: &Terms) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
    terms.iter().flat_map(|(carried, terms)| terms.iter().map(|(term, slots)| (*carried, term, slots)))
}

/// A label that every pod has which is selected.
fn certain_label(selector: &Selector) -> Option<(&str, &str)> {
    let Selector::All(requirements) = selector else { return None };
    requirements.iter().find_map(|requirement| match &requirement.test {
        Test::In(values) if values.len() == 1 => Some((&*requirement.key, &**values.first()?)),
        _ => None,
    })
}

fn count_term(all: &mut Terms, carried: Carried, term: &Term, slot: usize, comes: bool) {
    let terms = all.entry(carried).or_default();
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
    if terms.is_empty() {
        all.remove(&carried);
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

#[cfg(test)]
mod tests;
