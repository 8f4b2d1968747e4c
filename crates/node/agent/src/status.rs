//! What a pod's status says. Pure, from the same situation that the plan is made from, so that both tell one story.

mod conditions;
mod containers;
mod phase;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{HostIP, PodIP, PodStatus, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use kedge_kinds::Quantity;

use self::containers::Part;
use crate::plan::{Situation, as_container};
use crate::resize::{change_of_all, effective};
use crate::spec::env::Place;
use crate::spec::resources::{Amounts, Qos, limits, requests};

/// The status that the pod should have now, other people's conditions kept.
pub(crate) fn status(situation: Situation<'_>, place: &Place) -> PodStatus {
    let pod = situation.pod;
    let Some(spec) = &pod.spec else { return PodStatus::default() };
    let before = pod.status.clone().unwrap_or_default();
    let init: Vec<_> = spec.init_containers.iter().flatten().collect();
    let debugging: Vec<_> = spec.ephemeral_containers.iter().flatten().map(as_container).collect();
    let main: Vec<_> = spec.containers.iter().collect();
    let main = containers::statuses(situation, spec, &main, Part::Main);
    let init = containers::statuses(situation, spec, &init, Part::Init);
    let debugging: Vec<_> = debugging.iter().collect();
    let debugging = containers::statuses(situation, spec, &debugging, Part::Debugging);
    let (phase, reason, message) = phase::phase(situation, spec, &init, &main);
    let conditions = conditions::conditions(situation, spec, phase, &init, &main);
    // Of a pod that was turned away there is nothing to say but that.
    let refused = situation.memory.verdict.is_some() && situation.view.containers.is_empty();
    let some = |list: Vec<_>| Some(list).filter(|list| !list.is_empty() && !refused);
    let pod_ips = some_ips(situation, place, &before);
    let (allocated, applied) = amounts(situation);
    PodStatus {
        phase: Some(phase.to_owned()),
        reason,
        message,
        conditions: Some(conditions),
        start_time: before.start_time.clone().or_else(|| situation.memory.begun.and_then(whole_second)),
        host_ip: place.node_ips.first().cloned(),
        host_ips: Some(place.node_ips.iter().map(|ip| HostIP { ip: ip.clone() }).collect()),
        pod_ip: pod_ips.first().cloned(),
        pod_ips: Some(pod_ips.into_iter().map(|ip| PodIP { ip }).collect::<Vec<_>>())
            .filter(|ips| !ips.is_empty()),
        qos_class: Some(Qos::of(pod).as_str().to_owned()),
        init_container_statuses: some(init),
        container_statuses: some(main),
        ephemeral_container_statuses: some(debugging),
        observed_generation: pod.metadata.generation,
        allocated_resources: allocated,
        resources: applied,
        ..before
    }
}

/// What was granted to a pod as a whole, and what it has.
fn amounts(situation: Situation<'_>) -> (Option<Amounts>, Option<ResourceRequirements>) {
    let Situation { pod, memory, .. } = situation;
    let granted = effective(pod, memory);
    let granted = granted.as_ref().unwrap_or(pod);
    let requests = written(requests(granted));
    let mut had = std::borrow::Cow::Borrowed(granted);
    if let Some(applied) = memory.applied_to_all.as_ref().filter(|_| change_of_all(memory).is_some()) {
        had.to_mut().spec.get_or_insert_default().resources = Some(applied.clone());
    }
    let applied = ResourceRequirements {
        requests: written(self::requests(&had)),
        limits: written(limits(&had)),
        claims: None,
    };
    (requests, Some(applied).filter(|applied| *applied != ResourceRequirements::default()))
}

fn written(amounts: BTreeMap<String, Quantity>) -> Option<Amounts> {
    let written = amounts.into_iter().map(|(name, amount)| (name, Written(amount.to_string())));
    Some(written.collect()).filter(|amounts: &Amounts| !amounts.is_empty())
}

/// A pod keeps its addresses on record when its sandbox is gone.
fn some_ips(situation: Situation<'_>, place: &Place, before: &PodStatus) -> Vec<String> {
    let shares = situation.pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
    if shares && !situation.view.sandboxes.is_empty() {
        return place.node_ips.clone();
    }
    match situation.view.ready_sandbox().filter(|sandbox| !sandbox.ips.is_empty()) {
        Some(sandbox) => sandbox.ips.clone(),
        None => before.pod_ips.iter().flatten().map(|ip| ip.ip.clone()).collect(),
    }
}

/// Kubernetes' times have whole seconds; what is read back must equal what was written.
fn whole_second(moment: Timestamp) -> Option<Time> {
    Timestamp::from_second(moment.as_second()).ok().map(Time)
}

#[cfg(test)]
mod tests;
