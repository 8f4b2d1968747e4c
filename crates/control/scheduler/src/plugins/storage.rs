//! What plugins ask of claims, volumes and classes. Knows no node and no plugin.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_engine::{Key, NotReady, World};
use kedge_kinds::quantity::Quantity;

use crate::plugin::{Rejection, Whole};
use crate::pod::PodView;
use crate::select::{Labels, NodeTerm};

pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Where the class was before it had a field.
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The name of a claim that a pod uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimName {
    pub name: String,
    /// It is made for the pod and goes with it.
    pub own: bool,
}

pub fn claim_names(pod: &PodView) -> impl Iterator<Item = ClaimName> + '_ {
    pod.volumes.iter().filter_map(|volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(ClaimName { name: claim.claim_name.clone(), own: false }),
        (None, Some(_)) => Some(ClaimName { name: format!("{}-{}", pod.key.name, volume.name), own: true }),
        (None, None) => None,
    })
}

/// Rejects the pod if there is no such claim.
pub fn claim(pod: &PodView, name: &str, world: &World) -> Result<Arc<PersistentVolumeClaim>, Whole> {
    let key = Key::new(pod.key.namespace.clone(), name);
    let missing = || Whole::Reject(Rejection::lasting(format!("persistentvolumeclaim \"{name}\" not found")));
    world.get::<PersistentVolumeClaim>(&key)?.ok_or_else(missing)
}

/// Everything in the cluster is in no namespace.
pub fn class(name: &str, world: &World) -> Result<Option<Arc<StorageClass>>, NotReady> {
    world.get::<StorageClass>(&Key::new("", name))
}

pub fn volume(name: &str, world: &World) -> Result<Option<Arc<PersistentVolume>>, NotReady> {
    world.get::<PersistentVolume>(&Key::new("", name))
}

pub fn class_of(claim: &PersistentVolumeClaim) -> &str {
    let field = || claim.spec.as_ref()?.storage_class_name.as_deref();
    annotation(&claim.metadata, OLD_CLASS).or_else(field).unwrap_or_default()
}

pub fn class_of_volume(volume: &PersistentVolume) -> &str {
    let field = || volume.spec.as_ref()?.storage_class_name.as_deref();
    annotation(&volume.metadata, OLD_CLASS).or_else(field).unwrap_or_default()
}

/// The volume that the claim names, whether or not it is bound to it yet.
pub fn volume_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|name| !name.is_empty())
}

pub fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    volume_of(claim).is_some() && annotation(&claim.metadata, BIND_COMPLETED).is_some()
}

pub fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

pub fn asked_size(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    requests.get("storage")?.0.parse().ok()
}

pub fn annotation<'m>(meta: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    meta.annotations.as_ref()?.get(name).map(String::as_str)
}

/// From which nodes a volume can be reached.
#[derive(Debug)]
pub struct Reach(Option<Vec<NodeTerm>>);

impl Reach {
    pub fn of(volume: &PersistentVolume) -> Self {
        let affinity = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
        let required = affinity.and_then(|affinity| affinity.required.as_ref());
        Self(required.map(|selector| selector.node_selector_terms.iter().map(NodeTerm::of).collect()))
    }

    /// Volumes know nodes by their labels only.
    pub fn includes(&self, labels: &Labels) -> bool {
        self.0.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches("", labels)))
    }
}

#[cfg(test)]
mod tests;
