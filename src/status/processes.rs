//! What processes on this machine cost, as `/proc` has it. Knows which are ours by what they were started with.

use std::collections::BTreeMap;
use std::path::Path;

/// What one kind of process costs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub(crate) processes: u64,
    /// Of the processor's time, since each began, in seconds.
    pub(crate) cpu_seconds: f64,
    /// Resident, in bytes.
    pub(crate) memory: u64,
}

/// One process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) cpu_seconds: f64,
    pub(crate) memory: u64,
    /// Seconds since the machine began.
    pub(crate) begun: f64,
}

const PAGE: u64 = 4096;
/// Fixed by the kernel for everything that it shows.
const TICKS: f64 = 100.0;

/// What is started for the node on this data folder, and the process that runs it.
pub(crate) fn costs(own: u32, data: &Path) -> BTreeMap<&'static str, Cost> {
    let mut costs = BTreeMap::new();
    let data = data.to_string_lossy();
    for (pid, words) in all() {
        let Some(kind) = kind(pid == own, &words, &data) else { continue };
        let Some(process) = read(pid) else { continue };
        let cost: &mut Cost = costs.entry(kind).or_default();
        cost.processes += 1;
        cost.cpu_seconds += process.cpu_seconds;
        cost.memory += process.memory;
    }
    costs
}

/// What a process is called here; none if it is not ours. What runs in pods is the pods'.
fn kind(is_own: bool, words: &[String], data: &str) -> Option<&'static str> {
    if is_own {
        return Some("kedge");
    }
    let program = words.first().map(|first| first.rsplit('/').next().unwrap_or(first))?;
    let about_data = words.iter().any(|word| word.contains(data));
    match program {
        "containerd" if about_data => Some("containerd"),
        program if program.starts_with("containerd-shim") && about_data => Some("shims"),
        _ => None,
    }
}

fn all() -> impl Iterator<Item = (u32, Vec<String>)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        Some((pid, words.collect()))
    })
}

pub(crate) fn read(pid: u32) -> Option<Process> {
    parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// A process's name may hold anything, so what is known is counted from behind it.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let pages: u64 = fields.get(21)?.parse().ok()?;
    Some(Process {
        pid,
        cpu_seconds: (number(11)? + number(12)?) / TICKS,
        memory: pages * PAGE,
        begun: number(19)? / TICKS,
    })
}

/// Seconds since the machine began.
pub(crate) fn uptime() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let rest =
            "S 1 2 3 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 123400 1000000 2048 18446744073709551615 1";
        for name in ["kedge", "a b", "x) S (y"] {
            let process = parse(7, &format!("7 ({name}) {rest}\n")).unwrap();
            let wanted = Process { pid: 7, cpu_seconds: 3.0, memory: 2048 * 4096, begun: 1234.0 };
            assert_eq!(process, wanted, "{name}");
        }
        assert_eq!(parse(7, "7 kedge"), None);
        let own = read(std::process::id()).unwrap();
        assert!(own.memory > 0 && own.begun <= uptime().unwrap());
    }

    #[test]
    fn what_runs_for_the_node_is_told_from_the_rest() {
        for (own, line, wanted) in [
            (true, "target/kedge server", Some("kedge")),
            (false, "/usr/bin/containerd --config /var/lib/kedge/containerd/config.toml", Some("containerd")),
            (false, "/usr/bin/containerd", None),
            (
                false,
                "/usr/bin/containerd-shim-runc-v2 -address /var/lib/kedge/containerd/containerd.sock",
                Some("shims"),
            ),
            (false, "cat /var/lib/kedge/kubeconfig", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(kind(own, &words, "/var/lib/kedge"), wanted, "{line}");
        }
    }
}
