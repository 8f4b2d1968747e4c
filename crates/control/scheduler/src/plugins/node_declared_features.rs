//! NodeDeclaredFeatures: a pod that uses something new runs only on nodes that declare that they can do it.

use crate::cluster::Cluster;
use crate::node::{Node, NodeFacts};
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

pub struct NodeDeclaredFeatures;

impl Filter for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        if pod.features.is_empty() { Err(Whole::Skip) } else { Ok(Box::new(Declared(&pod.features))) }
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(node) => has_all(node, &pod.features),
            Change::NodeChanged { before, now } => {
                before.features != now.features && has_all(now, &pod.features)
            }
            _ => false,
        }
    }
}

fn has_all(node: &NodeFacts, features: &[&str]) -> bool {
    features.iter().all(|feature| node.features.contains(*feature))
}

struct Declared<'a>(&'a [&'static str]);

impl PreparedFilter for Declared<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        if has_all(node, self.0) {
            Ok(())
        } else {
            Err(Rejection::lasting("node(s) didn't match Pod's required features"))
        }
    }
}

#[cfg(test)]
mod tests;
