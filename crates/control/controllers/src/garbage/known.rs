//! An object of any kind, as far as the collector reads it: by far the most of what there is concerns others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use kube::api::ApiResource;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Known {
    #[serde(deserialize_with = "identity")]
    pub(super) metadata: ObjectMeta,
}

/// Everything else of the metadata is passed over, above all the account of who wrote which field.
fn identity<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Identity {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
        deletion_timestamp: Option<Time>,
        finalizers: Option<Vec<String>>,
        owner_references: Option<Vec<OwnerReference>>,
    }
    let found = Identity::deserialize(from)?;
    Ok(ObjectMeta {
        name: found.name,
        namespace: found.namespace,
        uid: found.uid,
        resource_version: found.resource_version,
        deletion_timestamp: found.deletion_timestamp,
        finalizers: found.finalizers,
        owner_references: found.owner_references,
        ..ObjectMeta::default()
    })
}

impl Resource for Known {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
