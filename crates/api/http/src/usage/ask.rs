//! Asks nodes what they use, all at once, and remembers for a moment what they said: many ask together, and one answer does for all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use super::reading::Reading;
use crate::api::Api;

/// How long what a node said is told on.
const FRESH: Duration = Duration::from_secs(1);
/// A node that takes longer has nothing to say.
const PATIENCE: Duration = Duration::from_secs(5);
const PLACE: &str = "/stats/summary?only_cpu_and_memory=true";

/// What a node last said and when it was asked; nothing, if it didn't answer.
type Last = Option<(Timestamp, Option<Arc<Reading>>)>;

/// What nodes said, by their names.
#[derive(Default)]
pub(crate) struct Readings(Mutex<HashMap<String, Arc<tokio::sync::Mutex<Last>>>>);

impl Readings {
    /// Of each of these that answers.
    pub(super) async fn of(&self, api: &Api, nodes: BTreeSet<String>) -> HashMap<String, Arc<Reading>> {
        let asked = nodes.into_iter().filter_map(|name| {
            let node = stored(api, &name).filter(is_heard_of)?;
            Some(async move { Some((name.clone(), self.one(api, name, &node).await?)) })
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    async fn one(&self, api: &Api, name: String, node: &Value) -> Option<Arc<Reading>> {
        let last = self.0.lock().entry(name).or_default().clone();
        // Whoever asks meanwhile waits here, and finds the answer.
        let mut last = last.lock().await;
        let now = api.clock().now();
        if let Some((at, reading)) = &*last
            && now.duration_since(*at).unsigned_abs() < FRESH
        {
            return reading.clone();
        }
        let reading = ask(api, node, now).await.map(Arc::new);
        *last = Some((now, reading.clone()));
        reading
    }
}

async fn ask(api: &Api, node: &Value, now: Timestamp) -> Option<Reading> {
    let connections = api.connections();
    let target = connections.nodes.target(node, false, now).ok()?;
    let mut request = Request::new(Full::default());
    *request.uri_mut() = http::Uri::from_static(PLACE);
    match connections.reach.send(&target, request, PATIENCE).await {
        Ok(response) if response.status().is_success() => Reading::read(response.body()),
        Ok(response) => {
            tracing::debug!(code = response.status().as_u16(), "a node doesn't say what it uses");
            None
        }
        Err(error) => {
            tracing::debug!(%error, "a node cannot be asked what it uses");
            None
        }
    }
}

fn stored(api: &Api, name: &str) -> Option<Value> {
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", "nodes")?;
    let snapshot = api.registry().store().snapshot();
    serde_json::from_slice(snapshot.get(&format!("/registry/{}/{name}", kind.prefix))?.bytes()).ok()
}

/// Asking one of which nobody has heard for a while would only keep everybody waiting.
fn is_heard_of(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|one| one["type"] == "Ready").is_none_or(|ready| ready["status"] != "Unknown")
}
