//! Whole CPUs for those who ask for whole ones and nothing less: they have them alone, and everybody else shares the rest. Who
//! has which is written down before it is used, so that the next agent knows it. Without the policy nobody is bound to any.

mod choose;
mod keep;
mod record;
mod set;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{Container, Pod};
use parking_lot::Mutex;
use tokio::sync::watch;

use self::choose::choose;
use self::record::Record;
pub use self::set::{CpuSet, CpuSetError};
use self::topology::Topology;
use crate::memory::Verdict;
use crate::plan::is_sidecar;
use crate::spec::resources::{self, Qos};

/// Whether containers may have CPUs alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CpuPolicy {
    #[default]
    None,
    /// All but these, which are never given away.
    Static { reserved: CpuSet },
}

#[derive(Debug, thiserror::Error)]
pub enum CpusError {
    #[error(
        "the static CPU policy needs at least one reserved CPU: give --reserved-cpus or a CPU amount with --system-reserved"
    )]
    NoReserve,
    #[error("this machine has no CPU {missing}: it has {there}")]
    Unknown { missing: CpuSet, there: CpuSet },
}

/// By the pod's uid and the container's name.
type Given = BTreeMap<String, BTreeMap<String, CpuSet>>;

/// Who has which.
pub(crate) struct Cpus {
    inner: Option<Inner>,
}

struct Inner {
    topology: Topology,
    reserved: CpuSet,
    file: PathBuf,
    given: Mutex<Given>,
    /// What everybody else has.
    shared: watch::Sender<CpuSet>,
}

impl Cpus {
    /// Goes on from what was written down, as far as the machine and the reserve are still the same.
    pub(crate) fn open(policy: &CpuPolicy, file: PathBuf) -> Result<Self, CpusError> {
        let CpuPolicy::Static { reserved } = policy else {
            record::forget(&file);
            return Ok(Self { inner: None });
        };
        Self::on(Topology::here(), reserved, file)
    }

    fn on(topology: Topology, reserved: &CpuSet, file: PathBuf) -> Result<Self, CpusError> {
        let there = topology.all();
        let missing = reserved.without(&there);
        if !missing.is_empty() {
            return Err(CpusError::Unknown { missing, there });
        }
        if reserved.is_empty() {
            return Err(CpusError::NoReserve);
        }
        let given = Record::read(&file).map(|record| record.given).unwrap_or_default();
        let free = there.without(reserved);
        let fits = |sets: &BTreeMap<String, CpuSet>| sets.values().all(|set| set.without(&free).is_empty());
        let (given, lost): (Given, Given) = given.into_iter().partition(|(_, sets)| fits(sets));
        if !lost.is_empty() {
            tracing::warn!(pods = ?lost.keys(), "these pods had CPUs to themselves that cannot be given away any more");
        }
        let shared = there.without(&all(&given));
        let inner = Inner {
            topology,
            reserved: reserved.clone(),
            file,
            given: Mutex::new(given),
            shared: watch::Sender::new(shared),
        };
        Ok(Self { inner: Some(inner) })
    }

    /// Gives a pod's containers what they ask for, all or nothing.
    pub(crate) fn admit(&self, pod: &Pod) -> Result<(), Verdict> {
        let Some(inner) = &self.inner else { return Ok(()) };
        let wanted = wanted(pod);
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let mut given = inner.given.lock();
        if wanted.is_empty() || given.contains_key(&uid) {
            return Ok(());
        }
        let free = inner.topology.all().without(&inner.reserved).without(&all(&given));
        let sets = share_out(&inner.topology, free, &wanted).map_err(|(requested, available)| {
            let message = format!(
                "Allocate failed due to not enough cpus available to satisfy request: \
                 requested={requested}, available={available}, which is unexpected"
            );
            Verdict::new("UnexpectedAdmissionError", message)
        })?;
        given.insert(uid, sets);
        inner.settle(&given);
        Ok(())
    }

