//! TaintToleration: taints keep away pods that don't tolerate them; taints that only ask to stay away make a node the worse
//! choice.

use k8s_openapi::api::core::v1::Toleration;

use super::tolerance::{self, PREFER_NO_SCHEDULE};
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, PreparedScore, Rejection, Score, Whole, stretch};
use crate::pod::PodView;

pub struct TaintToleration;

impl Filter for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        Ok(Box::new(Tolerating(&pod.tolerations)))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        let kept_away = |taints| tolerance::forbidding(taints, &pod.tolerations).is_some();
        match change {
            Change::NodeAdded(node) => !kept_away(&node.taints),
            Change::NodeChanged { before, now } => kept_away(&before.taints) && !kept_away(&now.taints),
            _ => false,
        }
    }
}

struct Tolerating<'a>(&'a [Toleration]);

impl PreparedFilter for Tolerating<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        match tolerance::forbidding(&node.taints, self.0) {
            None => Ok(()),
            Some(_) => Err(Rejection::lasting("node(s) had untolerated taint(s)")),
        }
    }
}

impl Score for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        Some(Box::new(Tolerating(&pod.tolerations)))
    }
}

impl PreparedScore for Tolerating<'_> {
    /// The number of taints that ask the pod to stay away.
    fn score(&self, node: &Node) -> i64 {
        let asking = node.taints.iter().filter(|taint| taint.effect == PREFER_NO_SCHEDULE);
        asking.filter(|taint| !tolerance::tolerated(taint, self.0)).fold(0, |sum, _| sum + 1)
    }

    fn normalize(&self, scores: &mut [i64]) {
        stretch(scores, true);
    }
}

#[cfg(test)]
mod tests;
