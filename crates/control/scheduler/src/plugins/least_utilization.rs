//! LeastUtilization: the node that is used least, as measured; where nothing is measured, by what its pods ask for. One of the
//! policies that a configuration can choose.

use super::least_request::least_first;
use crate::amounts::Amounts;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{PreparedScore, Score};
use crate::pod::PodView;

/// Finer than a percent, so that nearly equal nodes can be told apart.
const WHOLE: i64 = 10_000;

pub struct LeastUtilization;

impl Score for LeastUtilization {
    fn name(&self) -> &'static str {
        "LeastUtilization"
    }

    fn prepare<'a>(
        &'a self,
        _: &'a PodView,
        cluster: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        Some(Box::new(InUse(cluster)))
    }
}

struct InUse<'a>(&'a Cluster);

impl PreparedScore for InUse<'_> {
    /// The mean of the parts of its processors and memory that are in use.
    fn score(&self, node: &Node) -> i64 {
        let used = measured(node, self.0).unwrap_or_else(|| node.counted.clone());
        let part = |used: i64, whole: i64| i128::from(used) * i128::from(WHOLE) / i128::from(whole.max(1));
        let both =
            part(used.milli_cpu, node.allocatable.milli_cpu) + part(used.memory, node.allocatable.memory);
        i64::try_from(both / 2).unwrap_or(WHOLE)
    }

    fn normalize(&self, scores: &mut [i64]) {
        least_first(scores);
    }
}

/// What is in use, with what will be: pods that have not begun can't have been measured, and many may come at once.
fn measured(node: &Node, cluster: &Cluster) -> Option<Amounts> {
    let mut used = cluster.measured(&node.name)?.clone();
    for pod in node.pods.iter().filter(|pod| pod.started.is_none()) {
        used.add(&pod.counted);
    }
    Some(used)
}

#[cfg(test)]
mod tests;
