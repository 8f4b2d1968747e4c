//! One decision: which node for this pod, or why none. Filters, then scores, then the best; equals are told apart by a seed, so
//! that the same cluster and the same seed give the same choice. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kedge_engine::NotReady;

use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Filter, PreBind, PreparedFilter, Rejection, Score, Whole};
use crate::pod::PodView;
use crate::reasons;

/// Below this number of nodes all of them are looked at; of more, at least so many that fit are compared.
const FEW: usize = 100;

/// How pods of one scheduler name are placed.
#[derive(Clone)]
pub struct Profile {
    pub scheduler: String,
    pub filters: Vec<Arc<dyn Filter>>,
    pub scores: Vec<(Arc<dyn Score>, i64)>,
    pub pre_binds: Vec<Arc<dyn PreBind>>,
    /// Of a hundred nodes, how many must fit before the search ends; 0 for a share that falls as the cluster grows.
    pub percentage: usize,
    pub preempts: bool,
}

#[derive(Debug)]
pub enum Decision {
    /// The slot of the best node.
    Place(usize),
    Nowhere(Nowhere),
    NotReady(NotReady),
}

/// What was found at every node.
#[derive(Debug, Default)]
pub struct Nowhere {
    pub total: usize,
    /// One rejection for all nodes, and whose.
    pub whole: Option<(&'static str, Rejection)>,
    pub nodes: BTreeMap<usize, (&'static str, Rejection)>,
    /// Those who named the only nodes that could do.
    pub only: Vec<&'static str>,
}

impl Nowhere {
    pub fn plugins(&self) -> BTreeSet<&'static str> {
        let whole = self.whole.iter().map(|(plugin, _)| *plugin);
        whole.chain(self.nodes.values().map(|(plugin, _)| *plugin)).chain(self.only.iter().copied()).collect()
    }

    pub fn text(&self) -> String {
        match &self.whole {
            _ if self.total == 0 => reasons::NO_NODES.to_owned(),
            Some((_, rejection)) => reasons::whole(self.total, rejection),
            None => {
                let others = match &*self.only {
                    [] => String::new(),
                    only => format!("node(s) didn't satisfy plugin(s) [{}]", only.join(" ")),
                };
                reasons::nowhere(self.total, self.nodes.values().map(|(_, rejection)| rejection), &others)
            }
        }
    }
}

/// A pod's filters after their first look.
pub(crate) struct Prepared<'a> {
    filters: Vec<(&'static str, Box<dyn PreparedFilter + 'a>)>,
    pub(crate) only: Option<BTreeSet<String>>,
    only_by: Vec<&'static str>,
}

