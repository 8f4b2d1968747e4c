//! NodeResourcesBalancedAllocation: better a node whose resources are used up evenly than one that runs out of one of them.

use serde::Deserialize;

use super::allocation::balance;
use super::node_resources_fit::{Weighed, shares, usual};
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{PreparedScore, Score};
use crate::pod::PodView;

pub struct NodeResourcesBalancedAllocation {
    resources: Vec<Weighed>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arguments {
    resources: Vec<Weighed>,
}

impl NodeResourcesBalancedAllocation {
    pub fn new(arguments: Arguments) -> Self {
        Self { resources: if arguments.resources.is_empty() { usual() } else { arguments.resources } }
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    /// Pods that ask for nothing change no balance; an opinion would send them all to the same node.
    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        let asks = self.resources.iter().any(|resource| pod.requests.get(&resource.name) != 0);
        asks.then(|| Box::new(Balance { plugin: self, pod }) as _)
    }
}

struct Balance<'a> {
    plugin: &'a NodeResourcesBalancedAllocation,
    pod: &'a PodView,
}

impl PreparedScore for Balance<'_> {
    fn score(&self, node: &Node) -> i64 {
        balance(&shares(&self.plugin.resources, node, &node.requested, &self.pod.requests))
    }
}

#[cfg(test)]
mod tests;
