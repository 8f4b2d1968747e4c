//! Makes an object what it says, whether or not there is one: server-side apply. For the objects that a part of Kedge needs to have.

use futures::future::BoxFuture;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

const MANAGER: &str = "kedge";

/// Takes fields from whoever else has them.
pub fn apply(client: &Client, object: Value) -> BoxFuture<'_, Result<(), kube::Error>> {
    Box::pin(send(client, object))
}

async fn send(client: &Client, object: Value) -> Result<(), kube::Error> {
    let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    let types = object.types.clone().unwrap_or_default();
    let kind =
        GroupVersionKind::try_from(&types).unwrap_or_else(|_| GroupVersionKind::gvk("", "", &types.kind));
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.clone().unwrap_or_default();
    api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object)).await.map(drop)
}
