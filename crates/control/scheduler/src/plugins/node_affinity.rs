//! NodeAffinity: a pod's node selector and node affinity, and the affinity that the configuration adds to every pod's. What
//! they require is a filter, what they prefer a score.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::NodeAffinity as Added;
use serde::Deserialize;

use crate::cluster::Cluster;
use crate::node::{Node, NodeFacts};
use crate::plugin::{Change, Filter, PreparedFilter, PreparedScore, Rejection, Score, Whole, stretch};
use crate::pod::PodView;
use crate::select::{NodeTerm, Test};

#[derive(Default)]
pub struct NodeAffinity {
    /// One of these must hold for every pod, if there are any.
    required: Option<Vec<NodeTerm>>,
    preferred: Vec<(i32, NodeTerm)>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Arguments {
    added_affinity: Option<Added>,
}

impl NodeAffinity {
    pub fn new(arguments: Arguments) -> Self {
        let added = arguments.added_affinity.unwrap_or_default();
        let required = added.required_during_scheduling_ignored_during_execution;
        let preferred = added.preferred_during_scheduling_ignored_during_execution.unwrap_or_default();
        Self {
            required: required
                .map(|selector| selector.node_selector_terms.iter().map(NodeTerm::of).collect()),
            preferred: preferred.iter().map(|one| (one.weight, NodeTerm::of(&one.preference))).collect(),
        }
    }

    fn refused(&self, pod: &PodView, node: &NodeFacts) -> Option<&'static str> {
        let any = |terms: &[NodeTerm]| terms.iter().any(|term| term.matches(&node.name, &node.labels));
        if self.required.as_ref().is_some_and(|terms| !any(terms)) {
            Some("node(s) didn't match scheduler-enforced node affinity")
        } else if !required_by(pod, node) {
            Some("node(s) didn't match Pod's node affinity/selector")
        } else {
            None
        }
    }
}

/// Whether the node is one that the pod's own selector and affinity allow.
pub fn required_by(pod: &PodView, node: &NodeFacts) -> bool {
    pod.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && pod
            .required_nodes
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term.matches(&node.name, &node.labels)))
}

impl Filter for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        if pod.node_selector.is_empty() && pod.required_nodes.is_none() && self.required.is_none() {
            return Err(Whole::Skip);
        }
        let only = named_nodes(pod.required_nodes.as_deref().unwrap_or_default());
        if only.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(Whole::Reject(Rejection::lasting("pod affinity terms conflict")));
        }
        Ok(Box::new(Required { plugin: self, pod, only }))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(node) => self.refused(pod, node).is_none(),
            Change::NodeChanged { before, now } => {
                self.refused(pod, before).is_some() && self.refused(pod, now).is_none()
            }
            _ => false,
        }
    }
}

struct Required<'a> {
    plugin: &'a NodeAffinity,
    pod: &'a PodView,
    only: Option<BTreeSet<String>>,
}

impl PreparedFilter for Required<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        self.plugin.refused(self.pod, node).map_or(Ok(()), |reason| Err(Rejection::lasting(reason)))
    }

    fn only(&self) -> Option<BTreeSet<String>> {
        self.only.clone()
    }
}

/// The names of all nodes that the terms can mean; nothing if one of them names no node.
fn named_nodes(terms: &[NodeTerm]) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for term in terms {
        let mut lists = term.name.iter().filter_map(|test| match test {
            Test::In(names) => Some(names.clone()),
            _ => None,
        });
        let first = lists.next()?;
        all.extend(lists.fold(first, |common, names| &common & &names));
    }
    (!terms.is_empty()).then_some(all)
}

impl Score for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        let preferred = [&*self.preferred, &*pod.preferred_nodes];
        preferred.iter().any(|terms| !terms.is_empty()).then(|| Box::new(Preferred(preferred)) as _)
    }
}

/// What the configuration prefers and what the pod prefers.
struct Preferred<'a>([&'a [(i32, NodeTerm)]; 2]);

impl PreparedScore for Preferred<'_> {
    /// The weights of the terms that hold.
    fn score(&self, node: &Node) -> i64 {
        let terms = self.0.iter().copied().flatten();
        terms
            .filter(|(_, term)| term.matches(&node.name, &node.labels))
            .map(|(weight, _)| i64::from(*weight))
            .sum()
    }

    fn normalize(&self, scores: &mut [i64]) {
        stretch(scores, false);
    }
}

#[cfg(test)]
mod tests;
