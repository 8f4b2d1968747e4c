//! VolumeBinding: a pod runs where its volumes can be reached. Claims that wait for their first consumer get theirs chosen
//! together with the node: a volume that is there, or one that is made for that node. The pod is bound when they are.

mod find;
mod matching;

use kedge_engine::{Action, NotReady};

use self::find::Claims;
use super::storage::{self, SELECTED_NODE};
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Before, Change, Filter, PreBind, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

const NAME: &str = "VolumeBinding";

pub struct VolumeBinding;

impl Filter for VolumeBinding {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        Ok(Box::new(Claims::of(pod, &cluster.world)?))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(_) => true,
            Change::NodeChanged { before, now } => before.labels != now.labels,
            Change::Storage { kind: "PersistentVolumeClaim", namespace, name } => {
                pod.key.namespace == *namespace && pod.claims.iter().any(|claim| claim == name)
            }
            Change::Storage { kind, .. } => *kind != "VolumeAttachment",
            _ => false,
        }
    }
}

impl PreparedFilter for Claims {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        self.find(node).map(drop)
    }
}

impl PreBind for VolumeBinding {
    fn name(&self) -> &'static str {
        NAME
    }

    fn look(&self, pod: &PodView, node: &Node, cluster: &Cluster) -> Result<Before, NotReady> {
        let claims = match Claims::of(pod, &cluster.world) {
            Ok(claims) => claims,
            Err(Whole::Skip) => return Ok(Before::Bind),
            Err(Whole::NotReady(missing)) => return Err(missing),
            // It passed the filter a moment ago; what changed since will bring it back.
            Err(Whole::Reject(_)) => return Ok(Before::Await(Vec::new())),
        };
        if claims.are_all_bound() {
            return Ok(Before::Bind);
        }
        let Ok(found) = claims.find(node) else { return Ok(Before::Await(Vec::new())) };
        let reserved = found.there.iter().filter_map(|(claim, volume)| matching::reserve(volume, claim));
        let ordered = found.to_make.iter().filter_map(|claim| {
            let mut chosen = (**claim).clone();
            let annotations = chosen.metadata.annotations.get_or_insert_default();
            annotations.insert(SELECTED_NODE.to_owned(), node.name.to_string());
            Action::change(&**claim, &chosen)
        });
        Ok(Before::Await(reserved.chain(ordered).collect()))
    }
}

#[cfg(test)]
mod tests;
