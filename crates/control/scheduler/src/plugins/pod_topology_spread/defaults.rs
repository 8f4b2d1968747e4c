//! Which pods are of a kind with a pod that doesn't say so: those of the same services and of the same owner.

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use kedge_engine::{Key, NotReady, World};

use crate::pod::PodView;
use crate::select::{Labels, Requirement, Selector};

/// Everything if nothing is known about the pod.
pub(super) fn selector(pod: &PodView, world: &World) -> Result<Selector, NotReady> {
    let mut labels = Labels::new();
    for service in world.cache::<Service>()?.in_namespace(&pod.key.namespace) {
        let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let selected =
            |selector: &&Labels| selector.iter().all(|(key, value)| pod.labels.get(key) == Some(value));
        labels.extend(
            selector.filter(selected).into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    let mut all = Selector::of_map(&labels);
    let Some(owner) = &pod.owner else { return Ok(all) };
    let key = Key::new(pod.key.namespace.clone(), owner.name.clone());
    let also = match (&*owner.api_version, &*owner.kind) {
        ("v1", "ReplicationController") => {
            let owner = world.get::<ReplicationController>(&key)?;
            let selector = owner.as_ref().and_then(|owner| owner.spec.as_ref()?.selector.as_ref());
            selector.map(Selector::of_map)
        }
        ("apps/v1", "ReplicaSet") => {
            let owner = world.get::<ReplicaSet>(&key)?;
            owner.and_then(|owner| owner.spec.as_ref().map(|spec| Selector::of(Some(&spec.selector))))
        }
        ("apps/v1", "StatefulSet") => {
            let owner = world.get::<StatefulSet>(&key)?;
            owner.and_then(|owner| owner.spec.as_ref().map(|spec| Selector::of(Some(&spec.selector))))
        }
        _ => None,
    };
    let also: Vec<Requirement> = match also {
        Some(Selector::All(requirements)) => requirements,
        Some(Selector::Nothing) | None => Vec::new(),
    };
    for requirement in also {
        all.and(requirement);
    }
    Ok(all)
}
