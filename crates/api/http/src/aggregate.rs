//! Parts of the API that other servers answer for: an APIService says which version of which group goes where. Finds the
//! server for a path; forwarding, checking and merging are beside it.

mod available;
mod discovery;
mod front_proxy;
mod local;
mod proxy;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kedge_reach::{Place, Reach, Target};
use kedge_registry::Doors;
use kedge_store::Store;
use parking_lot::RwLock;
use serde_json::Value;

use crate::api::Api;
use crate::follower::{Follower, Follows};

pub(crate) use discovery::{Listing, merged};
pub use front_proxy::FrontProxy;
pub(crate) use proxy::forward;
pub(crate) use upkeep::tend;

const PREFIX: &str = "/registry/apiservices/";

/// All extension servers.
pub(crate) struct Aggregation {
    services: Follower<Services>,
    reach: Reach,
    front_proxy: Option<Arc<FrontProxy>>,
    /// What they say they serve, by the name of the APIService.
    offers: RwLock<BTreeMap<Arc<str>, Offer>>,
}

/// The server that answers for a document about a version of a group: its resources, its schema.
pub(crate) fn answers(api: &Api, path: &str) -> Option<Arc<Remote>> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["apis", group, version] | ["openapi", "v3", "apis", group, version] => {
            api.aggregation().remote(group, version)
        }
        _ => None,
    }
}

/// What one version of a group offers, as the aggregated discovery document shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    version: Value,
    /// Where its OpenAPI v3 schema lies at the extension server, if it has one.
    schema: Option<String>,
}

#[derive(Debug, Default)]
struct Services(BTreeMap<Arc<str>, Arc<Remote>>);

/// One version of a group that another server answers for.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) service: String,
    pub(crate) port: u16,
    ca_bundle: Option<Bytes>,
    insecure: bool,
    group_priority: i64,
    version_priority: i64,
    available: bool,
}

impl Aggregation {
    pub(crate) fn new(store: &Store, front_proxy: Option<Arc<FrontProxy>>) -> Self {
        Self {
            services: Follower::new(store.clone(), &[PREFIX]),
            reach: Reach::new(Arc::new(Doors::new(store.clone()))),
            front_proxy,
            offers: RwLock::default(),
        }
    }

    /// The server that answers for a version of a group, if that isn't us.
    pub(crate) fn remote(&self, group: &str, version: &str) -> Option<Arc<Remote>> {
        let services = self.services.read();
        // Most clusters have none, and every request asks.
        if services.0.is_empty() {
            return None;
        }
        services.0.get(&*format!("{version}.{group}")).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.services.read().0.is_empty()
    }

    pub(crate) fn remotes(&self) -> Vec<Arc<Remote>> {
        self.services.read().0.values().cloned().collect()
    }

    fn target(&self, remote: &Remote, now: jiff::Timestamp) -> Target {
        Target {
            place: Place::Service {
                namespace: remote.namespace.clone(),
                name: remote.service.clone(),
                port: remote.port,
                path: String::new(),
            },
            ca_bundle: remote.ca_bundle.clone(),
            identity: self.front_proxy.as_ref().and_then(|proxy| proxy.identity(now)),
            insecure_skip_verify: remote.insecure,
        }
    }

    fn offer(&self, name: &Arc<str>, offer: Option<Offer>) {
        let mut offers = self.offers.write();
        match offer {
            Some(offer) => drop(offers.insert(name.clone(), offer)),
            None => drop(offers.remove(name)),
        }
    }
}

impl Follows for Services {
    fn put(&mut self, _: usize, key: &str, bytes: &[u8]) {
        let found = serde_json::from_slice::<Value>(bytes).ok();
        match found.and_then(|service| Remote::read(key, &service)) {
            Some(remote) => drop(self.0.insert(remote.name.clone(), Arc::new(remote))),
            None => drop(self.0.remove(key)),
        }
    }

    fn remove(&mut self, _: usize, key: &str) {
        self.0.remove(key);
    }
}

impl Remote {
    /// `None` for a version that we answer for ourselves.
    fn read(name: &str, object: &Value) -> Option<Self> {
        let spec = object.get("spec")?;
        let service = spec.get("service").filter(|service| service.is_object())?;
        let text = |value: &Value, field: &str| {
            value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let number = |field: &str| spec.get(field).and_then(Value::as_i64).unwrap_or(0);
        let port = service.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
        let bundle = spec.get("caBundle").and_then(Value::as_str).filter(|bundle| !bundle.is_empty());
        Some(Self {
            name: name.into(),
            group: text(spec, "group"),
            version: text(spec, "version"),
            namespace: text(service, "namespace"),
            service: text(service, "name"),
            port: port.unwrap_or(443),
            ca_bundle: bundle.and_then(|bundle| STANDARD.decode(bundle).ok()).map(Bytes::from),
            insecure: spec.get("insecureSkipTLSVerify").and_then(Value::as_bool).unwrap_or(false),
            group_priority: number("groupPriorityMinimum"),
            version_priority: number("versionPriority"),
            available: available::is_available(object),
        })
    }
}

#[cfg(test)]
mod tests;
