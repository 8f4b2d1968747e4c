//! What is wanted of the kernel for one Service: by which doors it is called, and which pools of endpoints are behind them. Decides
//! from the Service and its slices alone; knows no kernel and no other Service.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kedge_facts::{Class, Service, ServicePort, Slice};
use kedge_range::Range;

use crate::choose::{Chosen, Here, choose};
use crate::family::Family;

/// Where a Service is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Door {
    pub(crate) family: Family,
    /// None: at every address of the node.
    pub(crate) at: Option<IpAddr>,
    pub(crate) protocol: u8,
    pub(crate) port: u16,
}

/// One endpoint, as packets are sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// Which of a port's endpoints a pool has, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Those of all nodes.
    Wide = 0,
    /// Those of this node, for calls from within the cluster.
    Inner = 1,
    /// Those of this node, for calls from outside.
    Near = 2,
}

/// A pool is called by the address and port that its Service has in the cluster: nobody else has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PoolId {
    pub(crate) address: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) port: u16,
    pub(crate) reach: Reach,
}

/// What happens to calls where there is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    /// There is none anywhere: the caller is told at once.
    Refuse,
    /// There are some on other nodes, whose balancer will notice.
    Discard,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) id: PoolId,
    pub(crate) if_empty: Empty,
    /// For how many seconds a client stays with one endpoint.
    pub(crate) stays: Option<u32>,
    /// Each has a slot, which is its place.
    pub(crate) targets: Vec<Target>,
}

/// How calls at a door are led on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Inside(PoolId),
    /// The caller's address is hidden, as answers must come back by this node.
    Outside(PoolId),
    /// Callers from outside see endpoints of this node only, and are seen as they are; those of the cluster see all.
    Near {
        wide: PoolId,
        near: PoolId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) door: Door,
    pub(crate) way: Way,
    /// Nobody else may call here.
    pub(crate) only_from: Option<Vec<Range>>,
}

/// Whether endpoints are on this node, for a balancer of loads to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) port: u16,
    pub(crate) endpoints: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Of two that want the same door, the older one gets it.
    pub(crate) since: i64,
    /// All that it has in the cluster.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) fronts: Vec<Front>,
    pub(crate) pools: Vec<Pool>,
    /// Endpoints that may be of this node, and may call themselves.
    pub(crate) own: BTreeSet<IpAddr>,
    pub(crate) health: Option<Health>,
}

impl Wanted {
    pub(crate) fn is_nothing(&self) -> bool {
        self.addresses.is_empty() && self.fronts.is_empty()
    }

    /// Without room for more: most have one door, and lists grow to four at once.
    pub(crate) fn kept(mut self) -> Self {
        self.fronts.shrink_to_fit();
        self.pools.shrink_to_fit();
        self
    }

    fn pool(&mut self, id: PoolId, chosen: &Chosen, stays: Option<u32>) -> PoolId {
        if self.pools.iter().all(|pool| pool.id != id) {
            let (targets, if_empty) = match id.reach {
                Reach::Wide => (&chosen.wide, Empty::Refuse),
                _ if chosen.is_anywhere => (&chosen.local, Empty::Discard),
                _ => (&chosen.local, Empty::Refuse),
            };
            self.pools.push(Pool { id, if_empty, stays, targets: targets.clone() });
        }
        id
    }
}

/// What a Service and its slices ask of the node `here`.
pub(crate) fn wanted(service: &Service, slices: &[&Slice], here: &Here) -> Wanted {
    let mut wanted = Wanted::default();
    let has_address = service.spec.class != Class::ExternalName && !service.is_headless();
    if !has_address || !service.is_ours() {
        return wanted;
    }
    wanted.since = service.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
    wanted.addresses = service.spec.cluster_ips.to_vec();
    let mut local = BTreeSet::new();
    for cluster_ip in &service.spec.cluster_ips {
        for port in &service.spec.ports {
            let chosen = choose(slices, Family::of(*cluster_ip), port, here);
            wanted.own.extend(&chosen.own);
            local.extend(chosen.local.iter().filter(|_| chosen.is_local_ready).map(|target| target.address));
            enter(&mut wanted, service, *cluster_ip, port, &chosen);
        }
    }
    let balances = service.spec.class == Class::LoadBalancer && service.is_external_local();
    let port = service.spec.health_check_node_port.filter(|port| balances && *port != 0);
    wanted.health = port.map(|port| Health { port, endpoints: local.len() });
    wanted
}

