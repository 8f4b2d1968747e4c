//! The old form: one Endpoints object for each Service, of its name.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service};
use kedge_engine::{Action, Key, NotReady, Plan, World};
use kube::ResourceExt;

use super::places::{self, Family};
use kedge_children::pods::PodFacts;

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
const LARGEST: usize = 1000;

pub(super) fn plan(service: &Service, world: &World) -> Result<Plan, NotReady> {
    if places::selector(service).is_none() || service.metadata.deletion_timestamp.is_some() {
        return Ok(Plan::default());
    }
    let there = world.get::<Endpoints>(&Key::of(service))?;
    let (subsets, cut) = subsets(service, world)?;
    let mut new = there.as_deref().cloned().unwrap_or_default();
    new.metadata.name = Some(service.name_any());
    new.metadata.namespace = service.namespace();
    let mut labels: BTreeMap<String, String> = service.labels().clone();
    labels.remove(HEADLESS);
    if places::is_headless(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    new.metadata.labels = Some(labels);
    if cut {
        new.annotations_mut().insert(OVER_CAPACITY.to_owned(), "truncated".to_owned());
    } else {
        new.annotations_mut().remove(OVER_CAPACITY);
    }
    new.metadata.annotations.take_if(|annotations| annotations.is_empty());
    new.subsets = Some(subsets).filter(|subsets| !subsets.is_empty());
    Ok(Plan::from(match there {
        Some(there) => Action::change(&*there, &new),
        None => Some(Action::create(&new)),
    }))
}

/// Whether we keep them.
pub(super) fn is_ours(endpoints: &Endpoints) -> bool {
    endpoints.labels().get(MANAGED_BY).is_some_and(|manager| manager == MANAGER)
}

/// By ports, and whether some had to be left out.
fn subsets(service: &Service, world: &World) -> Result<(Vec<EndpointSubset>, bool), NotReady> {
    let family = places::families(service).first().copied().unwrap_or(Family::V4);
    let mut subsets: Vec<EndpointSubset> = Vec::new();
    let mut room = LARGEST;
    let mut cut = false;
    let mut pods = places::pods(service, world)?;
    // Those that work come first, should there be too many.
    pods.sort_by_key(|pod| !pod.is_ready());
    for pod in pods.iter().filter(|pod| places::shows_unready(service) || !pod.is_leaving()) {
        let Some(ip) = places::address(pod, family) else { continue };
        let ports: Vec<EndpointPort> = places::ports(service, pod)
            .into_iter()
            .map(|(port, number)| EndpointPort {
                app_protocol: port.app_protocol,
                name: port.name.filter(|name| !name.is_empty()),
                port: number,
                protocol: Some(places::protocol(port.protocol.as_deref()).to_owned()),
            })
            .collect();
        let is_without = ports.is_empty() && service.spec.as_ref().is_some_and(|spec| spec.ports.is_some());
        if is_without {
            continue;
        }
        if room == 0 {
            cut = true;
            break;
        }
        room -= 1;
        let address = EndpointAddress {
            ip: ip.to_owned(),
            hostname: places::host_name(service, pod),
            node_name: pod.node().map(str::to_owned),
            target_ref: Some(places::reference(pod)),
        };
        let ports = Some(ports).filter(|ports| !ports.is_empty());
        let index = subsets.iter().position(|subset| subset.ports == ports);
        let index = index.unwrap_or_else(|| {
            subsets.push(EndpointSubset { ports, ..EndpointSubset::default() });
            subsets.len() - 1
        });
        let Some(subset) = subsets.get_mut(index) else { continue };
        let ready = places::shows_unready(service) || pod.is_ready();
        let list = if ready { &mut subset.addresses } else { &mut subset.not_ready_addresses };
        list.get_or_insert_default().push(address);
    }
    for subset in &mut subsets {
        for list in [&mut subset.addresses, &mut subset.not_ready_addresses].into_iter().flatten() {
            list.sort_by(|a, b| a.ip.cmp(&b.ip));
        }
    }
    subsets.sort_by_key(|subset| serde_json::to_string(&subset.ports).unwrap_or_default());
    Ok((subsets, cut))
}
