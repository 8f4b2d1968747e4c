//! Making room: which pods of less priority would have to go, on which node it hurts least. Decides and does nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use crate::cluster::Cluster;
use crate::decide::{Nowhere, Prepared, Profile, lot};
use crate::node::Node;
use crate::plugin::Rejection;
use crate::pod::PodView;
use crate::reasons::{self, NOT_HELPFUL};
use crate::select::Selector;

/// Of the nodes where it may help, this share is tried, and at least so many.
const CANDIDATES_PERCENT: usize = 10;
const CANDIDATES_AT_LEAST: usize = 100;

/// A node and the pods that would have to leave it, the most important first.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub node: Arc<str>,
    pub slot: usize,
    pub victims: Vec<Arc<PodView>>,
    /// How many of them a disruption budget protects.
    pub violations: usize,
}

/// Why nobody makes room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The pod may not ask for it (now), in words.
    NotEligible(&'static str),
    /// It would not help, in words. A nomination from before is void.
    NoCandidate(String),
}

impl Refusal {
    pub fn text(&self) -> String {
        match self {
            Self::NotEligible(why) => format!("preemption: {why}"),
            Self::NoCandidate(why) => format!("preemption: {why}"),
        }
    }
}

/// How many more pods of a set may be disrupted.
#[derive(Clone, Debug)]
pub struct Budget {
    namespace: String,
    selector: Selector,
    allowed: i32,
    /// Pods that count as disrupted already.
    disrupted: BTreeSet<String>,
}

impl Budget {
    pub fn of(budget: &PodDisruptionBudget) -> Self {
        let spec = budget.spec.as_ref();
        let status = budget.status.as_ref();
        let disrupted = status.and_then(|status| status.disrupted_pods.as_ref());
        let selector = Selector::of(spec.and_then(|spec| spec.selector.as_ref()));
        Self {
            namespace: budget.metadata.namespace.clone().unwrap_or_default(),
            // Here an empty selector protects nobody.
            selector: if selector.is_everything() { Selector::Nothing } else { selector },
            allowed: status.and_then(|status| status.disruptions_allowed).unwrap_or_default(),
            disrupted: disrupted.into_iter().flatten().map(|(name, _)| name.clone()).collect(),
        }
    }

    fn protects(&self, pod: &PodView) -> bool {
        self.namespace == pod.key.namespace
            && !pod.labels.is_empty()
            && self.selector.matches(&pod.labels)
            && !self.disrupted.contains(&pod.key.name)
    }
}

/// The best node to make room on, for a pod that was found to fit nowhere.
pub fn preempt(
    profile: &Profile,
    pod: &PodView,
    cluster: &Cluster,
    nowhere: &Nowhere,
    budgets: &[Budget],
    seed: u64,
) -> Result<Candidate, Refusal> {
    eligible(pod, cluster, nowhere)?;
    let mut found = Vec::new();
    let mut rejected = Vec::new();
    let hopeful: Vec<&Node> = cluster
        .nodes()
        .filter(|node| nowhere.nodes.get(&node.slot).is_some_and(|(_, rejection)| rejection.resolvable))
        .collect();
    if !hopeful.is_empty()
        && let Ok(mut prepared) = Prepared::new(profile, pod, cluster)
    {
        let wanted = (hopeful.len() * CANDIDATES_PERCENT / 100).max(CANDIDATES_AT_LEAST).min(hopeful.len());
        let first = usize::try_from(lot(seed, pod) % hopeful.len() as u64).unwrap_or_default();
        let (before, after) = hopeful.split_at(first);
        for node in after.iter().chain(before) {
            match victims(&mut prepared, pod, node, cluster, budgets) {
                Ok(candidate) => found.push(candidate),
                Err(rejection) => rejected.push(rejection),
            }
            if found.len() >= wanted && found.iter().any(|candidate| candidate.violations == 0) {
                break;
            }
        }
    }
    choose(found).ok_or_else(|| {
        Refusal::NoCandidate(match cluster.len() {
            0 => reasons::NO_NODES.to_owned(),
            total => reasons::nowhere(total, rejected.iter(), NOT_HELPFUL),
        })
    })
}

