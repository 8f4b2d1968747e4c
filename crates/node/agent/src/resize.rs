//! Other amounts for containers that are there: what a pod asks for, what it is granted, and what its containers were told.
//! Pure. What was granted stands in the pod's status, so that the next agent knows it.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};

use crate::admit::Short;
use crate::memory::{Memory, Pending};
use crate::plan::containers;
use crate::spec::resources::Amounts;
use crate::view::{Made, View};

const RESIZABLE: [&str; 2] = ["cpu", "memory"];

/// What a running container needs so that it has what it was granted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    None,
    To(ResourceRequirements),
    /// It wants to be started anew.
    Restart,
}

pub(crate) fn change(memory: &Memory, container: &Container, made: &Made) -> Change {
    let (Some(granted), Some(applied)) = (memory.granted.get(&container.name), memory.applied.get(&made.id))
    else {
        return Change::None;
    };
    let changed: Vec<&str> =
        RESIZABLE.into_iter().filter(|resource| !is_same(granted, applied, resource)).collect();
    if changed.is_empty() {
        return Change::None;
    }
    let policies = container.resize_policy.iter().flatten();
    let restarts = policies.into_iter().any(|policy| {
        policy.restart_policy == "RestartContainer" && changed.contains(&&*policy.resource_name)
    });
    if restarts { Change::Restart } else { Change::To(granted.clone()) }
}

/// What the pod as a whole has to be told, if it does not have what it was granted.
pub(crate) fn change_of_all(memory: &Memory) -> Option<ResourceRequirements> {
    let (granted, applied) = (memory.granted_to_all.as_ref()?, memory.applied_to_all.as_ref()?);
    let is_changed = RESIZABLE.iter().any(|resource| !is_same(granted, applied, resource));
    is_changed.then(|| granted.clone())
}

/// Learns what containers may have and were told: from the status for what was there before, else from the pod.
pub(crate) fn learn(pod: &Pod, view: &View, memory: &mut Memory) {
    let Some(spec) = &pod.spec else { return };
    let status = pod.status.as_ref();
    let told = |name: &str| {
        let lists = status.map(|status| [&status.container_statuses, &status.init_container_statuses]);
        lists.into_iter().flatten().flatten().flatten().find(|told| told.name == name)
    };
    if let Some(wanted) = spec.resources.as_ref().filter(|_| memory.granted_to_all.is_none()) {
        let before = status.and_then(|status| status.resources.as_ref());
        let before = before.map_or_else(|| wanted.clone(), |before| said_by(wanted, before));
        memory.applied_to_all = Some(before.clone());
        memory.granted_to_all = Some(before);
    }
    for container in containers(spec) {
        let name = &container.name;
        let wanted = container.resources.clone().unwrap_or_default();
        if !memory.granted.contains_key(name) {
            let before = told(name).and_then(|told| told.resources.clone());
            memory.granted.insert(name.clone(), before.unwrap_or(wanted));
        }
        let Some(made) = view.latest(name).filter(|made| made.is_running()) else { continue };
        if !memory.applied.contains_key(&made.id) {
            let before = told(name)
                .filter(|told| told.container_id.as_deref().is_some_and(|id| id.ends_with(&*made.id)));
            let before = before.and_then(|told| told.resources.clone());
            let granted = memory.granted.get(name).cloned();
            let given = before.or_else(|| memory.given.get(name).cloned()).or(granted);
            memory.applied.insert(made.id.clone(), given.unwrap_or_default());
        }
    }
    memory.applied.retain(|id, _| view.containers.iter().any(|made| made.id == *id));
}

/// Whether the pod asks for something else than it was granted.
pub(crate) fn is_asked_for(pod: &Pod, memory: &Memory) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let wanted = spec.resources.clone().unwrap_or_default();
    let granted = memory.granted_to_all.clone().unwrap_or_default();
    if RESIZABLE.iter().any(|resource| !is_same(&wanted, &granted, resource)) {
        return true;
    }
    containers(spec).any(|container| {
        let granted = memory.granted.get(&container.name).cloned().unwrap_or_default();
        let wanted = container.resources.clone().unwrap_or_default();
        RESIZABLE.iter().any(|resource| !is_same(&wanted, &granted, resource))
    })
}