/// The doors of one port in one family.
fn enter(wanted: &mut Wanted, service: &Service, cluster_ip: IpAddr, port: &ServicePort, chosen: &Chosen) {
    let family = Family::of(cluster_ip);
    let protocol = port.protocol.number();
    let stays = service.affinity();
    let pool = |reach| PoolId { address: cluster_ip, protocol, port: port.port, reach };
    let door = |at, port| Door { family, at, protocol, port };

    let reach = if service.is_internal_local() { Reach::Inner } else { Reach::Wide };
    let inside = wanted.pool(pool(reach), chosen, stays);
    let front = Front { door: door(Some(cluster_ip), port.port), way: Way::Inside(inside), only_from: None };
    wanted.fronts.push(front);

    let from_outside = outside(service, port, family);
    if from_outside.is_empty() {
        return;
    }
    let wide = wanted.pool(pool(Reach::Wide), chosen, stays);
    let way = match service.is_external_local() {
        false => Way::Outside(wide),
        true => Way::Near { wide, near: wanted.pool(pool(Reach::Near), chosen, stays) },
    };
    for Outside { at, port, is_balanced } in from_outside {
        let only_from = if is_balanced { allowed(service, family) } else { None };
        wanted.fronts.push(Front { door: door(at, port), way, only_from });
    }
}

/// Where calls from outside come in.
struct Outside {
    at: Option<IpAddr>,
    port: u16,
    is_balanced: bool,
}

fn outside(service: &Service, port: &ServicePort, family: Family) -> Vec<Outside> {
    let here = |address: &&IpAddr| Family::of(**address) == family;
    let balanced: BTreeSet<IpAddr> = match service.spec.class {
        Class::LoadBalancer => service.ingress().iter().filter(here).copied().collect(),
        _ => BTreeSet::new(),
    };
    let external: BTreeSet<IpAddr> = service.spec.external_ips.iter().filter(here).copied().collect();
    let by_balancer = balanced.iter().map(|at| Outside { at: Some(*at), port: port.port, is_balanced: true });
    let by_address = external.difference(&balanced);
    let by_address = by_address.map(|at| Outside { at: Some(*at), port: port.port, is_balanced: false });
    let is_open = matches!(service.spec.class, Class::NodePort | Class::LoadBalancer);
    let by_node = port.node_port.filter(|port| is_open && *port != 0);
    let by_node = by_node.map(|port| Outside { at: None, port, is_balanced: false });
    by_balancer.chain(by_address).chain(by_node).collect()
}

/// None: everybody. Ranges of the other family, and what is no range, let nobody in.
fn allowed(service: &Service, family: Family) -> Option<Vec<Range>> {
    let ranges = &service.spec.load_balancer_source_ranges;
    if ranges.is_empty() {
        return None;
    }
    let mut allowed: Vec<Range> = ranges.iter().filter_map(|range| range.trim().parse().ok()).collect();
    allowed.retain(|range| Family::of(range.first()) == family);
    allowed.sort();
    allowed.dedup();
    Some(without_inner(&allowed))
}

/// The kernel takes no range twice, neither as a whole nor in part.
fn without_inner(sorted: &[Range]) -> Vec<Range> {
    let mut kept: Vec<Range> = Vec::new();
    for range in sorted {
        // A wider one of the same beginning comes first, as it has fewer bits.
        if kept.last().is_none_or(|wider| wider.last() < range.first()) {
            kept.push(*range);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
