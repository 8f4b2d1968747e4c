//! What the processes of one cgroup may use together, and the kernel's files that say so.

use std::collections::BTreeMap;

use crate::layout::Version;

/// As version 1 counts; version 2 has its own scale.
const LEAST_SHARES: u64 = 2;
const MOST_SHARES: u64 = 262_144;
const HEAVIEST: u64 = 10_000;

/// What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub cpu: Cpu,
    /// In bytes.
    pub memory: Option<u64>,
    /// How many threads.
    pub processes: Option<u64>,
    /// In bytes, by the size of the page as the kernel writes it: `2MB`.
    pub huge_pages: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    pub shares: Option<u64>,
    /// Microseconds of every period; none of it is no limit.
    pub quota: Option<Option<u64>>,
    pub period: u64,
}

/// One file of one controller, and what to write to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) controller: &'static str,
    pub(crate) file: String,
    pub(crate) value: String,
}

impl Limits {
    pub(crate) fn writes(&self, version: Version) -> Vec<Write> {
        let mut writes = Vec::new();
        let mut write = |controller, file: &str, value: String| {
            writes.push(Write { controller, file: file.to_owned(), value });
        };
        let Cpu { shares, quota, period } = self.cpu;
        match version {
            Version::V1 => {
                if let Some(shares) = shares {
                    write("cpu", "cpu.shares", shares.to_string());
                }
                if let Some(quota) = quota {
                    write("cpu", "cpu.cfs_period_us", period.to_string());
                    write(
                        "cpu",
                        "cpu.cfs_quota_us",
                        quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string()),
                    );
                }
                if let Some(bytes) = self.memory {
                    write("memory", "memory.limit_in_bytes", bytes.to_string());
                }
            }
            Version::V2 => {
                if let Some(shares) = shares {
                    write("cpu", "cpu.weight", weight(shares).to_string());
                }
                if let Some(quota) = quota {
                    let quota = quota.map_or_else(|| "max".to_owned(), |quota| quota.to_string());
                    write("cpu", "cpu.max", format!("{quota} {period}"));
                }
                if let Some(bytes) = self.memory {
                    write("memory", "memory.max", bytes.to_string());
                }
            }
        }
        if let Some(count) = self.processes {
            write("pids", "pids.max", count.to_string());
        }
        for (size, bytes) in &self.huge_pages {
            let end = if version == Version::V1 { "limit_in_bytes" } else { "max" };
            write("hugetlb", &format!("hugetlb.{size}.{end}"), bytes.to_string());
        }
        writes
    }
}

/// Shares on the scale of version 2, as runtimes translate them.
pub(crate) fn weight(shares: u64) -> u64 {
    let above = shares.clamp(LEAST_SHARES, MOST_SHARES) - LEAST_SHARES;
    1 + above * (HEAVIEST - 1) / (MOST_SHARES - LEAST_SHARES)
}

#[cfg(test)]
mod tests;
