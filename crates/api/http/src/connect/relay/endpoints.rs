//! Which pod answers for a Service: one that its EndpointSlices call ready, and that still has that address. Sends nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use kedge_kinds::{Reason, Status};
use kedge_store::Snapshot;
use serde_json::Value;

use super::Named;
use crate::api::Api;
use crate::call::Call;
use crate::connect::object;

/// Address and port of one, each in turn.
pub(super) async fn chosen(api: &Api, call: &Call, named: &Named<'_>) -> Result<(String, u16), Status> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let service = object(api, call, named.name).await?;
    let port = port_name(&service, named)?;
    let namespace = call.at.namespace.as_deref().unwrap_or_default();
    let snapshot = api.registry().store().snapshot();
    let Known { any, ready } = known(&snapshot, namespace, named.name, port);
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % ready.len().max(1);
    ready.into_iter().nth(turn).ok_or_else(|| {
        // Where there are some, but none that would do, upstream tells the question and not the Service's name.
        let asked = call.at.name.as_deref().filter(|_| any).unwrap_or(named.name);
        unavailable(format!("no endpoints available for service {asked:?}"))
    })
}

fn unavailable(message: String) -> Status {
    Status::new(503, Reason::ServiceUnavailable, message)
}

/// A number means the port of that number, whatever it is called; anything else is a name.
fn port_name<'v>(service: &'v Value, named: &'v Named<'_>) -> Result<&'v str, Status> {
    let Ok(number) = named.port.parse::<u64>() else { return Ok(named.port) };
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let found = ports.into_iter().find(|port| port["port"].as_u64() == Some(number));
    let found = found.map(|port| port["name"].as_str().unwrap_or_default());
    found.ok_or_else(|| unavailable(format!("no service port {number} found for service {:?}", named.name)))
}

/// A Service's endpoints.
#[derive(Default)]
struct Known {
    any: bool,
    /// Only those that are a pod's: an address that somebody wrote by hand could be anybody's, and those of the Service `kubernetes`
    /// are our own.
    ready: Vec<(String, u16)>,
}

fn known(snapshot: &Snapshot, namespace: &str, service: &str, port: &str) -> Known {
    let mut known = Known::default();
    for (_, entry) in snapshot.range(&format!("/registry/endpointslices/{namespace}/"), None) {
        let Ok(slice) = serde_json::from_slice::<Value>(entry.bytes()) else { continue };
        if slice["metadata"]["labels"]["kubernetes.io/service-name"] != service {
            continue;
        }
        let endpoints = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        known.any |= !endpoints.is_empty();
        let ports = slice["ports"].as_array().into_iter().flatten();
        let number = ports
            .filter(|one| one["name"].as_str().unwrap_or_default() == port)
            .find_map(|one| u16::try_from(one["port"].as_u64()?).ok());
        let Some(number) = number else { continue };
        for endpoint in endpoints {
            let address = endpoint["addresses"].as_array().and_then(|all| all.first()?.as_str());
            let ready = endpoint["conditions"]["ready"].as_bool().unwrap_or(true);
            if let Some(address) =
                address.filter(|address| ready && has(snapshot, namespace, endpoint, address))
            {
                known.ready.push((address.to_owned(), number));
            }
        }
    }
    known
}

/// Whether it is a pod of the namespace that has this address.
fn has(snapshot: &Snapshot, namespace: &str, endpoint: &Value, address: &str) -> bool {
    let target = &endpoint["targetRef"];
    if target["kind"] != "Pod" || target["namespace"] != namespace {
        return false;
    }
    let name = target["name"].as_str().unwrap_or_default();
    let Some(entry) = snapshot.get(&format!("/registry/pods/{namespace}/{name}")) else { return false };
    let pod: Value = serde_json::from_slice(entry.bytes()).unwrap_or_default();
    let own = pod["status"]["podIPs"].as_array().into_iter().flatten();
    own.into_iter().any(|one| one["ip"] == address)
}

#[cfg(test)]
mod tests;
