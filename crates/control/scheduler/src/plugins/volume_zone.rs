//! VolumeZone: a volume that is labelled with zones can be used from nodes of these zones.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PersistentVolume;

use super::storage;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const LABELS: [&str; 4] = [OLD_ZONE, OLD_REGION, ZONE, REGION];

pub struct VolumeZone;

impl Filter for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let reject = |reason: &'static str| Err(Whole::Reject(Rejection::lasting(reason)));
        let mut allowed = Vec::new();
        for name in storage::claim_names(pod).filter(|name| !name.own) {
            let claim = storage::claim(pod, &name.name, &cluster.world)?;
            let Some(volume) = storage::volume_of(&claim) else {
                let class = storage::class_of(&claim);
                if class.is_empty() {
                    return reject("PersistentVolumeClaim had no pv name and storageClass name");
                }
                match storage::class(class, &cluster.world)? {
                    Some(class) if storage::waits_for_consumer(&class) => continue,
                    Some(_) => return reject("PersistentVolume had no name"),
                    None => return Err(not_found("storageclass.storage.k8s.io", class)),
                }
            };
            match storage::volume(volume, &cluster.world)? {
                Some(volume) => allowed.extend(zones(&volume)),
                None => return Err(not_found("persistentvolume", volume)),
            }
        }
        if allowed.is_empty() { Err(Whole::Skip) } else { Ok(Box::new(Allowed(allowed))) }
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(_) => true,
            Change::NodeChanged { before, now } => before.labels != now.labels,
            Change::Storage { kind: "PersistentVolumeClaim", namespace, name } => {
                pod.key.namespace == *namespace && pod.claims.iter().any(|claim| claim == name)
            }
            Change::Storage { kind, .. } => matches!(*kind, "PersistentVolume" | "StorageClass"),
            _ => false,
        }
    }
}

fn not_found(kind: &str, name: &str) -> Whole {
    Whole::Reject(Rejection::lasting(format!("{kind} \"{name}\" not found")))
}

/// Values of a label that a node may have.
type Zones = (&'static str, BTreeSet<String>);

/// A label names one zone or several: `a__b`.
fn zones(volume: &PersistentVolume) -> impl Iterator<Item = Zones> + '_ {
    let label = |key: &'static str| {
        let value = volume.metadata.labels.as_ref()?.get(key)?;
        let zones: BTreeSet<String> = value.split("__").map(|zone| zone.trim().to_owned()).collect();
        // A label that names an empty zone can't be meant.
        (!zones.contains("")).then_some((key, zones))
    };
    LABELS.into_iter().filter_map(label)
}

struct Allowed(Vec<Zones>);

impl PreparedFilter for Allowed {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        // A node that knows of no zone is in a cluster without zones.
        if !LABELS.iter().any(|label| node.labels.contains_key(*label)) {
            return Ok(());
        }
        let now = |label: &'static str| match label {
            OLD_ZONE => ZONE,
            OLD_REGION => REGION,
            label => label,
        };
        let value = |label| node.labels.get(label).or_else(|| node.labels.get(now(label)));
        let fits = self.0.iter().all(|(label, zones)| value(*label).is_some_and(|zone| zones.contains(zone)));
        if fits { Ok(()) } else { Err(Rejection::lasting("node(s) had no available volume zone")) }
    }
}

#[cfg(test)]
mod tests;