/// Grants what the pod asks for.
pub(crate) fn grant(pod: &Pod, memory: &mut Memory) {
    let Some(spec) = &pod.spec else { return };
    for container in containers(spec) {
        let wanted = container.resources.clone().unwrap_or_default();
        memory.granted.insert(container.name.clone(), wanted);
    }
    if let Some(wanted) = &spec.resources {
        memory.granted_to_all = Some(wanted.clone());
        // Whoever said nothing before was not limited as a whole.
        memory.applied_to_all.get_or_insert_default();
    }
    memory.pending = None;
    memory.unapplied = None;
    memory.resizing = Some(pod.metadata.generation);
}

/// Why the pod does not get it: never, if the node is too small for it alone.
pub(crate) fn defer(pod: &Pod, short: &Short) -> Pending {
    let Short { resource, wanted, used, capacity } = short;
    let generation = pod.metadata.generation;
    if wanted > capacity {
        let message = format!(
            "Node didn't have enough capacity: {resource}, requested: {wanted}, capacity: {capacity}"
        );
        return Pending { reason: "Infeasible", message, generation };
    }
    let message = format!(
        "Node didn't have enough resource: {resource}, requested: {wanted}, used: {used}, capacity: {capacity}"
    );
    Pending { reason: "Deferred", message, generation }
}

/// Whatever there is room for, this pod does not get it.
pub(crate) fn never(pod: &Pod, message: &str) -> Pending {
    Pending { reason: "Infeasible", message: message.to_owned(), generation: pod.metadata.generation }
}

/// All that runs has what it was granted.
pub(crate) fn is_done(spec: &PodSpec, view: &View, memory: &Memory) -> bool {
    let whole = view.ready_sandbox().is_none() || change_of_all(memory).is_none();
    whole
        && containers(spec).all(|container| {
            let made = view.latest(&container.name).filter(|made| made.is_running());
            made.is_none_or(|made| change(memory, container, made) == Change::None)
        })
}

/// The pod with what it was granted in the place of what it asks for.
pub(crate) fn effective(pod: &Pod, memory: &Memory) -> Option<Pod> {
    if !is_asked_for(pod, memory) {
        return None;
    }
    let mut pod = pod.clone();
    let spec = pod.spec.as_mut()?;
    spec.resources.clone_from(&memory.granted_to_all);
    let init = spec.init_containers.iter_mut().flatten();
    for container in spec.containers.iter_mut().chain(init) {
        if let Some(granted) = memory.granted.get(&container.name) {
            container.resources = Some(granted.clone());
        }
    }
    Some(pod)
}

/// What a resize is told with in events.
pub(crate) fn summary(pod: &Pod, what: &str, generation: Option<i64>, error: Option<&str>) -> String {
    let spec = pod.spec.clone().unwrap_or_default();
    let of = |containers: Vec<Container>| -> Vec<serde_json::Value> {
        let one = |container: Container| serde_json::json!({"name": container.name, "resources": container.resources.unwrap_or_default()});
        containers.into_iter().map(one).collect()
    };
    let mut told = serde_json::Map::new();
    let init = of(spec.init_containers.unwrap_or_default());
    if !init.is_empty() {
        told.insert("initContainers".to_owned(), init.into());
    }
    told.insert("containers".to_owned(), of(spec.containers).into());
    told.insert("generation".to_owned(), generation.unwrap_or_default().into());
    if let Some(error) = error {
        told.insert("error".to_owned(), error.into());
    }
    format!("Pod resize {what}: {}", serde_json::Value::from(told))
}

/// Of what was told about a pod, what the pod itself has a say in: the rest is the sum of its containers'.
fn said_by(wanted: &ResourceRequirements, told: &ResourceRequirements) -> ResourceRequirements {
    let kept = |wanted: &Option<Amounts>, told: &Option<Amounts>| {
        let names = wanted.as_ref()?;
        let told = told.iter().flatten().filter(|(name, _)| names.contains_key(*name));
        Some(told.map(|(name, amount)| (name.clone(), amount.clone())).collect::<Amounts>())
    };
    ResourceRequirements {
        requests: kept(&wanted.requests, &told.requests),
        limits: kept(&wanted.limits, &told.limits),
        claims: wanted.claims.clone(),
    }
}

fn is_same(one: &ResourceRequirements, other: &ResourceRequirements, resource: &str) -> bool {
    let amounts = |wanted: &ResourceRequirements| {
        let read = |list: &Option<std::collections::BTreeMap<String, _>>| {
            let amount: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> =
                list.as_ref().and_then(|list| list.get(resource));
            amount.and_then(|amount| amount.0.parse::<kedge_kinds::Quantity>().ok())
        };
        (read(&wanted.requests), read(&wanted.limits))
    };
    amounts(one) == amounts(other)
}

#[cfg(test)]
mod tests;