    /// What a pod had to itself is everybody's again.
    pub(crate) fn release(&self, uid: &str) {
        let Some(inner) = &self.inner else { return };
        let mut given = inner.given.lock();
        if given.remove(uid).is_some() {
            inner.settle(&given);
        }
    }

    /// Only these pods are left.
    pub(crate) fn retain(&self, is_known: impl Fn(&str) -> bool) {
        let Some(inner) = &self.inner else { return };
        let mut given = inner.given.lock();
        let before = given.len();
        given.retain(|uid, _| is_known(uid));
        if given.len() != before {
            inner.settle(&given);
        }
    }

    /// The CPUs of a container; none if it is bound to none.
    pub(crate) fn of(&self, uid: &str, container: &str) -> Option<CpuSet> {
        let inner = self.inner.as_ref()?;
        let given = inner.given.lock();
        let own = given.get(uid).and_then(|sets| sets.get(container)).cloned();
        Some(own.unwrap_or_else(|| inner.shared.borrow().clone()))
    }

    /// Whether a pod has CPUs to itself, which it can have neither more nor less of later.
    pub(crate) fn binds(&self, uid: &str) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.given.lock().contains_key(uid))
    }
}

impl Inner {
    fn settle(&self, given: &Given) {
        let shared = self.topology.all().without(&all(given));
        if let Err(error) = (Record { given: given.clone() }).write(&self.file) {
            tracing::warn!(%error, "cannot write down who has which CPUs");
        }
        self.shared.send_if_modified(|held| {
            let is_new = *held != shared;
            *held = shared;
            is_new
        });
    }
}

fn all(given: &Given) -> CpuSet {
    given.values().flat_map(BTreeMap::values).fold(CpuSet::default(), |all, set| all.with(set))
}

/// A container that asks for whole CPUs, and whether it has ended when the others begin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    container: String,
    cpus: usize,
    ends: bool,
}

fn wanted(pod: &Pod) -> Vec<Wanted> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    if Qos::of(pod) != Qos::Guaranteed {
        return Vec::new();
    }
    let one = |container: &Container, ends| {
        let resources = container.resources.as_ref();
        // Whoever limits himself and asks for nothing asks for his limit.
        let asked = resources.and_then(|it| it.requests.as_ref()).filter(|list| list.contains_key("cpu"));
        let milli = resources::milli(asked.or(resources.and_then(|it| it.limits.as_ref())), "cpu");
        let cpus = usize::try_from(milli / 1000).unwrap_or(0);
        let is_whole = milli > 0 && milli % 1000 == 0;
        is_whole.then(|| Wanted { container: container.name.clone(), cpus, ends })
    };
    let init = spec.init_containers.iter().flatten();
    let init = init.filter_map(|container| one(container, !is_sidecar(container)));
    init.chain(spec.containers.iter().filter_map(|container| one(container, false))).collect()
}

/// What init containers had, those after them have. Fails with what was asked for and what was there.
fn share_out(
    topology: &Topology,
    mut free: CpuSet,
    wanted: &[Wanted],
) -> Result<BTreeMap<String, CpuSet>, (usize, usize)> {
    let mut sets = BTreeMap::new();
    let mut again = CpuSet::default();
    for Wanted { container, cpus, ends } in wanted {
        let reused = choose(topology, &again, (*cpus).min(again.len())).unwrap_or_default();
        let missing = cpus - reused.len();
        let new = choose(topology, &free, missing).ok_or_else(|| (*cpus, free.len() + again.len()))?;
        free = free.without(&new);
        let set = reused.with(&new);
        again = if *ends { again.with(&set) } else { again.without(&set) };
        sets.insert(container.clone(), set);
    }
    Ok(sets)
}

/// The lowest CPUs that a reserve of this size needs.
pub fn lowest(milli: i64) -> CpuSet {
    let count = usize::try_from(milli.max(0)).unwrap_or(0).div_ceil(1000);
    let topology = Topology::here();
    let all: BTreeSet<u32> = topology.all().iter().take(count).collect();
    CpuSet::from(all)
}

#[cfg(test)]
mod tests;
