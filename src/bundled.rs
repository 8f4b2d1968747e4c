//! The kinds that Kedge brings itself: definitions that a server gives to its own API at each start, as any client would.
//! Each crate has its own; here they are gathered.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kedge_client::{Client, apply};
use kedge_clock::Clock;
use kube::Api;
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
            let told = crate::told(&error);
            tracing::warn!(
                "a kind of ours is not served yet: {}",
                told.trim_start_matches("kedge: ").trim_end()
            );
            clock.sleep(RETRY).await;
        }
    }
}

async fn give_one(client: &Client, clock: &Clock, manifest: &str) -> Result<(), BundleError> {
    let object: Value = serde_saphyr::from_str(manifest).map_err(Box::new)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    apply(client, object).await.map_err(Box::new)?;
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    loop {
        let definition = definitions.get(&name).await.map_err(Box::new)?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True") {
            return Ok(());
        }
        clock.sleep(SOON).await;
    }
}
