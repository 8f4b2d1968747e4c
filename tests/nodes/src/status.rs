//! A pod's status as a node reports it: phase, addresses and conditions made from what its containers do.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::containers::{begun, ended};
use crate::machine::Machine;
use crate::script::{READY, annotation};

pub(crate) fn report(
    pod: &Pod,
    machine: &Machine,
    address: Ipv4Addr,
    mut containers: Vec<ContainerStatus>,
    phase: &str,
    now: Timestamp,
) -> PodStatus {
    let before = pod.status.clone().unwrap_or_default();
    if annotation(pod, READY) == Some("false") {
        containers.iter_mut().for_each(|container| container.ready = false);
    }
    let spec = pod.spec.clone().unwrap_or_default();
    let address = if spec.host_network == Some(true) { machine.address } else { address }.to_string();
    let address = before.pod_ip.clone().unwrap_or(address);
    let has_address = phase != "Pending";
    let is_over = matches!(phase, "Succeeded" | "Failed");
    let init: Vec<ContainerStatus> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| {
            let known = before.init_container_statuses.iter().flatten();
            let known = known.into_iter().find(|status| status.name == container.name);
            let status = known.cloned().unwrap_or_else(|| begun(container, 0, now));
            let stays = container.restart_policy.as_deref() == Some("Always") && !is_over;
            let runs = status.state.as_ref().is_some_and(|state| state.running.is_some());
            if stays || !runs { status } else { ended(&status, 0, now) }
        })
        .collect();
    PodStatus {
        phase: Some(phase.to_owned()),
        observed_generation: pod.metadata.generation,
        host_ip: Some(machine.address.to_string()),
        host_ips: Some(vec![HostIP { ip: machine.address.to_string() }]),
        pod_ips: has_address.then(|| vec![PodIP { ip: address.clone() }]),
        pod_ip: has_address.then_some(address),
        start_time: before.start_time.clone().or(Some(Time(now))),
        conditions: Some(conditions(pod, &containers, phase, now)),
        init_container_statuses: if has_address && !init.is_empty() {
            Some(init)
        } else {
            before.init_container_statuses.clone()
        },
        container_statuses: Some(containers),
        ..before
    }
}

/// Those that are a node's to report are made anew; others stay as they are.
fn conditions(pod: &Pod, containers: &[ContainerStatus], phase: &str, now: Timestamp) -> Vec<PodCondition> {
    let mut all = pod.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let unready: Vec<&str> =
        containers.iter().filter(|status| !status.ready).map(|status| status.name.as_str()).collect();
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let waits_for_gate = gates
        .into_iter()
        .any(|gate| !all.iter().any(|known| known.type_ == gate.condition_type && known.status == "True"));
    let why_not = match phase {
        "Succeeded" => Some(("PodCompleted", String::new())),
        "Failed" => Some(("PodFailed", String::new())),
        _ if !unready.is_empty() => {
            Some(("ContainersNotReady", format!("containers with unready status: [{}]", unready.join(" "))))
        }
        _ => None,
    };
    let gate = (waits_for_gate && why_not.is_none())
        .then(|| ("ReadinessGatesNotReady", "some readiness gates are not true".to_owned()));
    let begun = phase != "Pending";
    let scheduled = all.iter().any(|known| known.type_ == "PodScheduled" && known.status == "True");
    let mut set = |type_: &str, holds: bool, why: Option<&(&str, String)>| {
        let status = if holds { "True" } else { "False" };
        let new = PodCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: why.map(|(reason, _)| (*reason).to_owned()),
            message: why.map(|(_, message)| message.clone()).filter(|message| !message.is_empty()),
            observed_generation: pod.metadata.generation,
            last_transition_time: Some(Time(now)),
            last_probe_time: None,
        };
        match all.iter_mut().find(|known| known.type_ == type_) {
            Some(known) => {
                let since = known.last_transition_time.clone().filter(|_| known.status == new.status);
                *known =
                    PodCondition { last_transition_time: since.or(new.last_transition_time.clone()), ..new };
            }
            None => all.push(new),
        }
    };
    let still_runs = !matches!(phase, "Succeeded" | "Failed");
    set("PodReadyToStartContainers", begun && still_runs, None);
    set("Initialized", begun, None);
    set("Ready", why_not.is_none() && gate.is_none(), why_not.as_ref().or(gate.as_ref()));
    set("ContainersReady", why_not.is_none(), why_not.as_ref());
    // The scheduler's, unless somebody bound the pod by hand.
    if !scheduled {
        set("PodScheduled", true, None);
    }
    all
}
