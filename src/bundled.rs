//! The kinds that Kedge brings itself: definitions that a server gives to its own API at each start, as any client would.
//! Each crate has its own; here they are gathered.

use std::time::Duration;

use kedge_client::{Client, apply};
use kedge_clock::Clock;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

const MANIFESTS: &[&[&str]] = &[kedge_gateway::MANIFESTS];

const SOON: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
enum BundleError {
    #[error("a definition of ours cannot be read")]
    Read(#[from] Box<serde_saphyr::Error>),
    #[error("the API does not take it")]
    Apply(#[from] Box<kube::Error>),
}

/// Returns once all of them are served.
pub(crate) async fn give(client: &Client, clock: &Clock) {
    let all: Vec<&'static str> = MANIFESTS.iter().flat_map(|crates| crates.iter().copied()).collect();
    for manifest in all {
        while let Err(error) = give_one(client, clock, manifest).await {
            tracing::warn!("a kind of ours is not served yet: {}", crate::told(&error));
            clock.sleep(RETRY).await;
        }
    }
}

async fn give_one(client: &Client, clock: &Clock, manifest: &str) -> Result<(), BundleError> {
    let object: Value = serde_saphyr::from_str(manifest).map_err(Box::new)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    apply(client, object).await.map_err(Box::new)?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    loop {
        let definition = definitions.get(&name).await.map_err(Box::new)?;
        let conditions = definition.data.pointer("/status/conditions").and_then(Value::as_array);
        if conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
        {
            return Ok(());
        }
        clock.sleep(SOON).await;
    }
}
