//! NodeUnschedulable: nothing new on a cordoned node, except for pods that tolerate the cordon's taint.

use k8s_openapi::api::core::v1::Taint;

use super::tolerance;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

pub struct NodeUnschedulable;

impl Filter for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let cordon = Taint {
            key: "node.kubernetes.io/unschedulable".to_owned(),
            effect: tolerance::NO_SCHEDULE.to_owned(),
            ..Taint::default()
        };
        if tolerance::tolerated(&cordon, &pod.tolerations) {
            Err(Whole::Skip)
        } else {
            Ok(Box::new(Uncordoned))
        }
    }

    fn helped_by(&self, _: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(node) => !node.unschedulable,
            Change::NodeChanged { before, now } => before.unschedulable && !now.unschedulable,
            _ => false,
        }
    }
}

struct Uncordoned;

impl PreparedFilter for Uncordoned {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        if node.unschedulable { Err(Rejection::lasting("node(s) were unschedulable")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
