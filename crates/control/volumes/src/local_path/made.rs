//! The volume that a claim gets on its node's disk, and what can't be had there. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeSpec, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::ResourceExt;

use super::{FINALIZER, FOLDER, NAME, USUAL_FOLDER};
use crate::annotations::{self, PROVISIONED_BY};
use crate::bind::reference;

/// On a volume: the name of the node that holds its folder.
pub(super) const NODE: &str = "kedge.dev/node";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// A claim's volume always has the same name, so that it is made once.
pub(super) fn name(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default())
}

/// What a folder of one node can't be.
pub(super) fn unable(claim: &PersistentVolumeClaim) -> Option<&'static str> {
    let spec = claim.spec.as_ref()?;
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if spec.selector.is_some() {
        Some("claim.Spec.Selector is not supported")
    } else if spec.volume_mode.as_deref() == Some("Block") {
        Some("block volume provisioning is not supported")
    } else if modes.iter().any(|mode| !matches!(&**mode, "ReadWriteOnce" | "ReadWriteOncePod")) {
        Some("only the access modes ReadWriteOnce and ReadWriteOncePod are supported")
    } else {
        None
    }
}

pub(super) fn volume(claim: &PersistentVolumeClaim, class: &StorageClass, node: &Node) -> PersistentVolume {
    let name = name(claim);
    let asked = claim.spec.clone().unwrap_or_default();
    let size = asked.resources.and_then(|resources| resources.requests).unwrap_or_default();
    let size: BTreeMap<_, _> = size.into_iter().filter(|(what, _)| what == "storage").collect();
    let folder = annotations::get(node, FOLDER).unwrap_or(USUAL_FOLDER).trim_end_matches('/');
    let hostname = node.labels().get(HOSTNAME).cloned().unwrap_or_else(|| node.name_any());
    let spec = PersistentVolumeSpec {
        access_modes: asked.access_modes,
        capacity: Some(size),
        claim_ref: Some(reference(claim)),
        host_path: Some(HostPathVolumeSource {
            path: format!("{folder}/{name}"),
            type_: Some("DirectoryOrCreate".to_owned()),
        }),
        mount_options: class.mount_options.clone(),
        node_affinity: Some(only_on(hostname)),
        persistent_volume_reclaim_policy: Some(class.reclaim_policy.clone().unwrap_or("Delete".to_owned())),
        storage_class_name: Some(class.name_any()),
        volume_mode: Some("Filesystem".to_owned()),
        ..PersistentVolumeSpec::default()
    };
    let mut volume = PersistentVolume { spec: Some(spec), ..PersistentVolume::default() };
    volume.metadata.name = Some(name);
    volume.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    annotations::set(&mut volume, PROVISIONED_BY, NAME);
    annotations::set(&mut volume, NODE, &node.name_any());
    volume
}

fn only_on(hostname: String) -> VolumeNodeAffinity {
    let is_it = NodeSelectorRequirement {
        key: HOSTNAME.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![hostname]),
    };
    let term = NodeSelectorTerm { match_expressions: Some(vec![is_it]), match_fields: None };
    VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) }
}
