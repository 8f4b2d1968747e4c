//! Slices for Endpoints that somebody keeps by hand: those of a Service without a selector.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use kedge_engine::{Controller, Key, NotReady, Plan, Seen, World};
use kube::ResourceExt;

use super::places::{self, Family, Groups};
use super::slices;

const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// What a slice does not take over.
const NOT_COPIED: [&str; 2] =
    ["endpoints.kubernetes.io/managed-by", "kubectl.kubernetes.io/last-applied-configuration"];

/// Mirrors Endpoints into EndpointSlices.
pub struct EndpointSliceMirrors;

impl Controller for EndpointSliceMirrors {
    type Root = Endpoints;
    const NAME: &'static str = "endpoint-slice-mirroring-controller";

    fn watch(&self, world: &World) {
        world.watch::<Service>().watch::<EndpointSlice>();
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let slice = |slice: &EndpointSlice| slices::service_of(slice, MANAGER);
        match seen.now().and_then(slice).or_else(|| seen.before().and_then(slice)) {
            Some(key) => vec![key],
            None if seen.is::<Endpoints>() || seen.is::<Service>() => vec![seen.key.clone()],
            None => Vec::new(),
        }
    }

    fn plan(&self, endpoints: &Endpoints, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let key = Key::of(endpoints);
        let mine = slices::of_service(world, &key, MANAGER)?;
        let service = world.get::<Service>(&key)?;
        let mirrored =
            service.is_some_and(|service| service.spec.as_ref().is_some_and(|spec| spec.selector.is_none()));
        if !mirrored || is_skipped(endpoints) {
            return Ok(slices::remove(&mine));
        }
        let mut labels: BTreeMap<String, String> = endpoints.labels().clone();
        labels.retain(|name, _| !NOT_COPIED.contains(&name.as_str()));
        let wanted = [Family::V4, Family::V6].into_iter().map(|family| (family, groups(endpoints, family)));
        // A family that nobody uses has no slice at all.
        let wanted = wanted.filter(|(_, groups)| !groups.is_empty()).collect();
        Ok(slices::plan(endpoints, MANAGER, labels, &mine, wanted))
    }
}

fn is_skipped(endpoints: &Endpoints) -> bool {
    endpoints.labels().get(SKIP).is_some_and(|skip| skip == "true")
        || endpoints.annotations().contains_key(LEADER)
        || endpoints.metadata.deletion_timestamp.is_some()
}

fn groups(endpoints: &Endpoints, family: Family) -> Groups {
    let mut groups: Groups = Vec::new();
    for subset in endpoints.subsets.iter().flatten() {
        let of = |list: &Option<Vec<EndpointAddress>>, ready: bool| -> Vec<Endpoint> {
            let mine = list.iter().flatten().filter(|address| Family::of(&address.ip) == family);
            mine.map(|address| endpoint(address, ready)).collect()
        };
        let found = [of(&subset.addresses, true), of(&subset.not_ready_addresses, false)].concat();
        if found.is_empty() {
            continue;
        }
        let ports = ports(subset);
        match groups.iter_mut().find(|(known, _)| *known == ports) {
            Some((_, endpoints)) => endpoints.extend(found),
            None => groups.push((ports, found)),
        }
    }
    groups
}

fn ports(subset: &EndpointSubset) -> Vec<EndpointPort> {
    let ports = subset.ports.iter().flatten();
    ports
        .map(|port| EndpointPort {
            app_protocol: port.app_protocol.clone(),
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(port.port),
            protocol: Some(places::protocol(port.protocol.as_deref()).to_owned()),
        })
        .collect()
}

fn endpoint(address: &EndpointAddress, ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![address.ip.clone()],
        conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
        hostname: address.hostname.clone().filter(|name| !name.is_empty()),
        node_name: address.node_name.clone(),
        target_ref: address.target_ref.clone(),
        ..Endpoint::default()
    }
}
