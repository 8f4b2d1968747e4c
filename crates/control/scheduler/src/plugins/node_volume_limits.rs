//! NodeVolumeLimits: a node can have so many volumes of a driver attached, as its CSINode says.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment};
use kedge_engine::{Key, NotReady, World};

use super::storage;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

pub struct NodeVolumeLimits;

/// A volume of a driver: what it is called there.
type Handle = String;
type ByDriver = BTreeMap<String, BTreeSet<Handle>>;

impl Filter for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let world = &cluster.world;
        let mut wanted = ByDriver::new();
        for name in storage::claim_names(pod) {
            let claim =
                storage::claim(pod, &name.name, world).map_err(|error| missing(error, pod, &name.name))?;
            if let Some((driver, handle)) = handle(&claim, world)? {
                wanted.entry(driver).or_default().insert(handle);
            }
        }
        if wanted.is_empty() || world.cache::<CSINode>()?.is_empty() {
            return Err(Whole::Skip);
        }
        let mut attached: BTreeMap<String, Vec<(String, Handle)>> = BTreeMap::new();
        for attachment in world.cache::<VolumeAttachment>()?.all() {
            let Some(volume) = attachment.spec.source.persistent_volume_name.as_deref() else { continue };
            let volume = storage::volume(volume, world)?;
            let source = volume.as_ref().and_then(|volume| volume.spec.as_ref()?.csi.as_ref());
            if let Some(source) = source {
                let one = (attachment.spec.attacher.clone(), source.volume_handle.clone());
                attached.entry(attachment.spec.node_name.clone()).or_default().push(one);
            }
        }
        Ok(Box::new(Limited { world, wanted, attached }))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(_) => true,
            Change::PodGone(gone) => !gone.claims.is_empty(),
            Change::Storage { kind: "PersistentVolumeClaim", namespace, name } => {
                pod.key.namespace == *namespace && pod.claims.iter().any(|claim| claim == name)
            }
            Change::Storage { kind, .. } => matches!(*kind, "CSINode" | "VolumeAttachment"),
            _ => false,
        }
    }
}

fn missing(error: Whole, pod: &PodView, claim: &str) -> Whole {
    match error {
        Whole::Reject(rejection) => {
            let reason = format!("looking up PVC {}/{claim}: {}", pod.key.namespace, rejection.reason);
            Whole::Reject(Rejection::lasting(reason))
        }
        other => other,
    }
}

/// The driver of a claim's volume and the volume's name there; one that isn't made yet is known by its claim.
fn handle(claim: &PersistentVolumeClaim, world: &World) -> Result<Option<(String, Handle)>, NotReady> {
    if let Some(volume) = storage::volume_of(claim)
        && let Some(volume) = storage::volume(volume, world)?
    {
        let source = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref());
        return Ok(source.map(|source| (source.driver.clone(), source.volume_handle.clone())));
    }
    let class = storage::class(storage::class_of(claim), world)?;
    Ok(class.map(|class| (class.provisioner.clone(), format!("claim {}", Key::of(claim)))))
}

struct Limited<'a> {
    world: &'a World,
    wanted: ByDriver,
    /// What is attached to a node, with its driver.
    attached: BTreeMap<String, Vec<(String, Handle)>>,
}

impl Limited<'_> {
    fn limits(&self, node: &str) -> BTreeMap<String, i32> {
        let node = self.world.get::<CSINode>(&Key::new("", node)).ok().flatten();
        let drivers = node.iter().flat_map(|node| &node.spec.drivers);
        drivers
            .filter_map(|driver| Some((driver.name.clone(), driver.allocatable.as_ref()?.count?)))
            .collect()
    }

    fn used_on(&self, node: &Node) -> ByDriver {
        let mut used = ByDriver::new();
        for pod in &node.pods {
            for name in storage::claim_names(pod) {
                // A claim that is gone has no volume that counts.
                let Ok(claim) = storage::claim(pod, &name.name, self.world) else { continue };
                if let Ok(Some((driver, handle))) = handle(&claim, self.world) {
                    used.entry(driver).or_default().insert(handle);
                }
            }
        }
        for (driver, handle) in self.attached.get(&*node.name).into_iter().flatten() {
            used.entry(driver.clone()).or_default().insert(handle.clone());
        }
        used
    }
}

impl PreparedFilter for Limited<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        let limits = self.limits(&node.name);
        if !self.wanted.keys().any(|driver| limits.contains_key(driver)) {
            return Ok(());
        }
        let used = self.used_on(node);
        let none = BTreeSet::new();
        for (driver, wanted) in &self.wanted {
            let Some(limit) = limits.get(driver) else { continue };
            let used = used.get(driver).unwrap_or(&none);
            let then = used.union(wanted).count();
            let new = wanted.difference(used).count();
            if new > 0 && i32::try_from(then).is_ok_and(|then| then > *limit) {
                return Err(Rejection::new("node(s) exceed max volume count"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
