//! What holds in a cluster that has come to rest, whatever it went through.

mod claims;
mod order;
mod sets;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::Key;
use kedge_client::world::Watched;
use kedge_store::Snapshot;
use kube::ResourceExt;

use crate::kinds::{Head, parsed};

/// Everything there is, by kind.
pub(crate) struct All<'s> {
    objects: BTreeMap<String, Vec<&'s [u8]>>,
}

impl<'s> All<'s> {
    fn of(store: &'s Snapshot) -> Self {
        let mut objects: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
        for (_, entry) in store.range("/registry/", None) {
            if let Some(head) = Head::of(entry.bytes()) {
                objects.entry(head.kind).or_default().push(entry.bytes());
            }
        }
        Self { objects }
    }

    pub(crate) fn kind<K: Watched>(&self) -> Vec<K> {
        self.objects.get(&*K::kind(&())).into_iter().flatten().map(|bytes| parsed(bytes)).collect()
    }

    pub(crate) fn values(&self, kind: &str) -> impl Iterator<Item = serde_json::Value> {
        let bytes = self.objects.get(kind).into_iter().flatten();
        bytes.filter_map(|bytes| serde_json::from_slice(bytes).ok())
    }

    /// Whether something of that kind and name is there.
    pub(crate) fn has(&self, kind: &str, name: &str) -> bool {
        let heads = self.objects.get(kind).into_iter().flatten().filter_map(|bytes| Head::of(bytes));
        heads.into_iter().any(|head| head.metadata.name.as_deref() == Some(name))
    }

    /// Pods that somebody controls and that run or will.
    pub(crate) fn pods_of(&self, owner: &ObjectMeta) -> Vec<Pod> {
        let pods = self.kind::<Pod>().into_iter();
        pods.filter(|pod| controller(&pod.metadata) == owner.uid.as_deref() && is_active(pod)).collect()
    }
}

/// What doesn't hold, in words.
pub(crate) fn broken(store: &Snapshot, load: Option<i64>) -> Vec<String> {
    let all = All::of(store);
    let mut wrong = Vec::new();
    owners(&all, &mut wrong);
    sets::check(&all, &mut wrong);
    work::check(&all, &mut wrong);
    endpoints(&all, &mut wrong);
    claims::check(&all, &mut wrong);
    order::check(&all, load, &mut wrong);
    wrong
}

/// Nobody is left whose owners are gone, and nobody is still on the way out.
fn owners(all: &All<'_>, wrong: &mut Vec<String>) {
    let heads: Vec<Head> = all.objects.values().flatten().filter_map(|bytes| Head::of(bytes)).collect();
    let uids: BTreeSet<&str> = heads.iter().filter_map(|head| head.metadata.uid.as_deref()).collect();
    for head in &heads {
        let name = head.metadata.name.as_deref().unwrap_or_default();
        if head.metadata.deletion_timestamp.is_some() {
            wrong.push(format!("{} {name} is still leaving", head.kind));
        }
        for owner in head.metadata.owner_references.iter().flatten() {
            if !uids.contains(owner.uid.as_str()) {
                wrong.push(format!(
                    "{} {name} is owned by {} {}, which is gone",
                    head.kind, owner.kind, owner.name
                ));
            }
        }
        let controllers =
            head.metadata.owner_references.iter().flatten().filter(|owner| owner.controller == Some(true));
        if controllers.count() > 1 {
            wrong.push(format!("{} {name} has two controllers", head.kind));
        }
    }
}

fn endpoints(all: &All<'_>, wrong: &mut Vec<String>) {
    let slices = all.kind::<EndpointSlice>();
    for service in all.kind::<Service>() {
        let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.clone()) else { continue };
        let name = service.name_any();
        let pods = all.kind::<Pod>().into_iter().filter(|pod| {
            selector.iter().all(|(label, value)| pod.labels().get(label) == Some(value)) && is_ready(pod)
        });
        let wanted: BTreeSet<String> = pods.filter_map(|pod| pod.status?.pod_ip).collect();
        let of_service =
            |slice: &&EndpointSlice| slice.labels().get("kubernetes.io/service-name") == Some(&name);
        let mut listed = Vec::new();
        for slice in slices.iter().filter(of_service) {
            for endpoint in slice.endpoints.iter().flatten() {
                if endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true) {
                    listed.extend(endpoint.addresses.iter().cloned());
                }
            }
        }
        let distinct: BTreeSet<String> = listed.iter().cloned().collect();
        if distinct.len() != listed.len() {
            wrong.push(format!("Service {name} has an address twice: {listed:?}"));
        }
        if distinct != wanted {
            wrong.push(format!("Service {name} leads to {distinct:?} instead of {wanted:?}"));
        }
    }
}

pub(crate) fn controller(meta: &ObjectMeta) -> Option<&str> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

pub(crate) fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, "Succeeded" | "Failed")
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    is_active(pod) && conditions.into_iter().any(|known| known.type_ == "Ready" && known.status == "True")
}

/// Says what differs between what was wanted and what is.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    wrong: &mut Vec<String>,
    whose: &impl Watched,
    what: &str,
    is: T,
    wanted: T,
) {
    if is != wanted {
        let kind = kind_of(whose);
        wrong.push(format!("{kind} {}: {what} is {is:?} instead of {wanted:?}", Key::of(whose)));
    }
}

fn kind_of<K: Watched>(_: &K) -> String {
    K::kind(&()).into_owned()
}
