//! Whether an APIService's server answers: the condition `Available`, in Kubernetes' words. Pure but for the question that
//! is put to the server itself.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use kedge_registry::User;
use kedge_store::Snapshot;
use serde_json::{Value, json};

use super::proxy::identity;
use super::{Aggregation, Remote};

const TIMEOUT: Duration = Duration::from_secs(5);

/// What is true of an APIService now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) available: bool,
    reason: &'static str,
    message: String,
}

impl Finding {
    pub(super) fn local() -> Self {
        let message = "Local APIServices are always available".to_owned();
        Self { available: true, reason: "Local", message }
    }

    fn passed() -> Self {
        Self { available: true, reason: "Passed", message: "all checks passed".to_owned() }
    }

    fn not(reason: &'static str, message: String) -> Self {
        Self { available: false, reason, message }
    }

    /// Writes it into a status; false if that says so already.
    pub(super) fn put(&self, object: &mut Value, now: Timestamp) -> bool {
        let status = if self.available { "True" } else { "False" };
        let old = condition(object).cloned();
        let same =
            |field: &str, value: &str| old.as_ref().and_then(|old| old.get(field)?.as_str()) == Some(value);
        let since = match (&old, same("status", status)) {
            (Some(old), true) => old["lastTransitionTime"].clone(),
            _ => now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
        };
        if same("status", status) && same("reason", self.reason) && same("message", &self.message) {
            return false;
        }
        let said = json!({
            "type": "Available", "status": status, "reason": self.reason, "message": self.message,
            "lastTransitionTime": since,
        });
        let mut all: Vec<Value> = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.retain(|one| one["type"] != "Available");
        all.push(said);
        object["status"] = json!({"conditions": all});
        true
    }
}

fn condition(object: &Value) -> Option<&Value> {
    let all = object.get("status")?.get("conditions")?.as_array()?;
    all.iter().find(|one| one.get("type").and_then(Value::as_str) == Some("Available"))
}

pub(super) fn is_available(object: &Value) -> bool {
    condition(object).is_some_and(|found| found.get("status").and_then(Value::as_str) == Some("True"))
}

/// What the stored objects say against a server; `None` if nothing does.
pub(super) fn stored(snapshot: &Snapshot, remote: &Remote) -> Option<Finding> {
    let Remote { namespace, service: name, port, .. } = remote;
    let place = format!("service/{name} in {namespace:?}");
    let Some(service) = parsed(snapshot, &format!("/registry/services/{namespace}/{name}")) else {
        return Some(Finding::not("ServiceNotFound", format!("{place} is not present")));
    };
    let kind = service["spec"]["type"].as_str().unwrap_or("ClusterIP");
    if kind != "ClusterIP" {
        return None;
    }
    let ports = service["spec"]["ports"].as_array();
    let found = ports.into_iter().flatten().find(|one| one["port"].as_u64() == Some(u64::from(*port)));
    let Some(found) = found else {
        let message = format!("{place} is not listening on port {port}");
        return Some(Finding::not("ServicePortError", message));
    };
    let wanted = found["name"].as_str().unwrap_or_default();
    let prefix = format!("/registry/endpointslices/{namespace}/");
    let slices = snapshot.range(&prefix, None).filter_map(|(_, entry)| {
        let slice: Value = serde_json::from_slice(entry.bytes()).ok()?;
        let of = slice["metadata"]["labels"]["kubernetes.io/service-name"].as_str() == Some(name.as_str());
        of.then_some(slice)
    });
    let slices: Vec<Value> = slices.collect();
    if slices.is_empty() {
        // Endpoints of the old kind serve as well.
        if parsed(snapshot, &format!("/registry/endpoints/{namespace}/{name}")).is_some() {
            return None;
        }
        return Some(Finding::not("EndpointsNotFound", format!("cannot find endpointslices for {place}")));
    }
    let ready = |slice: &Value| {
        let endpoints = slice["endpoints"].as_array();
        let ports = slice["ports"].as_array();
        endpoints.into_iter().flatten().any(|one| one["conditions"]["ready"].as_bool().unwrap_or(true))
            && ports.into_iter().flatten().any(|one| one["name"].as_str().unwrap_or_default() == wanted)
    };
    if slices.iter().any(ready) {
        return None;
    }
    let message = format!("endpointslices for {place} have no addresses with port name {wanted:?}");
    Some(Finding::not("MissingEndpoints", message))
}

fn parsed(snapshot: &Snapshot, key: &str) -> Option<Value> {
    serde_json::from_slice(snapshot.get(key)?.bytes()).ok()
}

/// Asks the server for what every extension server must have.
pub(super) async fn asked(aggregation: &Aggregation, remote: &Remote, now: Timestamp) -> Finding {
    let path = format!("/apis/{}/{}", remote.group, remote.version);
    let at = format!("https://{}.{}.svc:{}{path}", remote.service, remote.namespace, remote.port);
    match get(aggregation, remote, &path, "application/json, */*", now).await {
        Ok(response) if response.status().is_success() => Finding::passed(),
        Ok(response) => {
            let code = response.status().as_u16();
            let why = format!("failing or missing response from {at}: bad status from {at}: {code}");
            Finding::not("FailedDiscoveryCheck", why)
        }
        Err(error) => {
            Finding::not("FailedDiscoveryCheck", format!("failing or missing response from {at}: {error}"))
        }
    }
}

/// A question of our own to an extension server.
pub(super) async fn get(
    aggregation: &Aggregation,
    remote: &Remote,
    path: &str,
    accept: &str,
    now: Timestamp,
) -> Result<http::Response<Bytes>, kedge_reach::ReachError> {
    let ourselves = User {
        name: "system:kube-aggregator".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..User::default()
    };
    let mut request = Request::new(Full::default());
    // A path that can't be one leads to the root, which answers something else than what is looked for.
    *request.uri_mut() = path.parse().unwrap_or_default();
    for (name, value) in identity(&ourselves)
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain([("accept", accept)])
    {
        if let (Ok(name), Ok(value)) = (name.parse::<http::HeaderName>(), value.parse::<http::HeaderValue>())
        {
            request.headers_mut().append(name, value);
        }
    }
    aggregation.reach.send(&aggregation.target(remote, now), request, TIMEOUT).await
}
