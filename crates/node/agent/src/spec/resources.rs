//! Requests and limits as cgroups know them, and what a pod's requests say about who goes first when memory runs out.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use kedge_kinds::Quantity;
use kedge_runtime::wire::LinuxContainerResources;

/// One core for one second, as the kernel's scheduler weighs it.
const SHARES_PER_CORE: i64 = 1024;
const LEAST_SHARES: i64 = 2;
const MOST_SHARES: i64 = 262_144;
/// Microseconds over which a quota counts.
const PERIOD: i64 = 100_000;
const LEAST_QUOTA: i64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Qos {
    Guaranteed,
    Burstable,
    BestEffort,
}

impl Qos {
    /// As the status says it, or else as the containers have it.
    pub(crate) fn of(pod: &Pod) -> Self {
        match pod.status.as_ref().and_then(|status| status.qos_class.as_deref()) {
            Some("Guaranteed") => Self::Guaranteed,
            Some("Burstable") => Self::Burstable,
            Some("BestEffort") => Self::BestEffort,
            _ => Self::by_containers(pod),
        }
    }

    fn by_containers(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::BestEffort };
        let own = spec.resources.as_ref();
        let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let wanted: Vec<&ResourceRequirements> = match own {
            Some(own) => vec![own],
            None => all.map(|container| container.resources.as_ref().unwrap_or(&NOTHING)).collect(),
        };
        let asks = |wanted: &ResourceRequirements, resource: &str| {
            milli(wanted.requests.as_ref(), resource) > 0 || milli(wanted.limits.as_ref(), resource) > 0
        };
        if !wanted.iter().any(|wanted| asks(wanted, "cpu") || asks(wanted, "memory")) {
            return Self::BestEffort;
        }
        let exact = |wanted: &ResourceRequirements| {
            ["cpu", "memory"].iter().all(|resource| {
                let limit = milli(wanted.limits.as_ref(), resource);
                let request = wanted.requests.as_ref().and_then(|requests| requests.get(*resource));
                limit > 0 && request.is_none_or(|_| milli(wanted.requests.as_ref(), resource) == limit)
            })
        };
        if wanted.iter().all(|wanted| exact(wanted)) { Self::Guaranteed } else { Self::Burstable }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }
}

static NOTHING: ResourceRequirements = ResourceRequirements { claims: None, limits: None, requests: None };

/// The folder of a pod's cgroup below the node's.
pub(crate) fn cgroup(root: &str, pod: &Pod) -> String {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    match Qos::of(pod) {
        Qos::Guaranteed => format!("{root}/pod{uid}"),
        Qos::Burstable => format!("{root}/burstable/pod{uid}"),
        Qos::BestEffort => format!("{root}/besteffort/pod{uid}"),
    }
}

/// What one container may use. `memory` is what the node has, for the order in which processes are killed.
pub(crate) fn of_container(pod: &Pod, container: &Container, memory: i64) -> LinuxContainerResources {
    let wanted = container.resources.as_ref().unwrap_or(&NOTHING);
    let (requests, limits) = (wanted.requests.as_ref(), wanted.limits.as_ref());
    let limit = milli(limits, "cpu");
    // Whoever limits himself and asks for nothing asks for his limit.
    let request = requests.and_then(|requests| requests.get("cpu")).map(|_| milli(requests, "cpu"));
    LinuxContainerResources {
        cpu_shares: shares(request.unwrap_or(limit)),
        cpu_quota: quota(limit),
        cpu_period: PERIOD,
        memory_limit_in_bytes: whole(limits, "memory"),
        oom_score_adj: oom_score(pod, whole(requests, "memory"), memory),
        ..LinuxContainerResources::default()
    }
}

pub(crate) fn shares(milli_cpu: i64) -> i64 {
    (milli_cpu.saturating_mul(SHARES_PER_CORE) / 1000).clamp(LEAST_SHARES, MOST_SHARES)
}

/// None is no limit.
pub(crate) fn quota(milli_cpu: i64) -> i64 {
    if milli_cpu <= 0 { 0 } else { (milli_cpu.saturating_mul(PERIOD) / 1000).max(LEAST_QUOTA) }
}

/// The higher, the sooner it is killed: whoever keeps to his requests goes last.
fn oom_score(pod: &Pod, request: i64, memory: i64) -> i64 {
    let spec = pod.spec.as_ref();
    let critical = 2_000_000_000;
    if spec.and_then(|spec| spec.priority).is_some_and(|priority| priority >= critical) {
        return -997;
    }
    match Qos::of(pod) {
        Qos::Guaranteed => -997,
        Qos::BestEffort => 1000,
        Qos::Burstable if memory <= 0 => 999,
        Qos::Burstable => {
            let share = i128::from(request) * 1000 / i128::from(memory);
            // Below the guaranteed ones and above the others, whatever it asks for.
            (1000 - i64::try_from(share).unwrap_or(1000)).clamp(3, 999)
        }
    }
}

type Amounts = BTreeMap<String, Written>;

fn amount(amounts: Option<&Amounts>, resource: &str) -> Option<Quantity> {
    amounts?.get(resource)?.0.parse().ok()
}

pub(crate) fn milli(amounts: Option<&Amounts>, resource: &str) -> i64 {
    amount(amounts, resource).map_or(0, |amount| amount.milli_value())
}

pub(crate) fn whole(amounts: Option<&Amounts>, resource: &str) -> i64 {
    amount(amounts, resource).map_or(0, |amount| amount.value())
}

#[cfg(test)]
mod tests;
