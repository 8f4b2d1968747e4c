//! Every kind that controllers watch, and how its stored objects get into a world.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    ReplicationController, ResourceQuota, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_autoscale::Autoscaler;
use kedge_client::world::Watched;
use kedge_client::{Revision, World};
use kedge_engine::Resource;
use serde::Deserialize;

pub(crate) struct Kind {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespaced: bool,
    pub(crate) read: fn(&World, &[&[u8]], Revision),
    pub(crate) saw: fn(&World, &[u8]),
    pub(crate) lost: fn(&World, &[u8]),
}

/// What every stored object says of itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: ObjectMeta,
}

impl Head {
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

impl Kind {
    pub(crate) fn is(&self, head: &Head) -> bool {
        self.resource.kind == head.kind && self.resource.api_version() == head.api_version
    }
}

fn kind<K: Watched>(namespaced: bool) -> Kind {
    Kind {
        resource: Arc::new(Resource::of::<K>()),
        namespaced,
        read: |world, objects, revision| {
            let objects = objects.iter().map(|bytes| parsed::<K>(bytes)).collect();
            world.feed::<K>().replace(objects, revision);
        },
        saw: |world, bytes| world.feed::<K>().put(parsed(bytes)),
        lost: |world, bytes| world.feed::<K>().remove(parsed(bytes)),
    }
}

pub(crate) fn parsed<K: Watched>(bytes: &[u8]) -> K {
    K::read(bytes).unwrap_or_else(|error| {
        panic!("a stored {} cannot be read: {error}\n{}", K::kind(&()), String::from_utf8_lossy(bytes))
    })
}

pub(crate) fn all() -> Vec<Kind> {
    vec![
        kind::<Pod>(true),
        kind::<Node>(false),
        kind::<Namespace>(false),
        kind::<ConfigMap>(true),
        kind::<Secret>(true),
        kind::<ServiceAccount>(true),
        kind::<Service>(true),
        kind::<Endpoints>(true),
        kind::<EndpointSlice>(true),
        kind::<ReplicationController>(true),
        kind::<ResourceQuota>(true),
        kind::<LimitRange>(true),
        kind::<PersistentVolume>(false),
        kind::<PersistentVolumeClaim>(true),
        kind::<Deployment>(true),
        kind::<ReplicaSet>(true),
        kind::<StatefulSet>(true),
        kind::<DaemonSet>(true),
        kind::<ControllerRevision>(true),
        kind::<Job>(true),
        kind::<CronJob>(true),
        kind::<Autoscaler>(true),
        kind::<Lease>(true),
        kind::<PodDisruptionBudget>(true),
        kind::<PriorityClass>(false),
        kind::<StorageClass>(false),
        kind::<CSIDriver>(false),
        kind::<CSINode>(false),
        kind::<CSIStorageCapacity>(true),
        kind::<VolumeAttachment>(false),
    ]
}
