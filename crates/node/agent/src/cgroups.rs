//! Where a pod's processes are counted and limited: one cgroup for the node's pods, one for each class of them that has not
//! all that it needs, one for each pod; the runtime puts containers below it. Decides paths and drives the kernel's files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::Quantity;
use kedge_usage::{Cpu, Groups, Layout, Limits, Sample, UsageError, Version};

use crate::spec::resources::{self, Machine, Qos};
use crate::tools::Tools;

const BURSTABLE: &str = "burstable";
const BEST_EFFORT: &str = "besteffort";
const RECORD: &str = "cgroup";
const USUAL_DATA: &str = "/var/lib/kedge";

/// Who makes the cgroups of containers, and therefore how they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    #[default]
    Cgroupfs,
    Systemd,
}

#[derive(Clone)]
pub(crate) struct Cgroups {
    groups: Groups,
    driver: Driver,
    node: String,
    most_processes: Option<u64>,
    /// What was last said that burstable pods ask for, in thousandths of a core.
    weighed: Arc<AtomicI64>,
}

impl Cgroups {
    /// Makes those that all pods have in common.
    pub(crate) fn open(
        node: &str,
        data: &Path,
        driver: Driver,
        most_processes: Option<u64>,
    ) -> Result<Self, UsageError> {
        let groups = Groups::new(Layout::here()?);
        // Whoever clears up after us finds out what was ours.
        let record = data.join(RECORD);
        let this = Self {
            groups,
            driver,
            node: name(node, data),
            most_processes,
            weighed: Arc::new(AtomicI64::new(-1)),
        };
        let open = Limits::default();
        this.groups.make(&this.path(&[]), &open)?;
        this.groups.make(&this.path(&[BURSTABLE]), &open)?;
        this.groups.make(&this.path(&[BEST_EFFORT]), &shares(0))?;
        std::fs::write(&record, this.pods()).map_err(|source| UsageError::Io {
            what: "write",
            path: record,
            source,
        })?;
        Ok(this)
    }

    pub(crate) fn machine(&self, memory: i64, seccomp: &Path) -> Machine {
        Machine {
            memory,
            is_unified: self.groups.version() == Version::V2,
            limits_swap: self.groups.limits_swap(&self.pods()),
            huge_pages: Groups::huge_page_sizes(),
            seccomp: seccomp.to_owned(),
            apparmor: crate::admission::has_apparmor(),
        }
    }

    /// The cgroup of a pod, from the top.
    pub(crate) fn of(&self, pod: &Pod) -> String {
        self.path(&parts(pod).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What the runtime is told to put a pod's containers below.
    pub(crate) fn parent(&self, pod: &Pod) -> String {
        let path = self.of(pod);
        match self.driver {
            Driver::Cgroupfs => path,
            // It knows what is above a slice by its name.
            Driver::Systemd => path.rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    /// The cgroup of one container of a pod.
    pub(crate) fn container(&self, pod: &Pod, id: &str) -> String {
        let above = self.of(pod);
        match self.driver {
            Driver::Cgroupfs => format!("{above}/{id}"),
            Driver::Systemd => {
                let below = self.groups.below(&above).unwrap_or_default();
                let scope = below.into_iter().find(|name| name.contains(id));
                format!("{above}/{}", scope.unwrap_or_else(|| format!("cri-containerd-{id}.scope")))
            }
        }
    }

    /// Makes the cgroup of a pod, or gives it the limits that the pod has now.
    pub(crate) fn make(&self, pod: &Pod) -> Result<(), UsageError> {
        self.groups.make(&self.of(pod), &resources::of_pod(pod, self.most_processes))
    }

    /// Whether a cgroup uses less memory than it may have from now on; what is no less than it may have now needs no look. In version 1 the
    /// kernel refuses what is too little; in version 2 it takes it, and ends whoever uses more.
    pub(crate) fn has_room(&self, path: &str, bytes: u64) -> Result<(), TooLittle> {
        let memory = self.groups.sample(path).and_then(|sample| sample.memory).unwrap_or_default();
        let is_less = memory.limit.is_none_or(|limit| bytes < limit);
        match is_less && memory.working_set >= bytes {
            true => Err(TooLittle { bytes, used: memory.working_set }),
            false => Ok(()),
        }
    }

    /// The same of a pod with the limits that it has now.
    pub(crate) fn has_room_for_all(&self, pod: &Pod) -> Result<(), TooLittle> {
        let limit = resources::of_pod(pod, None).memory;
        limit.map_or(Ok(()), |bytes| self.has_room(&self.of(pod), bytes))
    }

    /// Gives those of a class together what they ask for together.
    pub(crate) fn weigh<'a>(&self, pods: impl Iterator<Item = &'a Pod>) {
        let burstable = pods.filter(|pod| Qos::of(pod) == Qos::Burstable);
        let asked: i64 =
            burstable.map(|pod| resources::requests(pod).get("cpu").map_or(0, Quantity::milli_value)).sum();
        if self.weighed.swap(asked, Ordering::Relaxed) == asked {
            return;
        }
        if let Err(error) = self.groups.limit(&self.path(&[BURSTABLE]), &shares(asked)) {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot weigh the cgroup of burstable pods"
            );
        }
    }

    /// Removes what is left of a pod, whatever class it was. What cannot be removed is tried again at the next start.
    pub(crate) async fn remove(&self, uid: &str) {
        let (this, owned) = (self.clone(), uid.to_owned());
        // The last process of a cgroup may take a moment to be gone.
        let removed = tokio::task::spawn_blocking(move || this.remove_now(&owned)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                uid,
                "cannot remove the cgroup of a pod"
            );
        }
    }

    fn remove_now(&self, uid: &str) -> Result<(), UsageError> {
        let pod = format!("pod{uid}");
        for above in [&[] as &[&str], &[BURSTABLE], &[BEST_EFFORT]] {
            let path = self.path(&[above, &[&*pod]].concat());
            if self.groups.exists(&path) {
                self.groups.remove(&path)?;
            }
        }
        Ok(())
    }

    /// The pods of which a cgroup is left.
    pub(crate) fn uids(&self) -> Result<BTreeSet<String>, UsageError> {
        let mut uids = BTreeSet::new();
        for above in [&[] as &[&str], &[BURSTABLE], &[BEST_EFFORT]] {
            let names = self.groups.below(&self.path(above))?;
            uids.extend(names.iter().filter_map(|name| self.uid(name)));
        }
        Ok(uids)
    }

    pub(crate) fn sample(&self, path: &str) -> Option<Sample> {
        self.groups.sample(path)
    }

    pub(crate) fn cpu(&self, path: &str) -> Option<u64> {
        self.groups.cpu(path)
    }

    pub(crate) fn processes(&self, path: &str) -> Vec<u32> {
        self.groups.processes(path)
    }

    /// Makes the cgroup of a containerd of our own and its shims, and answers where it is in each tree. They outlive us, and systemd
    /// complains at each start of a service about what its predecessor left in the service's cgroup.
    pub(crate) fn runtime(&self) -> Vec<PathBuf> {
        let made = self.groups.make_everywhere(&runtime_beside(&self.pods()));
        let made = made.into_iter().filter_map(|made| {
            made.inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::debug!(error, "containerd stays in the cgroup that we are in");
            })
            .ok()
        });
        made.collect()
    }

    /// What all pods of this node use together.
    pub(crate) fn pods(&self) -> String {
        self.path(&[])
    }

    fn uid(&self, name: &str) -> Option<String> {
        match self.driver {
            Driver::Cgroupfs => name.strip_prefix("pod").map(str::to_owned),
            Driver::Systemd => {
                let last = name.strip_suffix(".slice")?.rsplit('-').next()?;
                Some(last.strip_prefix("pod")?.replace('_', "-"))
            }
        }
    }

    fn path(&self, below: &[&str]) -> String {
        path(self.driver, &[&[&*self.node], below].concat())
    }
}

