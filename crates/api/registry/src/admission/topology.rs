//! A pod that begins its life on a node carries that node's zone and region, so that its containers can be told where they
//! are. What comes onto a node later, by a Binding, gets them from `subresource/binding`.

use kedge_kinds::Status;
use kedge_store::Snapshot;
use serde_json::{Value, json};

use super::{Plugin, View};
use crate::object;
use crate::parsed::parsed;

const COPIED: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

pub(super) struct PodTopologyLabels;

impl Plugin for PodTopologyLabels {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Pod")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        pod: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let node = object::text(pod, &["spec", "nodeName"]).to_owned();
        label(view.snapshot, &node, pod)
    }
}

/// Writes where a node is over what a pod, or a Binding, says itself. Of a node that is not there nothing is known.
pub(crate) fn label(snapshot: &Snapshot, node: &str, object: &mut Value) -> Result<(), Status> {
    if node.is_empty() {
        return Ok(());
    }
    let Some(entry) = snapshot.get(&format!("/registry/nodes/{node}")) else { return Ok(()) };
    let node = parsed(entry)?;
    let labels = object::meta(&node, "labels");
    for key in COPIED {
        if let Some(value) = labels.and_then(|labels| labels.get(key)) {
            let all = object::meta_mut(object).entry("labels").or_insert_with(|| json!({}));
            object::as_map(all).insert(key.to_owned(), value.clone());
        }
    }
    Ok(())
}
