//! What one cgroup uses at one moment, as the kernel's files tell it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::pressure::{self, Pressures};

/// The kernel counts a program's time in hundredths of a second.
const TICK: u64 = 10_000_000;
const MICROSECOND: u64 = 1000;
/// No limit is written as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub cpu: Option<CpuUse>,
    pub memory: Option<MemoryUse>,
    /// How many threads there are.
    pub threads: Option<u64>,
    /// Counted only by cgroups of version 2.
    pub pressures: Pressures,
}

/// Since the cgroup was made; times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUse {
    pub total: u64,
    pub user: u64,
    pub system: u64,
    pub periods: u64,
    pub throttled_periods: u64,
    pub throttled: u64,
}

/// In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    pub usage: u64,
    /// Without what the kernel would give up at once.
    pub working_set: u64,
    pub rss: u64,
    pub cache: u64,
    pub mapped: u64,
    pub swap: Option<u64>,
    pub faults: u64,
    pub major_faults: u64,
    pub peak: u64,
    pub limit: Option<u64>,
    /// How often the limit was met.
    pub failures: u64,
    /// How many processes were killed for want of memory.
    pub killed: u64,
}

pub(crate) fn v1(folder: impl Fn(&str) -> Option<PathBuf>) -> Option<Sample> {
    let sample = Sample {
        cpu: folder("cpuacct").and_then(|accounts| {
            let total = number(&accounts, "cpuacct.usage")?;
            let split = table(&accounts, "cpuacct.stat");
            let limits = folder("cpu").map(|folder| table(&folder, "cpu.stat")).unwrap_or_default();
            Some(CpuUse {
                total,
                user: get(&split, "user") * TICK,
                system: get(&split, "system") * TICK,
                periods: get(&limits, "nr_periods"),
                throttled_periods: get(&limits, "nr_throttled"),
                throttled: get(&limits, "throttled_time"),
            })
        }),
        memory: folder("memory").and_then(|folder| {
            let usage = number(&folder, "memory.usage_in_bytes")?;
            let stat = table(&folder, "memory.stat");
            Some(MemoryUse {
                usage,
                working_set: usage.saturating_sub(get(&stat, "total_inactive_file")),
                rss: get(&stat, "total_rss"),
                cache: get(&stat, "total_cache"),
                mapped: get(&stat, "total_mapped_file"),
                swap: stat.get("total_swap").copied(),
                faults: get(&stat, "total_pgfault"),
                major_faults: get(&stat, "total_pgmajfault"),
                peak: number(&folder, "memory.max_usage_in_bytes").unwrap_or(usage),
                limit: number(&folder, "memory.limit_in_bytes").filter(|limit| *limit < NO_LIMIT),
                failures: number(&folder, "memory.failcnt").unwrap_or(0),
                killed: get(&table(&folder, "memory.oom_control"), "oom_kill"),
            })
        }),
        threads: folder("pids").and_then(|folder| number(&folder, "pids.current")),
        pressures: Pressures::default(),
    };
    (sample != Sample::default()).then_some(sample)
}

pub(crate) fn v2_cpu(folder: &Path) -> Option<CpuUse> {
    let cpu = table(folder, "cpu.stat");
    let nanoseconds = |name: &str| get(&cpu, name) * MICROSECOND;
    cpu.contains_key("usage_usec").then(|| CpuUse {
        total: nanoseconds("usage_usec"),
        user: nanoseconds("user_usec"),
        system: nanoseconds("system_usec"),
        periods: get(&cpu, "nr_periods"),
        throttled_periods: get(&cpu, "nr_throttled"),
        throttled: nanoseconds("throttled_usec"),
    })
}

pub(crate) fn v2(folder: &Path) -> Option<Sample> {
    let sample = Sample {
        cpu: v2_cpu(folder),
        memory: number(folder, "memory.current").map(|usage| {
            let stat = table(folder, "memory.stat");
            let events = table(folder, "memory.events");
            MemoryUse {
                usage,
                working_set: usage.saturating_sub(get(&stat, "inactive_file")),
                rss: get(&stat, "anon"),
                cache: get(&stat, "file"),
                mapped: get(&stat, "file_mapped"),
                swap: number(folder, "memory.swap.current"),
                faults: get(&stat, "pgfault"),
                major_faults: get(&stat, "pgmajfault"),
                peak: number(folder, "memory.peak").unwrap_or(usage),
                // Without a limit it says `max`, which is no number.
                limit: number(folder, "memory.max"),
                failures: get(&events, "max"),
                killed: get(&events, "oom_kill"),
            }
        }),
        threads: number(folder, "pids.current"),
        pressures: pressure::of_group(folder),
    };
    (sample != Sample::default()).then_some(sample)
}

pub(crate) fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

/// Lines of a name and a number.
fn table(folder: &Path, file: &str) -> HashMap<String, u64> {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    let rows = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    });
    rows.collect()
}

fn get(table: &HashMap<String, u64>, name: &str) -> u64 {
    table.get(name).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