/// Less memory than is used: nobody is ended for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attempting to set memory limit ({bytes}) below current usage ({used})")]
pub(crate) struct TooLittle {
    bytes: u64,
    used: u64,
}

/// Removes the cgroups of a node that no longer runs.
pub(crate) fn clear(data: &Path) -> Result<(), UsageError> {
    let record = data.join(RECORD);
    let Ok(path) = std::fs::read_to_string(&record) else { return Ok(()) };
    let groups = Groups::new(Layout::here()?);
    groups.remove(&path)?;
    groups.remove(&runtime_beside(&path))
}

/// The runtime's own cgroup, beside the one of the pods.
fn runtime_beside(pods: &str) -> String {
    format!("{pods}.containerd")
}

/// Everything that a pod's sandbox needs of the kernel before there is one.
pub(crate) fn prepare(tools: &Tools, pod: &Pod) -> Result<(), PrepareError> {
    tools.cgroups.make(pod)?;
    tools.cgroups.weigh(tools.roster.all().iter().map(|seen| &*seen.pod));
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("{0}: {cause}", cause = std::error::Error::source(.0).map(ToString::to_string).unwrap_or_default())]
pub(crate) struct PrepareError(#[from] UsageError);

/// Two that run side by side on one machine, for the same node's name, must not share one.
fn name(node: &str, data: &Path) -> String {
    if data == Path::new(USUAL_DATA) {
        return format!("kedge-{node}");
    }
    let mut hash: u32 = 0x811c_9dc5;
    for byte in data.to_string_lossy().bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    format!("kedge-{node}-{hash:08x}")
}

fn parts(pod: &Pod) -> Vec<String> {
    let pods = format!("pod{}", pod.metadata.uid.as_deref().unwrap_or_default());
    match Qos::of(pod) {
        Qos::Guaranteed => vec![pods],
        Qos::Burstable => vec![BURSTABLE.to_owned(), pods],
        Qos::BestEffort => vec![BEST_EFFORT.to_owned(), pods],
    }
}

/// A folder for each part; to systemd, a slice whose name has all parts above it.
fn path(driver: Driver, parts: &[&str]) -> String {
    match driver {
        Driver::Cgroupfs => format!("/{}", parts.join("/")),
        Driver::Systemd => {
            let (mut path, mut slice) = (String::new(), String::new());
            for part in parts {
                if !slice.is_empty() {
                    slice.push('-');
                }
                // A dash in a name would be a further level.
                slice.push_str(&part.replace('-', "_"));
                path.push_str(&format!("/{slice}.slice"));
            }
            path
        }
    }
}

fn shares(milli_cpu: i64) -> Limits {
    let shares = u64::try_from(resources::shares(milli_cpu)).ok();
    Limits { cpu: Cpu { shares, ..Cpu::default() }, ..Limits::default() }
}

#[cfg(test)]
mod tests;
