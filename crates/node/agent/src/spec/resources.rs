//! Requests and limits as cgroups know them, and what a pod's requests say about who goes first when memory runs out.

mod amounts;
mod oom;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use kedge_kinds::Quantity;
use kedge_runtime::wire::{HugepageLimit, LinuxContainerResources};
use kedge_usage::{Cpu, Limits};

pub(crate) use self::amounts::{limits, requests};

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

/// What containers have to know of the machine that they run on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// In bytes.
    pub(crate) memory: i64,
    /// Cgroups are of version 2.
    pub(crate) is_unified: bool,
    pub(crate) limits_swap: bool,
    /// The sizes of huge pages as the kernel writes them: `2MB`.
    pub(crate) huge_pages: Vec<String>,
    /// Where seccomp profiles of this node are.
    pub(crate) seccomp: PathBuf,
    /// The kernel can confine programs by AppArmor.
    pub(crate) apparmor: bool,
}

/// What one container may use.
pub(crate) fn of_container(pod: &Pod, container: &Container, machine: &Machine) -> LinuxContainerResources {
    let wanted = container.resources.as_ref().unwrap_or(&NOTHING);
    let pods = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()).unwrap_or(&NOTHING);
    let (requests, limits) = (wanted.requests.as_ref(), wanted.limits.as_ref());
    // Whoever is not limited himself is limited with all of the pod.
    let or_pods = |own: i64, all: i64| if own == 0 { all } else { own };
    let limit = or_pods(milli(limits, "cpu"), milli(pods.limits.as_ref(), "cpu"));
    let memory = or_pods(whole(limits, "memory"), whole(pods.limits.as_ref(), "memory"));
    // Whoever limits himself and asks for nothing asks for his limit.
    let request = requests.and_then(|requests| requests.get("cpu")).map(|_| milli(requests, "cpu"));
    // A process that is killed for memory takes the whole container along, where the kernel can do that.
    let unified = HashMap::from([("memory.oom.group".to_owned(), "1".to_owned())]);
    LinuxContainerResources {
        cpu_shares: shares(request.unwrap_or(limit)),
        cpu_quota: quota(limit),
        cpu_period: PERIOD,
        memory_limit_in_bytes: memory,
        memory_swap_limit_in_bytes: if machine.limits_swap { memory } else { 0 },
        oom_score_adj: oom::score(pod, container, machine.memory),
        hugepage_limits: huge_pages(&[pods.limits.as_ref(), limits], machine),
        unified: if machine.is_unified { unified } else { HashMap::new() },
        ..LinuxContainerResources::default()
    }
}

/// What all containers of a pod may use together.
pub(crate) fn of_pod(pod: &Pod, most_processes: Option<u64>) -> Limits {
    let (requests, limits) = (requests(pod), limits(pod));
    let milli = |amounts: &BTreeMap<String, Quantity>| amounts.get("cpu").map_or(0, Quantity::milli_value);
    let positive = |amount: i64| u64::try_from(amount).unwrap_or(0);
    let (cpu, memory) = amounts::are_limited(pod);
    let class = Qos::of(pod);
    let guaranteed = class == Qos::Guaranteed;
    let asked = if class == Qos::BestEffort { 0 } else { milli(&requests) };
    let quota = quota(milli(&limits));
    let huge_pages = requests.iter().filter_map(|(name, amount)| {
        Some((page_size(name.strip_prefix("hugepages-")?)?, positive(amount.value())))
    });
    Limits {
        cpu: Cpu {
            shares: Some(positive(shares(asked))),
            // A limit that is taken away while the pod runs has to be said as well.
            quota: Some((guaranteed || cpu).then(|| positive(quota)).filter(|quota| *quota > 0)),
            period: positive(PERIOD),
        },
        memory: limits
            .get("memory")
            .filter(|_| guaranteed || memory)
            .map(|amount| positive(amount.value()))
            .filter(|bytes| *bytes > 0),
        processes: most_processes,
        huge_pages: huge_pages.collect(),
    }
}

/// Every size that the machine has is limited; a size that nobody asks for, to nothing.
fn huge_pages(lists: &[Option<&Amounts>], machine: &Machine) -> Vec<HugepageLimit> {
    let limit_of = |size: &str| {
        let all = lists.iter().rev().flat_map(|list| list.iter().flat_map(|list| list.iter()));
        let mut mine = all.filter_map(|(name, amount)| {
            let named = page_size(name.strip_prefix("hugepages-")?)?;
            (named == size).then(|| amount.0.parse::<Quantity>().map_or(0, |amount| amount.value()))
        });
        u64::try_from(mine.next().unwrap_or(0)).unwrap_or(0)
    };
    let limits = machine.huge_pages.iter();
    limits.map(|size| HugepageLimit { page_size: size.clone(), limit: limit_of(size) }).collect()
}

/// `2Mi` as the kernel writes it: `2MB`.
fn page_size(written: &str) -> Option<String> {
    let bytes = u64::try_from(written.parse::<Quantity>().ok()?.value()).ok()?;
    let (unit, shift) =
        [("GB", 30), ("MB", 20), ("KB", 10)].into_iter().find(|(_, shift)| bytes >> shift > 0)?;
    Some(format!("{}{unit}", bytes >> shift))
}

pub(crate) fn shares(milli_cpu: i64) -> i64 {
    (milli_cpu.saturating_mul(SHARES_PER_CORE) / 1000).clamp(LEAST_SHARES, MOST_SHARES)
}

/// None is no limit.
pub(crate) fn quota(milli_cpu: i64) -> i64 {
    if milli_cpu <= 0 { 0 } else { (milli_cpu.saturating_mul(PERIOD) / 1000).max(LEAST_QUOTA) }
}

pub(crate) type Amounts = BTreeMap<String, Written>;

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
