//! Which CPUs are of one core, and which cores of one package.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::set::CpuSet;

const CPUS: &str = "/sys/devices/system/cpu";

/// The package and the core of each CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology(BTreeMap<u32, (u32, u32)>);

impl Topology {
    /// Of the CPUs that this process may use. What the kernel does not tell of is a core of its own.
    pub(super) fn here() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let online = fs::read_to_string(Path::new(CPUS).join("online")).unwrap_or_default();
        let listed = |text: &str| text.trim().parse::<CpuSet>().unwrap_or_default();
        let (allowed, online) = (listed(allowed.unwrap_or_default()), listed(&online));
        let cpus = if online.is_empty() { allowed } else { allowed.common(&online) };
        let read = |cpu: u32, what: &str| {
            let text = fs::read_to_string(format!("{CPUS}/cpu{cpu}/topology/{what}")).ok()?;
            text.trim().parse::<u32>().ok()
        };
        let place =
            |cpu| (read(cpu, "physical_package_id").unwrap_or(0), read(cpu, "core_id").unwrap_or(cpu));
        Self(cpus.iter().map(|cpu| (cpu, place(cpu))).collect())
    }

    #[cfg(test)]
    pub(super) fn of(places: &[(u32, u32, u32)]) -> Self {
        Self(places.iter().map(|(cpu, package, core)| (*cpu, (*package, *core))).collect())
    }

    pub(super) fn all(&self) -> CpuSet {
        self.0.keys().copied().collect()
    }

    /// The CPUs of each package, in order.
    pub(super) fn packages(&self) -> Vec<CpuSet> {
        self.grouped(|(package, _)| (package, 0))
    }

    /// The CPUs of each core, in order.
    pub(super) fn cores(&self) -> Vec<CpuSet> {
        self.grouped(|place| place)
    }

    fn grouped(&self, by: impl Fn((u32, u32)) -> (u32, u32)) -> Vec<CpuSet> {
        let mut groups: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (cpu, place) in &self.0 {
            groups.entry(by(*place)).or_default().push(*cpu);
        }
        groups.into_values().map(CpuSet::from_iter).collect()
    }
}
