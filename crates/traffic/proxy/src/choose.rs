//! Which endpoints of a port are called: the ready ones, of these the nearest if all have hints; if none is ready, those that still
//! answer while they end. The same for a port's endpoints on this node alone.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kedge_facts::{Endpoint, ServicePort, Slice};

use crate::family::Family;
use crate::wanted::Target;

/// The node for which is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Here {
    pub(crate) node: String,
    pub(crate) zone: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) wide: Vec<Target>,
    pub(crate) local: Vec<Target>,
    /// Endpoints of this node are ready, not just about to end.
    pub(crate) is_local_ready: bool,
    /// Some node has an endpoint that answers.
    pub(crate) is_anywhere: bool,
    /// Addresses that may be of this node.
    pub(crate) own: Vec<IpAddr>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Preference {
    None,
    Node,
    Zone,
}

pub(crate) fn choose(slices: &[&Slice], family: Family, port: &ServicePort, here: &Here) -> Chosen {
    let endpoints = endpoints(slices, family, port);
    let is_here = |endpoint: &Endpoint| endpoint.node_name.as_deref() == Some(&here.node);
    let pick = |wanted: &dyn Fn(&Endpoint) -> bool| -> Vec<Target> {
        endpoints.iter().filter(|(_, endpoint)| wanted(endpoint)).map(|(target, _)| *target).collect()
    };
    let preference = preference(endpoints.values().copied().filter(|endpoint| endpoint.is_ready()), here);
    let mut wide = pick(&|endpoint| endpoint.is_ready() && is_preferred(endpoint, preference, here));
    if wide.is_empty() {
        wide = pick(&still_answers);
    }
    let ready = pick(&|endpoint| endpoint.is_ready() && is_here(endpoint));
    let is_local_ready = !ready.is_empty();
    let local = match is_local_ready {
        true => ready,
        false => pick(&|endpoint| still_answers(endpoint) && is_here(endpoint)),
    };
    let is_anywhere = !wide.is_empty();
    let own = endpoints.iter().filter(|(_, endpoint)| endpoint.node_name.is_none() || is_here(endpoint));
    let own = own.map(|(target, _)| target.address).collect();
    Chosen { wide, local, is_local_ready, is_anywhere, own }
}

fn still_answers(endpoint: &Endpoint) -> bool {
    endpoint.is_serving() && endpoint.is_terminating()
}

/// An endpoint that is in two slices, as it moves from one to the other, is one endpoint, and ready if either says so.
fn endpoints<'s>(slices: &[&'s Slice], family: Family, port: &ServicePort) -> BTreeMap<Target, &'s Endpoint> {
    let mut found: BTreeMap<Target, &Endpoint> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| *slice.address_type == *family.name()) {
        let ports = slice.ports.iter();
        let ports = ports.filter(|told| *told.name == *port.name && told.protocol == port.protocol);
        for port in ports.filter_map(|told| told.port) {
            for endpoint in &slice.endpoints {
                let Some(address) = endpoint.addresses.first().copied() else { continue };
                if Family::of(address) != family {
                    continue;
                }
                let known = found.entry(Target { address, port }).or_insert(endpoint);
                if !known.is_ready() && endpoint.is_ready() {
                    *known = endpoint;
                }
            }
        }
    }
    found
}

/// Hints count only where all that are ready have them and one is for here.
fn preference<'e>(ready: impl Iterator<Item = &'e Endpoint>, here: &Here) -> Preference {
    let (mut all_nodes, mut all_zones, mut our_node, mut our_zone) = (true, true, false, false);
    for endpoint in ready {
        all_nodes &= endpoint.for_nodes().next().is_some();
        all_zones &= endpoint.for_zones().next().is_some();
        our_node |= is_preferred(endpoint, Preference::Node, here);
        our_zone |= is_preferred(endpoint, Preference::Zone, here);
    }
    match () {
        () if all_nodes && our_node => Preference::Node,
        () if all_zones && our_zone => Preference::Zone,
        () => Preference::None,
    }
}

fn is_preferred(endpoint: &Endpoint, preference: Preference, here: &Here) -> bool {
    match preference {
        Preference::None => true,
        Preference::Node => endpoint.for_nodes().any(|node| node == here.node),
        Preference::Zone => endpoint.for_zones().any(|zone| Some(zone) == here.zone.as_deref()),
    }
}

#[cfg(test)]
mod tests;