fn eligible(pod: &PodView, cluster: &Cluster, nowhere: &Nowhere) -> Result<(), Refusal> {
    if pod.never_preempts {
        return Err(Refusal::NotEligible("not eligible due to preemptionPolicy=Never."));
    }
    let Some(node) = pod.nominated.as_deref().and_then(|name| cluster.node(name)) else { return Ok(()) };
    // Room has been made there, and it still can't be used: whoever leaves it doesn't matter any more.
    if nowhere.nodes.get(&node.slot).is_some_and(|(_, rejection)| !rejection.resolvable) {
        return Ok(());
    }
    let leaves_for_it =
        |other: &Arc<PodView>| other.priority < pod.priority && other.leaving && other.disrupted;
    if node.pods.iter().any(leaves_for_it) {
        return Err(Refusal::NotEligible("not eligible due to a terminating pod on the nominated node."));
    }
    Ok(())
}

/// The fewest and least important pods without which the pod would fit.
fn victims(
    prepared: &mut Prepared<'_>,
    pod: &PodView,
    node: &Node,
    cluster: &Cluster,
    budgets: &[Budget],
) -> Result<Candidate, Rejection> {
    let mut lesser: Vec<Arc<PodView>> =
        node.pods.iter().filter(|other| other.priority < pod.priority).cloned().collect();
    if lesser.is_empty() {
        return Err(Rejection::lasting("No preemption victims found for incoming pod"));
    }
    let mut without = node.clone();
    for other in &lesser {
        without.remove(&other.uid);
        prepared.remove(other, &without);
    }
    let mut victims = Vec::new();
    let mut violations = 0;
    let result = prepared.fits(pod, &without, cluster);
    let mut back = Vec::new();
    if result.is_ok() {
        lesser.sort_by_key(|other| importance(other));
        let (protected, others) = by_budget(&lesser, budgets);
        for (other, is_protected) in
            protected.into_iter().map(|pod| (pod, true)).chain(others.into_iter().map(|pod| (pod, false)))
        {
            without.add(other.clone());
            prepared.add(&other, &without);
            if prepared.fits(pod, &without, cluster).is_ok() {
                back.push(other);
                continue;
            }
            without.remove(&other.uid);
            prepared.remove(&other, &without);
            violations += usize::from(is_protected);
            victims.push(other);
        }
        victims.sort_by_key(|victim| importance(victim));
    }
    // The next node is looked at as if nobody had gone from this one.
    for other in lesser.iter().filter(|other| !back.iter().any(|back| back.uid == other.uid)) {
        without.add(other.clone());
        prepared.add(other, &without);
    }
    result.map_err(|(_, rejection)| rejection)?;
    if victims.is_empty() {
        return Err(Rejection::lasting("No preemption victims found for incoming pod"));
    }
    Ok(Candidate { node: node.name.clone(), slot: node.slot, victims, violations })
}

/// The most important first: by priority, then whoever has run longest.
fn importance(pod: &PodView) -> (Reverse<i32>, Timestamp, String) {
    (Reverse(pod.priority), pod.started.unwrap_or(Timestamp::MAX), pod.uid.clone())
}

/// Those whom a budget protects if all before them go as well, and the others, in the same order.
fn by_budget(pods: &[Arc<PodView>], budgets: &[Budget]) -> (Vec<Arc<PodView>>, Vec<Arc<PodView>>) {
    let mut allowed: Vec<i32> = budgets.iter().map(|budget| budget.allowed).collect();
    pods.iter().cloned().partition(|pod| {
        let mut violated = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            if budget.protects(pod) {
                *allowed -= 1;
                violated |= *allowed < 0;
            }
        }
        violated
    })
}

/// Least harm: the fewest broken budgets, the least important of the most important victims, the smallest sum of priorities, the
/// fewest victims, and of the most important victims those that have run the shortest time.
fn choose(candidates: Vec<Candidate>) -> Option<Candidate> {
    let harm = |candidate: &Candidate| {
        let highest = candidate.victims.first().map_or(i32::MIN, |victim| victim.priority);
        // Negative priorities must not make many victims look better than few.
        let sum: i64 =
            candidate.victims.iter().map(|victim| i64::from(victim.priority) + (1_i64 << 31)).sum();
        let top = candidate.victims.iter().filter(|victim| victim.priority == highest);
        let earliest = top.map(|victim| victim.started.unwrap_or(Timestamp::MAX)).min();
        (candidate.violations, highest, sum, candidate.victims.len(), Reverse(earliest))
    };
    candidates.into_iter().min_by_key(harm)
}

#[cfg(test)]
mod tests;
