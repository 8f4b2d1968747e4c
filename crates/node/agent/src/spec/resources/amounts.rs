//! What a whole pod asks for and is limited to: what its containers want together, or an init container beside the sidecars
//! before it if that is more; what the pod itself says comes first, and its overhead on top.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use kedge_kinds::Quantity;

use super::{Amounts, NOTHING};
use crate::plan::is_sidecar;

type Sum = BTreeMap<String, Quantity>;

pub(crate) fn requests(pod: &Pod) -> Sum {
    total(pod, |wanted| wanted.requests.as_ref(), true)
}

pub(crate) fn limits(pod: &Pod) -> Sum {
    total(pod, |wanted| wanted.limits.as_ref(), false)
}

/// Whether there is a limit of CPU and of memory for the pod as a whole: one container without is one too many.
pub(super) fn are_limited(pod: &Pod) -> (bool, bool) {
    let Some(spec) = &pod.spec else { return (false, false) };
    let own = spec.resources.as_ref().unwrap_or(&NOTHING);
    let is_limited = |resource: &str| {
        let limits = |wanted: &ResourceRequirements| super::milli(wanted.limits.as_ref(), resource) > 0;
        let mut all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        limits(own) || all.all(|container| container.resources.as_ref().is_some_and(limits))
    };
    (is_limited("cpu"), is_limited("memory"))
}

fn total(pod: &Pod, list: fn(&ResourceRequirements) -> Option<&Amounts>, overhead_alone: bool) -> Sum {
    let Some(spec) = &pod.spec else { return Sum::new() };
    let of = |container: &Container| read(container.resources.as_ref().and_then(list));
    let mut sum = Sum::new();
    spec.containers.iter().for_each(|container| add(&mut sum, &of(container)));
    let (mut sidecars, mut highest) = (Sum::new(), Sum::new());
    for container in spec.init_containers.iter().flatten() {
        let mut beside = of(container);
        if is_sidecar(container) {
            add(&mut sum, &beside);
            add(&mut sidecars, &beside);
            beside.clone_from(&sidecars);
        } else {
            add(&mut beside, &sidecars);
        }
        raise(&mut highest, &beside);
    }
    raise(&mut sum, &highest);
    for (name, amount) in read(spec.resources.as_ref().and_then(list)) {
        if matches!(&*name, "cpu" | "memory") || name.starts_with("hugepages-") {
            sum.insert(name, amount);
        }
    }
    let mut overhead = read(spec.overhead.as_ref());
    // What is not limited is not limited to its overhead.
    overhead.retain(|name, _| overhead_alone || sum.get(name).is_some_and(|amount| !amount.is_zero()));
    add(&mut sum, &overhead);
    sum
}

fn read(amounts: Option<&Amounts>) -> Sum {
    let amounts = amounts.into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?))).collect()
}

fn add(sum: &mut Sum, more: &Sum) {
    for (name, amount) in more {
        let before = sum.get(name).copied().unwrap_or(Quantity::ZERO);
        sum.insert(name.clone(), before.plus(amount));
    }
}

fn raise(sum: &mut Sum, least: &Sum) {
    for (name, amount) in least {
        if sum.get(name).is_none_or(|before| before < amount) {
            sum.insert(name.clone(), *amount);
        }
    }
}
