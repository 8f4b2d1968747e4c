//! Where Services of the type LoadBalancer take calls: at the addresses of the nodes themselves. Decides who gets them; the rules that
//! lead on from there are `traffic/proxy`'s.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus, Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kedge_children::conditions;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, World};
use kube::ResourceExt;

const BALANCER: &str = "LoadBalancer";
const SERVICE: &str = "kubernetes.io/service-name";
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Set while a Service waits for a port that another has.
const PORTS_ERROR: &str = "LoadBalancerPortsError";

/// Gives every Service of the type LoadBalancer the addresses of nodes. Two cannot have one port there: the older one does.
#[derive(Clone, Debug, Default)]
pub struct Balancers {
    /// TCP ports at which nodes answer themselves; no Service takes them.
    pub taken: BTreeSet<u16>,
}

impl Controller for Balancers {
    type Root = Service;
    const NAME: &'static str = "service-lb-controller";

    fn watch(&self, world: &World) {
        world.watch::<Service>().watch::<Node>().watch::<EndpointSlice>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Service>() {
            let sides = [seen.before::<Service>(), seen.now::<Service>()];
            // Whoever frees a port has others take it.
            let frees =
                sides.into_iter().flatten().any(is_balanced) && ports_of(sides[0]) != ports_of(sides[1]);
            let mut keys = if frees { everybody(world) } else { Vec::new() };
            keys.push(seen.key.clone());
            return keys;
        }
        if seen.is::<EndpointSlice>() {
            let sides = [seen.before::<EndpointSlice>(), seen.now::<EndpointSlice>()];
            let names = sides.into_iter().flatten().filter_map(|slice| slice.labels().get(SERVICE));
            let keys = names.map(|name| Key::new(&seen.key.namespace, name));
            let mut keys: Vec<Key> = keys.filter(|key| is_kept_near(world, key)).collect();
            keys.dedup();
            return keys;
        }
        if seen.is::<Node>() {
            let (before, now) = (seen.before::<Node>(), seen.now::<Node>());
            return if before.map(addresses) == now.map(addresses) { Vec::new() } else { everybody(world) };
        }
        Vec::new()
    }

    fn plan(&self, service: &Service, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        if service.metadata.deletion_timestamp.is_some() || has_other_balancer(service) {
            return Ok(Plan::default());
        }
        let mut wanted = service.clone();
        let status = wanted.status.get_or_insert_default();
        let lost = match is_balanced(service) {
            true => self.lost(service, world)?,
            false => None,
        };
        let ingress = match is_balanced(service) && lost.is_none() {
            true => ingress(service, world)?,
            false => Vec::new(),
        };
        let ingress = Some(ingress).filter(|ingress| !ingress.is_empty());
        if status.load_balancer.as_ref().and_then(|had| had.ingress.as_ref()) != ingress.as_ref() {
            status.load_balancer = Some(LoadBalancerStatus { ingress });
        }
        match lost {
            Some(message) => conditions::set(&mut status.conditions, in_use(message, service, now)),
            None => conditions::remove(&mut status.conditions, PORTS_ERROR),
        }
        Ok(Action::status(service, &wanted).into_iter().collect::<Vec<_>>().into())
    }
}

impl Balancers {
    /// Why a Service cannot have its ports at the nodes' addresses.
    fn lost(&self, service: &Service, world: &World) -> Result<Option<String>, NotReady> {
        let mine = ports_of(Some(service));
        if let Some((port, _)) =
            mine.iter().find(|(port, protocol)| protocol == "TCP" && self.is_taken(*port))
        {
            return Ok(Some(format!("port {port}/TCP of the nodes is in use by the cluster itself")));
        }
        let all = world.cache::<Service>()?.all();
        let rivals = all.iter().filter(|other| {
            let is_other = Key::of(&***other) != Key::of(service);
            is_other && is_balanced(other) && !has_other_balancer(other) && age(other) < age(service)
        });
        for rival in rivals {
            if let Some((port, protocol)) = ports_of(Some(rival)).intersection(&mine).next() {
                let rival = Key::of(&**rival);
                return Ok(Some(format!(
                    "port {port}/{protocol} of the nodes is in use by the Service {rival}"
                )));
            }
        }
        Ok(None)
    }

