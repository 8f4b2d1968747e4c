//! VolumeRestrictions: disks that only one pod, or one node, can write to; claims that are for one pod at a time.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Volume;
use kedge_engine::Key;

use super::storage;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;

pub struct VolumeRestrictions;

impl Filter for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let mut exclusive = BTreeSet::new();
        for name in storage::claim_names(pod).filter(|name| !name.own) {
            let claim = storage::claim(pod, &name.name, &cluster.world)?;
            let modes = claim.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
            if modes.iter().any(|mode| mode == "ReadWriteOncePod") {
                exclusive.insert(name.name);
            }
        }
        let key = |claim: &String| Key::new(pod.key.namespace.clone(), claim.clone());
        let users = exclusive.iter().filter(|claim| !cluster.users_of(&key(claim)).is_empty()).count();
        let disks: Vec<_> = pod.volumes.iter().filter(|volume| is_disk(volume)).collect();
        if users == 0 && disks.is_empty() && exclusive.is_empty() {
            return Err(Whole::Skip);
        }
        Ok(Box::new(Exclusive {
            pod,
            disks,
            claims: exclusive,
            users: i64::try_from(users).unwrap_or(i64::MAX),
        }))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(_) => true,
            Change::PodGone(gone) => {
                let disks =
                    || pod.volumes.iter().any(|volume| gone.volumes.iter().any(|other| clash(volume, other)));
                gone.key.namespace == pod.key.namespace
                    && (pod.claims.iter().any(|claim| gone.claims.contains(claim)) || disks())
            }
            Change::Storage { kind: "PersistentVolumeClaim", namespace, name } => {
                pod.key.namespace == *namespace && pod.claims.iter().any(|claim| claim == name)
            }
            _ => false,
        }
    }
}

struct Exclusive<'a> {
    pod: &'a PodView,
    disks: Vec<&'a Volume>,
    /// Those that are for one pod at a time.
    claims: BTreeSet<String>,
    /// How many of them are in use, wherever.
    users: i64,
}

impl Exclusive<'_> {
    fn uses(&self, other: &PodView) -> i64 {
        if other.key.namespace != self.pod.key.namespace {
            return 0;
        }
        other.claims.iter().filter(|claim| self.claims.contains(*claim)).fold(0, |sum, _| sum + 1)
    }
}

impl PreparedFilter for Exclusive<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        let volumes = || node.pods.iter().flat_map(|pod| &pod.volumes);
        if self.disks.iter().any(|disk| volumes().any(|other| clash(disk, other))) {
            return Err(Rejection::new("node(s) had no available disk"));
        }
        if self.users > 0 {
            return Err(Rejection::new(
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
            ));
        }
        Ok(())
    }

    fn add(&mut self, pod: &PodView, _: &Node) {
        self.users += self.uses(pod);
    }

    fn remove(&mut self, pod: &PodView, _: &Node) {
        self.users -= self.uses(pod);
    }
}

fn is_disk(volume: &Volume) -> bool {
    volume.gce_persistent_disk.is_some()
        || volume.aws_elastic_block_store.is_some()
        || volume.iscsi.is_some()
        || volume.rbd.is_some()
}

/// The same disk, unless both only read it. One kind of disk can't even be read twice.
fn clash(one: &Volume, other: &Volume) -> bool {
    let writes = |one: Option<bool>, other: Option<bool>| one != Some(true) || other != Some(true);
    if let (Some(one), Some(other)) = (&one.gce_persistent_disk, &other.gce_persistent_disk) {
        return one.pd_name == other.pd_name && writes(one.read_only, other.read_only);
    }
    if let (Some(one), Some(other)) = (&one.aws_elastic_block_store, &other.aws_elastic_block_store) {
        return one.volume_id == other.volume_id;
    }
    if let (Some(one), Some(other)) = (&one.iscsi, &other.iscsi) {
        return one.iqn == other.iqn && writes(one.read_only, other.read_only);
    }
    if let (Some(one), Some(other)) = (&one.rbd, &other.rbd) {
        let pool = |pool: &Option<String>| {
            pool.clone().filter(|pool| !pool.is_empty()).unwrap_or_else(|| "rbd".to_owned())
        };
        return one.monitors.iter().any(|monitor| other.monitors.contains(monitor))
            && one.image == other.image
            && pool(&one.pool) == pool(&other.pool)
            && writes(one.read_only, other.read_only);
    }
    false
}

#[cfg(test)]
mod tests;
