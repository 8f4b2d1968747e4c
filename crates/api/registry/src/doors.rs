//! Where a Service can be reached, by what is stored of it and its endpoints. Dials nothing itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use kedge_reach::{Door, Resolve, ResolveError};
use kedge_store::{Entry, Snapshot, Store};
use serde_json::Value;

use crate::object;

/// Finds Services in the store, as it is at each moment.
pub struct Doors {
    store: Store,
    turn: AtomicUsize,
}

impl Doors {
    pub fn new(store: Store) -> Self {
        Self { store, turn: AtomicUsize::new(0) }
    }
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doors")
    }
}

impl Resolve for Doors {
    fn resolve(&self, namespace: &str, service: &str, port: u16) -> Result<Door, ResolveError> {
        let snapshot = self.store.snapshot();
        let missing = || ResolveError::Missing { name: service.to_owned() };
        let stored = snapshot.get(&format!("/registry/services/{namespace}/{service}")).and_then(parsed);
        let found = stored.ok_or_else(missing)?;
        if object::text(&found, &["spec", "type"]) == "ExternalName" {
            return Ok(Door::Host(object::text(&found, &["spec", "externalName"]).to_owned(), port));
        }
        let ports = object::at(&found, &["spec", "ports"]).and_then(Value::as_array);
        let wanted = ports.into_iter().flatten().find(|one| number(one) == Some(port));
        let wanted = wanted.ok_or_else(|| ResolveError::Port { name: service.to_owned(), port })?;
        let ready = endpoints(&snapshot, namespace, service, object::text(wanted, &["name"]));
        match ready {
            Some(ready) if ready.is_empty() => Err(ResolveError::Endpoints { name: service.to_owned() }),
            Some(ready) => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed) % ready.len();
                ready.get(turn).copied().map(Door::Address).ok_or_else(missing)
            }
            // Nobody keeps the endpoints of this one: whoever routes its address knows them.
            None => match object::text(&found, &["spec", "clusterIP"]).parse::<IpAddr>() {
                Ok(address) => Ok(Door::Address(SocketAddr::new(address, port))),
                Err(_) => Err(ResolveError::Endpoints { name: service.to_owned() }),
            },
        }
    }
}

/// What is ready behind a named port; `None` if nothing was ever said about it.
fn endpoints(snapshot: &Snapshot, namespace: &str, service: &str, port: &str) -> Option<Vec<SocketAddr>> {
    let prefix = format!("/registry/endpointslices/{namespace}/");
    let slices = snapshot.range(&prefix, None);
    // Looked for in the bytes first: a namespace may have many slices, and few of them are this Service's.
    let label = format!("\"kubernetes.io/service-name\":{}", Value::from(service));
    let ours = slices.filter(|(_, entry)| contains(entry.bytes(), label.as_bytes()));
    let ours: Vec<Value> = ours
        .filter_map(|(_, entry)| parsed(entry))
        .filter(|slice| {
            let labels = object::meta(slice, "labels");
            labels.and_then(|labels| labels.get("kubernetes.io/service-name")?.as_str()) == Some(service)
        })
        .collect();
    if !ours.is_empty() {
        return Some(ours.iter().flat_map(|slice| ready_in_slice(slice, port)).collect());
    }
    let whole = snapshot.get(&format!("/registry/endpoints/{namespace}/{service}")).and_then(parsed)?;
    let subsets = whole.get("subsets").and_then(Value::as_array);
    Some(subsets.into_iter().flatten().flat_map(|subset| ready_in_subset(subset, port)).collect())
}

fn ready_in_slice(slice: &Value, port: &str) -> Vec<SocketAddr> {
    let Some(number) = port_named(slice, port) else { return Vec::new() };
    let ready = |endpoint: &&Value| {
        // Unknown counts as ready.
        object::at(endpoint, &["conditions", "ready"]).and_then(Value::as_bool).unwrap_or(true)
    };
    let all = slice.get("endpoints").and_then(Value::as_array).into_iter().flatten();
    let addresses = all.filter(ready).filter_map(|endpoint| endpoint.get("addresses")?.get(0)?.as_str());
    addresses.filter_map(|address| Some(SocketAddr::new(address.parse().ok()?, number))).collect()
}

fn ready_in_subset(subset: &Value, port: &str) -> Vec<SocketAddr> {
    let Some(number) = port_named(subset, port) else { return Vec::new() };
    let all = subset.get("addresses").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| Some(SocketAddr::new(object::text(one, &["ip"]).parse().ok()?, number))).collect()
}

fn port_named(holder: &Value, name: &str) -> Option<u16> {
    let ports = holder.get("ports")?.as_array()?;
    number(ports.iter().find(|port| object::text(port, &["name"]) == name)?)
}

fn number(port: &Value) -> Option<u16> {
    port.get("port")?.as_u64().and_then(|port| u16::try_from(port).ok())
}

fn parsed(entry: &Entry) -> Option<Value> {
    serde_json::from_slice(entry.bytes()).ok()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests;
