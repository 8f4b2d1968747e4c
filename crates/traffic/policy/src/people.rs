//! The pods that have addresses of their own, by namespace. Who shares its node's address is the node, to everybody.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_client::Key;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::nft::Family;

use crate::meaning::{Namespaces, Pods};
use crate::places::Places;
use crate::spans::family;

pub(crate) struct People<'a> {
    by_namespace: BTreeMap<&'a str, Vec<Person<'a>>>,
    namespaces: Vec<(&'a str, Option<&'a BTreeMap<String, String>>)>,
}

pub(crate) struct Person<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) pod: &'a Pod,
}

impl Person<'_> {
    pub(crate) fn in_family(&self, wanted: Family) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied().filter(move |address| family(*address) == wanted)
    }
}

impl<'a> People<'a> {
    pub(crate) fn new(pods: &'a [Arc<Pod>], namespaces: &'a [Arc<Namespace>], places: &Places) -> Self {
        let mut by_namespace: BTreeMap<&str, Vec<Person<'_>>> = BTreeMap::new();
        let holders = places.holders();
        for pod in pods.iter().filter(|pod| !pod.is_on_host_network() && !pod.is_over()) {
            let key = Key::of(&**pod);
            let mut addresses = pod.addresses().to_vec();
            // What the API still shows of one that is gone may be another's by now.
            addresses.retain(|address| holders.get(address).is_none_or(|holder| **holder == key));
            addresses.extend(places.of(&key, pod.metadata.uid.as_deref()));
            addresses.sort_unstable();
            addresses.dedup();
            if addresses.is_empty() {
                continue;
            }
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let labels = pod.metadata.labels.as_ref();
            by_namespace.entry(namespace).or_default().push(Person { namespace, labels, addresses, pod });
        }
        let namespaces = namespaces
            .iter()
            .map(|one| (one.metadata.name.as_deref().unwrap_or_default(), one.metadata.labels.as_ref()))
            .collect();
        Self { by_namespace, namespaces }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Person<'a>> {
        self.by_namespace.values().flatten()
    }

    pub(crate) fn on(&self, node: &str) -> impl Iterator<Item = &Person<'a>> {
        self.all().filter(move |person| person.pod.node() == Some(node))
    }

    pub(crate) fn selected<'s>(&'s self, pods: &'s Pods) -> impl Iterator<Item = &'s Person<'a>> {
        let namespaces: Vec<&str> = match &pods.namespaces {
            Namespaces::One(name) => vec![name],
            Namespaces::Selected(selector) => self
                .namespaces
                .iter()
                .filter(|(_, labels)| selector.matches(*labels))
                .map(|(name, _)| *name)
                .collect(),
        };
        let people = namespaces.into_iter().filter_map(|name| self.by_namespace.get(name)).flatten();
        people.filter(|person| pods.pods.matches(person.labels))
    }
}
