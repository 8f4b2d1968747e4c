//! Spreads endpoints over slices and changes as few of them as it can: an endpoint stays in the slice where it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kedge_client::Watched;
use kedge_engine::{Action, Key, NotReady, Plan, World};
use kube::ResourceExt;

use super::places::{self, Family, Groups};
use kedge_children::{claim, names};

pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const HEADLESS: &str = "service.kubernetes.io/headless";
/// Labels that say what a slice is; a Service can't set them.
const OURS: [&str; 3] = [MANAGED_BY, SERVICE_NAME, HEADLESS];
const LARGEST: usize = 100;

/// The Service that a slice of this manager belongs to.
pub(super) fn service_of(slice: &EndpointSlice, manager: &str) -> Option<Key> {
    let labels = slice.labels();
    let managed = labels.get(MANAGED_BY).is_some_and(|by| by == manager);
    let name = labels.get(SERVICE_NAME).filter(|_| managed)?;
    Some(Key::new(slice.namespace().unwrap_or_default(), name.clone()))
}

pub(super) fn of_service(
    world: &World,
    key: &Key,
    manager: &str,
) -> Result<Vec<Arc<EndpointSlice>>, NotReady> {
    let labels = [(SERVICE_NAME.to_owned(), key.name.clone()), (MANAGED_BY.to_owned(), manager.to_owned())];
    let found = world.cache::<EndpointSlice>()?.labelled(&key.namespace, &labels.into());
    Ok(found.into_iter().filter(|slice| slice.metadata.deletion_timestamp.is_none()).collect())
}

pub(super) fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.labels().clone();
    labels.retain(|name, _| !OURS.contains(&name.as_str()));
    if places::is_headless(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels
}

pub(super) fn remove(slices: &[Arc<EndpointSlice>]) -> Plan {
    Plan::from(slices.iter().map(|slice| Action::delete(&**slice)))
}

/// What turns the slices that there are into those that are wanted. `owner` is a Service or Endpoints, whose name is the
/// Service's.
pub(super) fn plan<O: Watched>(
    owner: &O,
    manager: &str,
    mut labels: BTreeMap<String, String>,
    there: &[Arc<EndpointSlice>],
    wanted: Vec<(Family, Groups)>,
) -> Plan {
    labels.insert(MANAGED_BY.to_owned(), manager.to_owned());
    labels.insert(SERVICE_NAME.to_owned(), owner.name_any());
    let mut left: Vec<&Arc<EndpointSlice>> = there.iter().collect();
    let (mut made, mut changed) = (Vec::new(), Vec::new());
    for (family, mut groups) in wanted {
        if groups.is_empty() {
            // Somebody who looks shall see that there is nothing, not nothing at all.
            groups.push((Vec::new(), Vec::new()));
        }
        for (ports, endpoints) in groups {
            let (same, others) = left.into_iter().partition(|slice| has(slice, family, &ports));
            left = others;
            let filled = fill(same, endpoints);
            left.extend(filled.emptied);
            for (slice, endpoints) in filled.kept {
                let mut new = (**slice).clone();
                new.endpoints = Some(endpoints);
                new.metadata.labels = Some(labels.clone());
                changed.extend(Action::change(&**slice, &new));
            }
            made.extend(filled.new.into_iter().map(|endpoints| (family, ports.clone(), endpoints)));
        }
    }
    let taken: Vec<String> = there.iter().map(|slice| slice.name_any()).collect();
    let made = named(owner, &taken, made.len()).zip(made).map(|(name, (family, ports, endpoints))| {
        Action::create(&slice(owner, &labels, name, family, ports, endpoints))
    });
    let made: Vec<Action> = made.collect();
    Plan::from(made).then(changed).then(left.into_iter().map(|slice| Action::delete(&**slice)))
}

fn has(slice: &EndpointSlice, family: Family, ports: &[EndpointPort]) -> bool {
    slice.address_type == family.name() && slice.ports.as_deref().unwrap_or_default() == ports
}

struct Filled<'s> {
    kept: Vec<(&'s Arc<EndpointSlice>, Vec<Endpoint>)>,
    emptied: Vec<&'s Arc<EndpointSlice>>,
    new: Vec<Vec<Endpoint>>,
}

/// Endpoints stay where they are; new ones go where there is room, then into slices of their own.
fn fill(slices: Vec<&Arc<EndpointSlice>>, wanted: Vec<Endpoint>) -> Filled<'_> {
    let nothing = wanted.is_empty();
    let mut open: Vec<Option<Endpoint>> = wanted.into_iter().map(Some).collect();
    let mut kept: Vec<(&Arc<EndpointSlice>, Vec<Endpoint>)> = Vec::new();
    for slice in slices {
        let mut stay = Vec::new();
        for old in slice.endpoints.iter().flatten() {
            let same = |new: &&mut Option<Endpoint>| new.as_ref().is_some_and(|new| is_same(old, new));
            stay.extend(open.iter_mut().find(same).and_then(Option::take));
        }
        kept.push((slice, stay));
    }
    let mut rest: Vec<Endpoint> = open.into_iter().flatten().collect();
    for (_, endpoints) in &mut kept {
        let room = LARGEST.saturating_sub(endpoints.len()).min(rest.len());
        // A slice that loses all it had takes what is new before another one is made.
        endpoints.extend(rest.drain(..room));
    }
    let mut new: Vec<Vec<Endpoint>> = rest.chunks(LARGEST).map(<[Endpoint]>::to_vec).collect();
    let (mut full, empty): (Vec<_>, Vec<_>) =
        kept.into_iter().partition(|(_, endpoints)| !endpoints.is_empty());
    let mut emptied: Vec<_> = empty.into_iter().map(|(slice, _)| slice).collect();
    if nothing && full.is_empty() {
        match emptied.is_empty() {
            true => new.push(Vec::new()),
            false => full.push((emptied.remove(0), Vec::new())),
        }
    }
    Filled { kept: full, emptied, new }
}

/// The same pod at the same address, however it may be now.
fn is_same(a: &Endpoint, b: &Endpoint) -> bool {
    let uid = |endpoint: &Endpoint| endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
    a.addresses == b.addresses && uid(a) == uid(b)
}

fn named<O: Watched>(owner: &O, taken: &[String], count: usize) -> impl Iterator<Item = String> {
    let (base, uid) = (format!("{}-", owner.name_any()), owner.uid().unwrap_or_default());
    let taken = taken.to_vec();
    let free = (0..).map(move |index| names::made(&base, &[&uid], index));
    free.filter(move |name| !taken.contains(name)).take(count)
}

fn slice<O: Watched>(
    owner: &O,
    labels: &BTreeMap<String, String>,
    name: String,
    family: Family,
    ports: Vec<EndpointPort>,
    endpoints: Vec<Endpoint>,
) -> EndpointSlice {
    let mut slice = EndpointSlice {
        address_type: family.name().to_owned(),
        endpoints: Some(endpoints),
        ports: Some(ports).filter(|ports| !ports.is_empty()),
        ..EndpointSlice::default()
    };
    slice.metadata.name = Some(name);
    slice.metadata.generate_name = Some(format!("{}-", owner.name_any()));
    slice.metadata.namespace = owner.namespace();
    slice.metadata.labels = Some(labels.clone());
    slice.metadata.owner_references = Some(vec![claim::reference(owner)]);
    slice
}