    fn is_taken(&self, port: i32) -> bool {
        u16::try_from(port).is_ok_and(|port| self.taken.contains(&port))
    }
}

fn is_balanced(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some(BALANCER)
}

/// A class says that another gives it its addresses.
fn has_other_balancer(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| spec.load_balancer_class.is_some())
}

fn ports_of(service: Option<&Service>) -> BTreeSet<(i32, String)> {
    let balanced = service.filter(|service| is_balanced(service));
    let ports = balanced.and_then(|service| service.spec.as_ref()?.ports.as_ref()).into_iter().flatten();
    ports.map(|port| (port.port, port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()))).collect()
}

/// The older one first.
fn age(service: &Service) -> (Option<Timestamp>, Key) {
    (service.creation_timestamp().map(|time| time.0), Key::of(service))
}

fn is_local(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.external_traffic_policy.as_deref()) == Some("Local")
}

fn is_kept_near(world: &World, key: &Key) -> bool {
    let service = world.get::<Service>(key).ok().flatten();
    service.is_some_and(|service| is_balanced(&service) && is_local(&service))
}

fn everybody(world: &World) -> Vec<Key> {
    let all = world.cache::<Service>().map(|all| all.all()).unwrap_or_default();
    all.iter().filter(|service| is_balanced(service)).map(|service| Key::of(&**service)).collect()
}

/// Where others reach a node that takes calls.
fn addresses(node: &Node) -> Vec<IpAddr> {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let is_ready =
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let takes_calls =
        is_ready && !node.labels().contains_key(EXCLUDED) && node.metadata.deletion_timestamp.is_none();
    let all =
        status.filter(|_| takes_calls).and_then(|status| status.addresses.as_ref()).into_iter().flatten();
    let internal = all.filter(|address| address.type_ == "InternalIP");
    let reachable = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    internal.filter_map(|address| address.address.parse().ok()).filter(reachable).collect()
}

/// In the families that the Service has, in their order.
fn ingress(service: &Service, world: &World) -> Result<Vec<LoadBalancerIngress>, NotReady> {
    let mut nodes: Vec<Arc<Node>> = world.cache::<Node>()?.all();
    if is_local(service) {
        let near = nodes_with_endpoints(service, world)?;
        nodes.retain(|node| near.contains(&node.name_any()));
    }
    let families = service.spec.as_ref().and_then(|spec| spec.ip_families.clone()).unwrap_or_default();
    let addresses: Vec<IpAddr> = nodes.iter().flat_map(|node| addresses(node)).collect();
    let of_family = |family: &String| {
        let is_v4 = family == "IPv4";
        addresses.iter().filter(move |address| address.is_ipv4() == is_v4)
    };
    let entry = |address: &IpAddr| LoadBalancerIngress {
        ip: Some(address.to_string()),
        ip_mode: Some("VIP".to_owned()),
        ..LoadBalancerIngress::default()
    };
    Ok(families.iter().flat_map(of_family).map(entry).collect())
}

fn nodes_with_endpoints(service: &Service, world: &World) -> Result<BTreeSet<String>, NotReady> {
    let label = [(SERVICE.to_owned(), service.name_any())].into();
    let slices = world.cache::<EndpointSlice>()?.labelled(&service.namespace().unwrap_or_default(), &label);
    let endpoints = slices.iter().filter_map(|slice| slice.endpoints.as_ref()).flatten();
    let ready = endpoints.filter(|endpoint| {
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
    });
    Ok(ready.filter_map(|endpoint| endpoint.node_name.clone()).collect())
}

fn in_use(message: String, service: &Service, now: Timestamp) -> Condition {
    Condition {
        type_: PORTS_ERROR.to_owned(),
        status: "True".to_owned(),
        reason: "PortInUse".to_owned(),
        message,
        last_transition_time: conditions::at(now).unwrap_or(Time(now)),
        observed_generation: service.metadata.generation,
    }
}

#[cfg(test)]
mod tests;
