//! InterPodAffinity: pods that want to be near to others or far from them; and what the others want of this one. What is
//! required is a filter, what is preferred a score.

mod filter;
mod score;

use std::sync::Arc;

use serde::Deserialize;

use crate::cluster::{Cluster, Counts, Topology};
use crate::pod::PodView;
use crate::select::Selector;
use crate::term::Who;

const NAME: &str = "InterPodAffinity";

pub struct InterPodAffinity {
    /// How much it counts for the score that a pod on a node requires this one to be near.
    hard_weight: i64,
    ignore_preferences_of_others: bool,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Arguments {
    hard_pod_affinity_weight: i64,
    ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl InterPodAffinity {
    pub fn new(arguments: Arguments) -> Self {
        Self {
            hard_weight: arguments.hard_pod_affinity_weight,
            ignore_preferences_of_others: arguments.ignore_preferred_terms_of_existing_pods,
        }
    }
}

/// Sums for each value of each label that terms speak of.
#[derive(Default)]
struct Sums(Vec<Sum>);

struct Sum {
    key: String,
    topology: Arc<Topology>,
    by_domain: Vec<i64>,
    /// Whether something has been added at all.
    touched: bool,
}

impl Sums {
    fn of(&mut self, key: &str, cluster: &Cluster) -> &mut Sum {
        let at = self.0.iter().position(|sum| sum.key == key).unwrap_or_else(|| {
            let topology = cluster.topology(key);
            let by_domain = vec![0; topology.len()];
            self.0.push(Sum { key: key.to_owned(), topology, by_domain, touched: false });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    fn are_zero(&self) -> bool {
        self.0.iter().all(|sum| sum.by_domain.iter().all(|count| *count == 0))
    }
}

impl Sum {
    fn add(&mut self, slot: usize, amount: i64) {
        if let Some(domain) = self.topology.at(slot) {
            self.by_domain[domain] += amount;
            self.touched = true;
        }
    }

    fn add_all(&mut self, counts: &Counts, weight: i64) {
        for (slot, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(slot, i64::from(*count) * weight);
        }
    }

    /// Nothing if the node lacks the label.
    fn at(&self, slot: usize) -> Option<i64> {
        self.topology.at(slot).map(|domain| self.by_domain[domain])
    }
}

/// Whether it may be one of these. Which labels its namespace has is not known here.
fn may_be(who: &Who, pod: &PodView) -> bool {
    who.selector.matches(&pod.labels)
        && (who.namespaces.contains(&pod.key.namespace) || who.namespace_selector != Selector::Nothing)
}

#[cfg(test)]
mod tests;
