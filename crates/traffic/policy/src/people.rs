//! The pods that have addresses of their own, by namespace. Who shares its node's address is the node, to everybody.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_client::Key;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::nft::Family;

use crate::meaning::{Namespaces, Pods, Selector};
use crate::places::Places;
use crate::spans::family;
use crate::understood::{Difference, Understood, Within};

#[derive(Debug, Default)]
pub(crate) struct People {
    people: Understood<Pod, Person>,
    namespaces: BTreeMap<String, Arc<Namespace>>,
    /// Whether some addresses were known from this node only, when it was last looked.
    were_placed: bool,
}

#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) pod: Arc<Pod>,
}

/// A namespace as it was and as it is.
type Renamed = (Option<Arc<Namespace>>, Option<Arc<Namespace>>);

/// What is different from the look before.
#[derive(Debug)]
pub(crate) struct Moved {
    people: Difference<Person>,
    namespaces: Vec<Renamed>,
}

impl Person {
    pub(crate) fn labels(&self) -> Option<&BTreeMap<String, String>> {
        self.pod.metadata.labels.as_ref()
    }

    pub(crate) fn in_family(&self, wanted: Family) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied().filter(move |address| family(*address) == wanted)
    }
}

impl Within for Person {
    fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }
}

/// Pods are compared by being the same one.
impl PartialEq for Person {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pod, &other.pod) && self.addresses == other.addresses
    }
}

impl People {
    /// These are all pods and namespaces that there are.
    pub(crate) fn follow(
        &mut self,
        pods: &[Arc<Pod>],
        namespaces: &[Arc<Namespace>],
        places: &Places,
    ) -> Moved {
        let holders = places.holders();
        let are_placed = !holders.is_empty();
        let again = std::mem::replace(&mut self.were_placed, are_placed) || are_placed;
        let people = self.people.follow(pods, again, |pod| {
            let is_somebody = !pod.is_on_host_network() && !pod.is_over();
            let mut addresses = is_somebody.then(|| pod.addresses().to_vec())?;
            if are_placed {
                let key = Key::of(&**pod);
                // What the API still shows of one that is gone may be another's by now.
                addresses.retain(|address| holders.get(address).is_none_or(|holder| **holder == key));
                addresses.extend(places.of(&key, pod.metadata.uid.as_deref()));
            }
            addresses.sort_unstable();
            addresses.dedup();
            (!addresses.is_empty()).then(|| Person { addresses, pod: pod.clone() })
        });
        Moved { people, namespaces: self.rename(namespaces) }
    }

    fn rename(&mut self, namespaces: &[Arc<Namespace>]) -> Vec<Renamed> {
        let are_same = namespaces.len() == self.namespaces.len()
            && namespaces.iter().zip(self.namespaces.values()).all(|(now, before)| Arc::ptr_eq(now, before));
        if are_same {
            return Vec::new();
        }
        let name = |one: &Arc<Namespace>| one.metadata.name.clone().unwrap_or_default();
        let now: BTreeMap<String, Arc<Namespace>> =
            namespaces.iter().map(|one| (name(one), one.clone())).collect();
        let before = std::mem::replace(&mut self.namespaces, now);
        let gone = before.iter().filter(|(name, _)| !self.namespaces.contains_key(*name));
        let gone = gone.map(|(_, one)| (Some(one.clone()), None));
        let come = self.namespaces.iter().map(|(name, one)| (before.get(name).cloned(), Some(one.clone())));
        gone.chain(come).filter(|(before, now)| before != now).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Person>> {
        self.people.all()
    }

    pub(crate) fn on(&self, node: &str) -> impl Iterator<Item = &Arc<Person>> {
        self.all().filter(move |person| person.pod.node() == Some(node))
    }

    pub(crate) fn selected<'s>(&'s self, pods: &'s Pods) -> impl Iterator<Item = &'s Arc<Person>> {
        let namespaces: Vec<&str> = match &pods.namespaces {
            Namespaces::One(name) => vec![name],
            Namespaces::Selected(selector) => self
                .namespaces
                .iter()
                .filter(|(_, one)| is_selected(selector, Some(one)))
                .map(|(name, _)| name.as_str())
                .collect(),
        };
        let people = namespaces.into_iter().flat_map(|name| self.people.within(name));
        people.filter(|person| pods.pods.matches(person.labels()))
    }

    fn selects(&self, pods: &Pods, person: &Person) -> bool {
        let is_within = match &pods.namespaces {
            Namespaces::One(name) => name == person.namespace(),
            Namespaces::Selected(selector) => is_selected(selector, self.namespaces.get(person.namespace())),
        };
        is_within && pods.pods.matches(person.labels())
    }
}

impl Moved {
    pub(crate) fn is_anybody(&self) -> bool {
        self.people.all().next().is_some()
    }

    /// Whether these may be others now; `people` are those that there are.
    pub(crate) fn concerns(&self, pods: &Pods, people: &People) -> bool {
        let by_namespace = match &pods.namespaces {
            Namespaces::One(_) => false,
            Namespaces::Selected(selector) => self.namespaces.iter().any(|(before, now)| {
                is_selected(selector, before.as_ref()) != is_selected(selector, now.as_ref())
            }),
        };
        by_namespace || self.people.all().any(|person| people.selects(pods, person))
    }
}

fn is_selected(selector: &Selector, namespace: Option<&Arc<Namespace>>) -> bool {
    namespace.is_some_and(|one| selector.matches(one.metadata.labels.as_ref()))
}
