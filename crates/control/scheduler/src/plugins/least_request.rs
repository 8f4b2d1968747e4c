//! LeastRequest: the node with the fewest pods. One of the policies that a configuration can choose.

use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{MAX_SCORE, PreparedScore, Score};
use crate::pod::PodView;

pub struct LeastRequest;

impl Score for LeastRequest {
    fn name(&self) -> &'static str {
        "LeastRequest"
    }

    fn prepare<'a>(
        &'a self,
        _: &'a PodView,
        _: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        Some(Box::new(Pods))
    }
}

struct Pods;

impl PreparedScore for Pods {
    fn score(&self, node: &Node) -> i64 {
        i64::try_from(node.pods.len()).unwrap_or(i64::MAX)
    }

    fn normalize(&self, scores: &mut [i64]) {
        least_first(scores);
    }
}

/// The lowest becomes `MAX_SCORE`, the highest zero: also a small difference decides.
pub fn least_first(scores: &mut [i64]) {
    let lowest = scores.iter().copied().min().unwrap_or_default();
    let highest = scores.iter().copied().max().unwrap_or_default();
    for score in scores {
        *score =
            if highest == lowest { MAX_SCORE } else { MAX_SCORE * (highest - *score) / (highest - lowest) };
    }
}

#[cfg(test)]
mod tests;
