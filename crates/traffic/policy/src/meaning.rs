//! What a NetworkPolicy says, with its defaults filled in and nothing left to be guessed. Knows no pod and no packet.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kedge_facts::Protocol;
use kedge_kinds::LabelSelector;

use crate::spans::{Span, outside};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    pub(crate) namespace: String,
    /// Whom it isolates.
    pub(crate) pods: Selector,
    /// Who may come in; `None` if it says nothing about that.
    pub(crate) ingress: Option<Vec<Allowed>>,
    pub(crate) egress: Option<Vec<Allowed>>,
}

/// Any of these, by any of these doors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allowed {
    /// `None` is anybody, which is not the same as nobody.
    pub(crate) peers: Option<Vec<Peer>>,
    /// `None` is everything, also what has no ports.
    pub(crate) doors: Option<Vec<Door>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// What is left of a range without its exceptions.
    Block(Vec<Span>),
    Pods(Pods),
}

/// Some pods of some namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pods {
    pub(crate) namespaces: Namespaces,
    pub(crate) pods: Selector,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Namespaces {
    One(String),
    Selected(Selector),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Numbers(Protocol, u16, u16),
    /// Which number it is depends on the pod behind it.
    Named(Protocol, String),
}

/// Two that are written alike are one.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    text: String,
    /// What cannot be read selects nothing.
    means: LabelSelector,
}

impl Selector {
    pub(crate) fn everything() -> Self {
        Self::new(&v1::LabelSelector::default())
    }

    pub(crate) fn new(selector: &v1::LabelSelector) -> Self {
        let value = serde_json::json!(selector);
        let means = LabelSelector::of_object(Some(&value)).unwrap_or_else(|_| LabelSelector::nothing());
        Self { text: value.to_string(), means }
    }

    pub(crate) fn matches(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        self.means.matches(|name| labels?.get(name).map(String::as_str))
    }
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Selector {}

impl PartialOrd for Selector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Selector {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Policy {
    /// None if it says nothing at all.
    pub(crate) fn of(policy: &NetworkPolicy) -> Option<Self> {
        let spec = policy.spec.as_ref()?;
        let namespace = policy.metadata.namespace.clone().unwrap_or_default();
        let types: BTreeSet<&str> = spec.policy_types.iter().flatten().map(String::as_str).collect();
        let says = |direction, unless_told| match types.is_empty() {
            true => unless_told,
            false => types.contains(direction),
        };
        let has_egress = spec.egress.as_ref().is_some_and(|rules| !rules.is_empty());
        let ingress = says("Ingress", true).then(|| {
            let rules = spec.ingress.iter().flatten();
            rules.map(|rule| allowed(&namespace, rule.from.as_deref(), rule.ports.as_deref())).collect()
        });
        let egress = says("Egress", has_egress).then(|| {
            let rules = spec.egress.iter().flatten();
            rules.map(|rule| allowed(&namespace, rule.to.as_deref(), rule.ports.as_deref())).collect()
        });
        let pods = spec.pod_selector.as_ref().map_or_else(Selector::everything, Selector::new);
        Some(Self { namespace, pods, ingress, egress })
    }
}

/// An empty list says the same as none: no limit.
fn allowed(
    namespace: &str,
    peers: Option<&[NetworkPolicyPeer]>,
    ports: Option<&[NetworkPolicyPort]>,
) -> Allowed {
    let peers = peers.filter(|peers| !peers.is_empty());
    let ports = ports.filter(|ports| !ports.is_empty());
    Allowed {
        peers: peers.map(|peers| peers.iter().filter_map(|one| peer(namespace, one)).collect()),
        doors: ports.map(|ports| ports.iter().filter_map(door).collect()),
    }
}

fn peer(namespace: &str, peer: &NetworkPolicyPeer) -> Option<Peer> {
    if let Some(block) = &peer.ip_block {
        // An exception that cannot be read makes the whole block one: better too little than too much.
        let excepted: Option<Vec<Span>> =
            block.except.iter().flatten().map(|except| Span::of_range(except)).collect();
        return Some(Peer::Block(outside(Span::of_range(&block.cidr)?, &excepted?)));
    }
    let namespaces = match (&peer.namespace_selector, &peer.pod_selector) {
        (Some(selector), _) => Namespaces::Selected(Selector::new(selector)),
        (None, Some(_)) => Namespaces::One(namespace.to_owned()),
        (None, None) => return None,
    };
    let pods = peer.pod_selector.as_ref().map_or_else(Selector::everything, Selector::new);
    Some(Peer::Pods(Pods { namespaces, pods }))
}

/// A protocol that packets don't have is nobody's door.
fn door(port: &NetworkPolicyPort) -> Option<Door> {
    let protocol = match port.protocol.as_deref() {
        None | Some("TCP") => Protocol::Tcp,
        Some("UDP") => Protocol::Udp,
        Some("SCTP") => Protocol::Sctp,
        Some(_) => return None,
    };
    Some(match &port.port {
        None => Door::Numbers(protocol, 0, u16::MAX),
        Some(IntOrString::String(name)) => Door::Named(protocol, name.clone()),
        Some(IntOrString::Int(first)) => {
            let first = u16::try_from(*first).ok()?;
            let last = port.end_port.map_or(Ok(first), u16::try_from).ok()?;
            Door::Numbers(protocol, first, last)
        }
    })
}

#[cfg(test)]
mod tests;
