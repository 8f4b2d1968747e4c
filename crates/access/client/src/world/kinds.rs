//! The kinds that the world can hold, and how each is read. What reads a kind is large, and every crate that read one for itself would
//! have it built anew: so it is written down once for each.

use std::fmt;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Event, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    ReplicationController, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Resource;

/// A kind that the world can hold.
pub trait Watched: Resource<DynamicType = ()> + Clone + fmt::Debug + Send + Sync + 'static {
    /// From the JSON of one object.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error>;
}

/// Lets the world hold kinds of one's own, in the one crate that they belong to.
#[macro_export]
macro_rules! watched {
    ($($kind:ty),+ $(,)?) => {
        $(impl $crate::Watched for $kind {
            fn read(json: &[u8]) -> Result<Self, $crate::JsonError> {
                $crate::read(json)
            }
        })+
    };
}

watched!(
    APIService,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    CertificateSigningRequest,
    ConfigMap,
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    EndpointSlice,
    Endpoints,
    Event,
    Ingress,
    IngressClass,
    Job,
    Lease,
    Namespace,
    NetworkPolicy,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
);
