//! PodTopologySpread: pods of a kind are spread over zones, nodes or whatever a label of the nodes says. What a constraint
//! forbids is a filter, what it only wishes a score. Pods without constraints get default ones, as wishes.

mod defaults;
mod filter;
mod score;

use std::sync::Arc;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use kedge_engine::NotReady;
use serde::Deserialize;

use super::node_affinity::required_by;
use super::tolerance;
use crate::cluster::{Cluster, Counts, Topology};
use crate::node::NodeFacts;
use crate::pod::PodView;
use crate::select::Labels;
use crate::term::{Group, Spread, Who};

const NAME: &str = "PodTopologySpread";
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

pub struct PodTopologySpread {
    /// For pods that have none of their own; without a selector.
    defaults: Vec<Spread>,
    /// The defaults are the built-in ones. They also count for nodes that lack one of their labels.
    built_in: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Arguments {
    default_constraints: Vec<TopologySpreadConstraint>,
    defaulting_type: Defaulting,
}

#[derive(Default, Deserialize, PartialEq)]
enum Defaulting {
    #[default]
    System,
    List,
}

impl PodTopologySpread {
    pub fn new(arguments: Arguments) -> Self {
        let built_in = arguments.defaulting_type == Defaulting::System;
        let built_in_ones = [(HOSTNAME, 3), (ZONE, 5)].map(|(key, max_skew)| TopologySpreadConstraint {
            topology_key: key.to_owned(),
            max_skew,
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            ..TopologySpreadConstraint::default()
        });
        let defaults = if built_in { built_in_ones.into() } else { arguments.default_constraints };
        Self { defaults: defaults.iter().map(|one| Spread::of(one, &Labels::new())).collect(), built_in }
    }

    /// Those of the pod that are required, or those that aren't.
    fn constraints(&self, pod: &PodView, cluster: &Cluster, required: bool) -> Result<Vec<Spread>, NotReady> {
        let of = |all: &[Spread]| -> Vec<Spread> {
            all.iter().filter(|one| one.required == required).cloned().collect()
        };
        if !pod.spread.is_empty() {
            return Ok(of(&pod.spread));
        }
        let mut defaults = of(&self.defaults);
        if defaults.is_empty() {
            return Ok(defaults);
        }
        let selector = defaults::selector(pod, &cluster.world)?;
        if selector.is_everything() {
            return Ok(Vec::new());
        }
        for one in &mut defaults {
            one.selector = selector.clone();
        }
        Ok(defaults)
    }
}

/// A constraint with what it counts.
struct Counted {
    spread: Spread,
    topology: Arc<Topology>,
    pods: Counts,
    asks_nodes: bool,
}

impl Counted {
    fn new(spread: Spread, pod: &PodView, cluster: &Cluster) -> Self {
        let pods = if spread.selector.is_everything() {
            // A selector that selects everything counts nothing; only an absent one is as strange.
            Counts::default()
        } else {
            let who = Who::within(&pod.key.namespace, spread.selector.clone());
            cluster.matching(&Group { who: vec![who], with_leaving: false })
        };
        let selects_nodes = !pod.node_selector.is_empty() || pod.required_nodes.is_some();
        Self {
            topology: cluster.topology(&spread.topology_key),
            pods,
            asks_nodes: (spread.honor_node_affinity && selects_nodes) || spread.honor_node_taints,
            spread,
        }
    }

    fn at(&self, slot: usize) -> i64 {
        self.pods.get(slot).copied().unwrap_or_default().into()
    }

    /// Whether pods there count: the constraint can leave out nodes on which the pod itself could not be.
    fn includes(&self, pod: &PodView, node: &NodeFacts) -> bool {
        let spread = &self.spread;
        (!spread.honor_node_affinity || required_by(pod, node))
            && (!spread.honor_node_taints || tolerance::forbidding(&node.taints, &pod.tolerations).is_none())
    }
}

/// Pods in each domain of each constraint, and whether there is such a domain among the nodes that count. Nodes count if they
/// have the labels of all constraints, unless `any_label` will do.
fn by_domain(all: &[Counted], pod: &PodView, cluster: &Cluster, any_label: bool) -> Vec<Vec<Option<i64>>> {
    let mut sums: Vec<_> = all.iter().map(|one| vec![None; one.topology.len()]).collect();
    let slots = all.iter().map(|one| one.topology.slots()).max().unwrap_or_default();
    for slot in 0..slots {
        if !any_label && !all.iter().all(|one| one.topology.at(slot).is_some()) {
            continue;
        }
        for (one, sums) in all.iter().zip(&mut sums) {
            let Some(domain) = one.topology.at(slot) else { continue };
            // Nodes are looked at only if it matters: there are many of them.
            if one.asks_nodes && !cluster.at(slot).is_some_and(|node| one.includes(pod, node)) {
                continue;
            }
            *sums[domain].get_or_insert(0) += one.at(slot);
        }
    }
    sums
}

#[cfg(test)]
mod tests;
