//! The kinds that the world can hold, and how each is read and written. What does that is large, and every crate that did it for itself
//! would have it built anew: so it is written down once for each.

use std::fmt;
use std::sync::Arc;

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
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Listeners, Shelf};

/// A kind that the world can hold.
pub trait Watched: Resource<DynamicType = ()> + Clone + fmt::Debug + Send + Sync + 'static {
    /// From the JSON of one object.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error>;

    /// The labels that it is found by. A lean reading may hold them where they weigh less than in a map.
    fn found_by(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meta().labels.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// An empty cache and all that fills it. The macro has it built in the kind's own crate.
    #[doc(hidden)]
    fn shelf(listeners: &Arc<Listeners>) -> Shelf {
        Shelf::of::<Self>(listeners)
    }
}

/// A kind that parts of Kedge write.
pub trait Written: Watched {
    /// As JSON.
    fn write(&self) -> Map<String, Value>;
}

/// Writes an object.
pub fn write<K: Serialize>(object: &K) -> Map<String, Value> {
    match serde_json::to_value(object) {
        Ok(Value::Object(fields)) => fields,
        // The types of Kubernetes' objects are maps with text keys; they can't fail to become one.
        _ => Map::new(),
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

            fn shelf(listeners: &std::sync::Arc<$crate::world::Listeners>) -> $crate::world::Shelf {
                $crate::world::Shelf::of::<Self>(listeners)
            }
        })+
    };
}

/// The same for kinds that are written as well.
#[macro_export]
macro_rules! written {
    ($($kind:ty),+ $(,)?) => {
        $crate::watched!($($kind),+);
        $(impl $crate::Written for $kind {
            fn write(&self) -> $crate::Fields {
                $crate::write(self)
            }
        })+
    };
}

watched!(
    APIService,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    LimitRange,
    NetworkPolicy,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
    VolumeAttachment,
);

written!(
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
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    StorageClass,
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