pub(crate) enum Stop {
    Rejected(&'static str, Rejection),
    NotReady(NotReady),
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(profile: &'a Profile, pod: &'a PodView, cluster: &'a Cluster) -> Result<Self, Stop> {
        let mut all =
            Self { filters: Vec::with_capacity(profile.filters.len()), only: None, only_by: Vec::new() };
        for filter in &profile.filters {
            match filter.prepare(pod, cluster) {
                Ok(prepared) => {
                    if let Some(names) = prepared.only() {
                        all.only_by.push(filter.name());
                        all.only = Some(match all.only.take() {
                            Some(others) => others.intersection(&names).cloned().collect(),
                            None => names,
                        });
                    }
                    all.filters.push((filter.name(), prepared));
                }
                Err(Whole::Skip) => {}
                Err(Whole::Reject(rejection)) => return Err(Stop::Rejected(filter.name(), rejection)),
                Err(Whole::NotReady(error)) => return Err(Stop::NotReady(error)),
            }
        }
        Ok(all)
    }

    pub(crate) fn add(&mut self, pod: &PodView, node: &Node) {
        self.filters.iter_mut().for_each(|(_, filter)| filter.add(pod, node));
    }

    pub(crate) fn remove(&mut self, pod: &PodView, node: &Node) {
        self.filters.iter_mut().for_each(|(_, filter)| filter.remove(pod, node));
    }

    /// Whether the pod fits on a node, also if everybody comes for whom room is being made there and who matters as much.
    pub(crate) fn fits(
        &mut self,
        pod: &PodView,
        node: &Node,
        cluster: &Cluster,
    ) -> Result<(), (&'static str, Rejection)> {
        let nominated = cluster.nominated_to(&node.name).iter();
        let rivals: Vec<_> =
            nominated.filter(|other| other.uid != pod.uid && other.priority >= pod.priority).collect();
        if !rivals.is_empty() {
            let mut crowded = node.clone();
            for rival in &rivals {
                crowded.add(Arc::clone(rival));
                self.add(rival, &crowded);
            }
            let result = self.check(&crowded);
            for rival in &rivals {
                crowded.remove(&rival.uid);
                self.remove(rival, &crowded);
            }
            result?;
        }
        // They may never come, and the pod may not rely on them.
        self.check(node)
    }

    fn check(&self, node: &Node) -> Result<(), (&'static str, Rejection)> {
        for (name, filter) in &self.filters {
            filter.check(node).map_err(|rejection| (*name, rejection))?;
        }
        Ok(())
    }
}

/// `start` is where the search begins, and moves on, so that in a large cluster every node gets its turn.
pub fn decide(profile: &Profile, pod: &PodView, cluster: &Cluster, start: &mut usize, seed: u64) -> Decision {
    let mut nowhere = Nowhere { total: cluster.len(), ..Nowhere::default() };
    if cluster.is_empty() {
        return Decision::Nowhere(nowhere);
    }
    let mut prepared = match Prepared::new(profile, pod, cluster) {
        Ok(prepared) => prepared,
        Err(Stop::NotReady(error)) => return Decision::NotReady(error),
        Err(Stop::Rejected(plugin, rejection)) => {
            nowhere.whole = Some((plugin, rejection));
            return Decision::Nowhere(nowhere);
        }
    };
    // Room was made for it there; nobody else may be better, but nothing else is as sure.
    if let Some(node) = pod.nominated.as_deref().and_then(|name| cluster.node(name))
        && prepared.only.as_ref().is_none_or(|only| only.contains(&*node.name))
        && prepared.fits(pod, node, cluster).is_ok()
    {
        return Decision::Place(node.slot);
    }
    let fitting = find(&mut prepared, pod, cluster, profile.percentage, start, &mut nowhere);
    match &*fitting {
        [] => Decision::Nowhere(nowhere),
        [one] => Decision::Place(one.slot),
        several => Decision::Place(best(profile, pod, cluster, several, seed).slot),
    }
}

/// The nodes that fit, as many as are needed; what speaks against the others is noted.
fn find<'c>(
    prepared: &mut Prepared<'_>,
    pod: &PodView,
    cluster: &'c Cluster,
    percentage: usize,
    start: &mut usize,
    nowhere: &mut Nowhere,
) -> Vec<&'c Node> {
    let mut fitting = Vec::new();
    let only = prepared.only.take();
    nowhere.only.clone_from(&prepared.only_by);
    if let Some(only) = only {
        for node in only.iter().filter_map(|name| cluster.node(name)) {
            match prepared.fits(pod, node, cluster) {
                Ok(()) => fitting.push(node),
                Err(rejected) => drop(nowhere.nodes.insert(node.slot, rejected)),
            }
        }
        return fitting;
    }
    let wanted = enough(cluster.len(), percentage);
    let first = *start % cluster.len();
    let mut looked_at = 0;
    for node in cluster.nodes_from(first) {
        looked_at += 1;
        match prepared.fits(pod, node, cluster) {
            Ok(()) => fitting.push(node),
            Err(rejected) => drop(nowhere.nodes.insert(node.slot, rejected)),
        }
        if fitting.len() >= wanted {
            break;
        }
    }
    *start = (first + looked_at) % cluster.len();
    fitting
}

/// How many fitting nodes are enough to choose from.
pub fn enough(nodes: usize, percentage: usize) -> usize {
    if nodes < FEW || percentage >= 100 {
        return nodes;
    }
    let percentage = match percentage {
        0 => 50_usize.saturating_sub(nodes / 125).max(5),
        chosen => chosen,
    };
    (nodes * percentage / 100).max(FEW)
}

fn best<'c>(profile: &Profile, pod: &PodView, cluster: &Cluster, nodes: &[&'c Node], seed: u64) -> &'c Node {
    let mut totals = vec![0_i64; nodes.len()];
    let mut scores = vec![0_i64; nodes.len()];
    for (score, weight) in &profile.scores {
        let Some(prepared) = score.prepare(pod, cluster, nodes) else { continue };
        for (node, score) in nodes.iter().zip(&mut scores) {
            *score = prepared.score(node);
        }
        prepared.normalize(&mut scores);
        for (total, score) in totals.iter_mut().zip(&scores) {
            *total = total.saturating_add(score.saturating_mul(*weight));
        }
    }
    let highest = totals.iter().copied().max().unwrap_or_default();
    let ties: Vec<_> = totals.iter().zip(nodes).filter(|(total, _)| **total == highest).collect();
    let chosen = usize::try_from(lot(seed, pod) % ties.len() as u64).unwrap_or_default();
    ties[chosen].1
}

/// A number that is as good as drawn, and the same for the same pod.
pub(crate) fn lot(seed: u64, pod: &PodView) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, &pod.uid, &pod.key.name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
