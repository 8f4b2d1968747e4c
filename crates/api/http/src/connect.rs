//! What only a node or a pod can answer: logs, exec, attach, port-forward, proxies. Says where each leads and hands it on; what is
//! spoken there is theirs.

mod admit;
mod container;
mod log;
mod nodes;
mod relay;
mod stream;

use std::sync::Arc;

use kedge_kinds::{Reason, Status};
use kedge_reach::{Reach, ReachError};
use kedge_registry::{At, Doors};
use kedge_store::Store;
use serde_json::Value;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::{Call, Verb};
use crate::proxy::Asking;
use crate::router::Incoming;
use crate::verbs;

pub use nodes::NodeClient;
pub(crate) use nodes::Nodes;

/// Our way to nodes and pods.
pub(crate) struct Connections {
    pub(crate) reach: Reach,
    pub(crate) nodes: Nodes,
}

impl Connections {
    pub(crate) fn new(store: &Store, client: Option<Arc<NodeClient>>) -> Self {
        Self { reach: Reach::new(Arc::new(Doors::new(store.clone()))), nodes: Nodes::new(client) }
    }
}

/// Subresources that are a connection rather than an object.
pub(crate) fn is_connection(subresource: &str) -> bool {
    matches!(subresource, "log" | "exec" | "attach" | "portforward" | "proxy")
}

pub(crate) async fn answer(
    api: &Arc<Api>,
    call: &Call,
    asking: Asking<'_>,
    body: Incoming,
) -> Result<Answer, Status> {
    let subresource = call.at.subresource.as_deref().unwrap_or_default();
    let served = match subresource {
        "log" => call.verb == Verb::Get,
        "proxy" => true,
        _ => matches!(call.verb, Verb::Get | Verb::Create),
    };
    if !served {
        return Err(verbs::method_not_allowed());
    }
    if subresource == "log" {
        return log::answer(api, call, asking).await;
    }
    if call.query.get("dryRun").is_some() {
        return Err(Status::bad_request("dryRun is not supported"));
    }
    let path = (subresource == "proxy").then(|| relay::path(asking.parts.uri.path(), call));
    admit::admit(api, call, path).await?;
    match path {
        Some(path) => relay::answer(api, call, path, asking, body).await,
        None => stream::answer(api, call, asking).await,
    }
}

/// An object that a connection is about, by another name than the request's if need be.
async fn object(api: &Api, call: &Call, name: &str) -> Result<Value, Status> {
    let at = At { subresource: None, name: Some(name.into()), ..call.at.clone() };
    let found = api.registry().get(&at, "").await?;
    serde_json::from_slice(found.served.as_ref())
        .map_err(|error| Status::internal(format!("a stored object can't be read: {error}")))
}

/// A failure that has no reason of its own: clients show its message as it is.
fn unexplained(message: impl Into<String>) -> Status {
    Status::new(500, Reason::Unknown, message)
}

fn cannot_dial(error: &ReachError) -> Status {
    unexplained(format!("error dialing backend: {}", error.cause))
}

#[cfg(test)]
pub(crate) mod tests;
