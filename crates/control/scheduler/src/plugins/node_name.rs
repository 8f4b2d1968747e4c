//! NodeName: a pod that names its node runs there or nowhere.

use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

pub(super) struct NodeName;

impl Filter for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        match pod.node.as_deref() {
            Some(name) => Ok(Box::new(Named(name))),
            None => Err(Whole::Skip),
        }
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        matches!(change, Change::NodeAdded(node) if Some(&node.name) == pod.node.as_ref())
    }
}

struct Named<'a>(&'a str);

impl PreparedFilter for Named<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        if &*node.name == self.0 {
            Ok(())
        } else {
            Err(Rejection::lasting("node(s) didn't match the requested node name"))
        }
    }
}
