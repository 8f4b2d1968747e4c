//! Every name of the cluster and what it means, compiled from objects one at a time. Immutable to its readers: a change makes a new
//! index that shares all but the changed with the one before. Knows no socket and no API.

mod entry;
mod find;
mod kept;

use std::net::IpAddr;
use std::sync::Arc;

use imbl::{HashMap, HashSet};
use kedge_facts::{Service, Slice};

pub(crate) use self::entry::{Entry, has_hostnames};
pub(crate) use self::find::{Find, addresses, labels};
use crate::wire::Name;

/// As CoreDNS: long enough to help, short enough to follow.
pub(crate) const TTL: u32 = 5;

#[derive(Clone)]
pub(crate) struct Index {
    zone: Name,
    /// Where this server itself is.
    own: Arc<[IpAddr]>,
    /// By `service.namespace`.
    services: HashMap<Name, Arc<Entry>>,
    namespaces: HashSet<Name>,
    /// Who has an address: usually one, at most a few.
    reverse: HashMap<IpAddr, Vec<(Name, Name)>>,
    /// The namespace of the pod that has an address, and the pod.
    pods: HashMap<IpAddr, Client>,
    /// Whether everything has been read once. Before, nothing is known to be absent.
    pub(crate) complete: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct Client {
    namespace: Name,
    pod: Box<str>,
}

impl Index {
    pub(crate) fn new(zone: Name, own: Vec<IpAddr>) -> Self {
        Self {
            zone,
            own: own.into(),
            services: HashMap::new(),
            namespaces: HashSet::new(),
            reverse: HashMap::new(),
            pods: HashMap::new(),
            complete: false,
        }
    }

    /// The same place, where nothing is known.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.zone.clone(), self.own.to_vec())
    }

    pub(crate) fn zone(&self) -> &Name {
        &self.zone
    }

    /// What a Service and its endpoints mean; nothing, if its name cannot be one here.
    pub(crate) fn compile(&self, service: &Service, slices: &[Arc<Slice>]) -> Option<Entry> {
        Entry::compile(&self.zone, service, slices)
    }

    /// Puts a Service's meaning in the place of the one before; `None` takes it away.
    pub(crate) fn set_service(&mut self, namespace: &str, service: &str, entry: Option<Entry>) {
        let Some(key) = service_key(namespace, service) else { return };
        if let Some(before) = self.services.remove(&key) {
            for (address, _) in before.reverse() {
                self.forget(address, &key);
            }
        }
        if let Some(entry) = entry {
            self.put(key, entry);
        }
    }

    fn put(&mut self, key: Name, entry: Entry) {
        for (address, name) in entry.reverse() {
            self.reverse.entry(address).or_default().push((key.clone(), name));
        }
        self.services.insert(key, Arc::new(entry));
    }

    fn forget(&mut self, address: IpAddr, key: &Name) {
        let Some(names) = self.reverse.get_mut(&address) else { return };
        names.retain(|(owner, _)| owner != key);
        if names.is_empty() {
            self.reverse.remove(&address);
        }
    }

    pub(crate) fn set_namespace(&mut self, namespace: &str, there: bool) {
        let Some(name) = Name::of([namespace.as_bytes()]) else { return };
        if there {
            self.namespaces.insert(name);
        } else {
            self.namespaces.remove(&name);
        }
    }

    pub(crate) fn add_pod(&mut self, namespace: &str, pod: &str, addresses: &[IpAddr]) {
        let Some(namespace) = Name::of([namespace.as_bytes()]) else { return };
        for address in addresses {
            self.pods.insert(*address, Client { namespace: namespace.clone(), pod: pod.into() });
        }
    }

    /// Its addresses may be another's already.
    pub(crate) fn remove_pod(&mut self, namespace: &str, pod: &str, addresses: &[IpAddr]) {
        let Some(namespace) = Name::of([namespace.as_bytes()]) else { return };
        let gone = Client { namespace, pod: pod.into() };
        for address in addresses {
            if self.pods.get(address) == Some(&gone) {
                self.pods.remove(address);
            }
        }
    }

    pub(crate) fn service(&self, namespace: &str, service: &str) -> Option<&Arc<Entry>> {
        self.services.get(&service_key(namespace, service)?)
    }

    /// The namespace of the pod that has an address, as a name of one label.
    pub(crate) fn namespace_of(&self, client: IpAddr) -> Option<&Name> {
        self.pods.get(&client).map(|client| &client.namespace)
    }

    /// `label` is one label behind its length.
    pub(crate) fn has_namespace(&self, label: &[u8]) -> bool {
        self.namespaces.contains(label)
    }

    /// `key` is `service.namespace` on the wire.
    pub(crate) fn has_service(&self, key: &[u8]) -> bool {
        self.services.contains_key(key)
    }

    /// Whose address it is.
    pub(crate) fn names_of(&self, address: IpAddr) -> impl Iterator<Item = &Name> {
        self.reverse.get(&address).into_iter().flatten().map(|(_, name)| name)
    }
}

fn service_key(namespace: &str, service: &str) -> Option<Name> {
    Name::of([service.as_bytes(), namespace.as_bytes()])
}

#[cfg(test)]
mod tests;
