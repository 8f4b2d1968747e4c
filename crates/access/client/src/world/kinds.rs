//! The kinds that the world can hold, and how each is read. What reads a kind is large, and every crate that read one for itself would
//! have it built anew: so it is written down once for each.

use std::fmt;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    ReplicationController, ResourceQuota, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind that the world can hold.
pub trait Watched: Resource<DynamicType = ()> + Clone + fmt::Debug + Send + Sync + 'static {
    /// From the JSON of one object.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error>;

    /// The labels that it is found by. A lean reading may hold them where they weigh less than in a map.
    fn found_by(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meta().labels.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Reads an object. Go's clients write null for the time of a condition that they don't know, where the kinds want one.
pub fn read<K: DeserializeOwned>(json: &[u8]) -> Result<K, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match with_times(json) {
        Some(json) => serde_json::from_slice(&json),
        None => Err(error),
    })
}

/// The same with the oldest time in the place of times that are null, if it is JSON and there are any.
fn with_times(json: &[u8]) -> Option<Vec<u8>> {
    const TIME: &str = "lastTransitionTime";
    const OLDEST: &str = "1970-01-01T00:00:00Z";
    fn fill(value: &mut Value) -> bool {
        let mut found = false;
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if name == TIME && member.is_null() {
                        *member = OLDEST.into();
                        found = true;
                    } else {
                        found |= fill(member);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| found |= fill(item)),
            _ => {}
        }
        found
    }
    let mut value = serde_json::from_slice(json).ok()?;
    if fill(&mut value) { serde_json::to_vec(&value).ok() } else { None }
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
    LimitRange,
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
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_nobody_knows_is_no_reason_not_to_read() {
        let service = |time: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"s"}},"status":{{"conditions":[{{"type":"T","status":"True","reason":"","message":"","lastTransitionTime":{time}}}]}}}}"#
            );
            Service::read(json.as_bytes())
        };
        for (time, is_read) in [("null", true), (r#""2026-01-01T00:00:00Z""#, true), ("7", false)] {
            let read = service(time).map(|service| service.status.unwrap().conditions.unwrap().len());
            assert_eq!(read.ok(), is_read.then_some(1), "{time}");
        }
        assert!(Service::read(b"{").is_err());
    }
}
