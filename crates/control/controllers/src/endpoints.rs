//! Where a Service leads: EndpointSlices for its pods, the old Endpoints beside them, and slices that mirror Endpoints which
//! somebody wrote by hand.

mod legacy;
mod mirror;
mod nearness;
mod places;
mod slices;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, World};
use kube::ResourceExt;

pub use self::mirror::EndpointSliceMirrors;

/// Keeps the slices of every Service that selects pods.
pub struct EndpointSlices;

/// Keeps the Endpoints of every Service that selects pods, for those who still read them.
pub struct EndpointsOfServices;

/// Takes the Endpoints away that we kept for a Service which is gone. Those that somebody wrote by hand may wait for theirs.
pub struct EndpointsLeftOver;

impl Controller for EndpointSlices {
    type Root = Service;
    const NAME: &'static str = "endpoint-slice-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<EndpointSlice>().watch::<Node>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Node>() {
            let zone = |node: Option<&Node>| node.and_then(places::zone).map(str::to_owned);
            let moved = zone(seen.before()) != zone(seen.now());
            return if moved { with_pods_on(&seen.key.name, world) } else { Vec::new() };
        }
        let slice = |slice: &EndpointSlice| slices::service_of(slice, slices::MANAGER);
        let named = seen.now().and_then(slice).or_else(|| seen.before().and_then(slice));
        named.map_or_else(|| woken(seen, world), |key| vec![key])
    }

    fn plan(&self, service: &Service, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let mine = slices::of_service(world, &Key::of(service), slices::MANAGER)?;
        if places::selector(service).is_none() {
            return Ok(slices::remove(&mine));
        }
        if service.metadata.deletion_timestamp.is_some() {
            return Ok(Plan::default());
        }
        let pods = places::pods(service, world)?;
        let wanted = places::families(service).into_iter().map(|family| {
            let groups = places::grouped(service, &pods, world, family)?;
            Ok((family, groups))
        });
        let wanted = wanted.collect::<Result<Vec<_>, NotReady>>()?;
        Ok(slices::plan(service, slices::MANAGER, slices::labels(service), &mine, wanted))
    }
}

impl Controller for EndpointsOfServices {
    type Root = Service;
    const NAME: &'static str = "endpoints-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<Endpoints>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<Endpoints>() { vec![seen.key.clone()] } else { woken(seen, world) }
    }

    fn plan(&self, service: &Service, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        legacy::plan(service, world)
    }
}

impl Controller for EndpointsLeftOver {
    type Root = Endpoints;
    const NAME: &'static str = "endpoints-left-over-controller";

    fn watch(&self, world: &World) {
        world.watch::<Service>();
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let is_gone = seen.is::<Service>() && seen.now::<Service>().is_none();
        if is_gone || seen.is::<Endpoints>() { vec![seen.key.clone()] } else { Vec::new() }
    }

    fn plan(&self, endpoints: &Endpoints, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let is_left = legacy::is_ours(endpoints) && world.get::<Service>(&Key::of(endpoints))?.is_none();
        Ok(Plan::from(is_left.then(|| Action::delete(endpoints))))
    }
}

/// A Service's own changes, and those of pods that it selects or did.
fn woken(seen: &Seen<'_>, world: &World) -> Vec<Key> {
    if seen.is::<Service>() {
        return vec![seen.key.clone()];
    }
    if !seen.is::<Pod>() || !places::matters(seen.before(), seen.now()) {
        return Vec::new();
    }
    let sides: Vec<&Pod> = [seen.before::<Pod>(), seen.now()].into_iter().flatten().collect();
    selecting(&seen.key.namespace, &sides, world)
}

/// The Services whose endpoints are somewhere else when this node is.
fn with_pods_on(node: &str, world: &World) -> Vec<Key> {
    let pods = world.cache::<Pod>().map(|all| all.on_node(node)).unwrap_or_default();
    let mut by_namespace: BTreeMap<String, Vec<&Pod>> = BTreeMap::new();
    for pod in &pods {
        by_namespace.entry(pod.namespace().unwrap_or_default()).or_default().push(pod);
    }
    by_namespace.iter().flat_map(|(namespace, pods)| selecting(namespace, pods, world)).collect()
}

/// The Services of a namespace that select any of these pods.
fn selecting(namespace: &str, pods: &[&Pod], world: &World) -> Vec<Key> {
    let services = world.cache::<Service>().map(|all| all.in_namespace(namespace)).unwrap_or_default();
    let selects = |service: &Arc<Service>| {
        places::selector(service).is_some_and(|selector| {
            pods.iter().any(|pod| selector.iter().all(|(name, value)| pod.labels().get(name) == Some(value)))
        })
    };
    services.into_iter().filter(selects).map(|service| Key::of(&*service)).collect()
}

#[cfg(test)]
mod tests;
