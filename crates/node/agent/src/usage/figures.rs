//! The figures as the node's door gives them out.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use kedge_door::Figures;
use serde_json::Value;

use super::text::{Text, number};
use super::{Depth, Meter, containers, probes, resource, summary};

/// As many pages as bytes need; a page of any other size would only make one figure wrong.
const PAGE: u64 = 4096;

pub(crate) struct Told(pub(crate) Arc<Meter>);

impl Figures for Told {
    fn summary(&self, only_cpu_and_memory: bool) -> BoxFuture<'_, Value> {
        Box::pin(async move {
            let depth = if only_cpu_and_memory { Depth::Processes } else { Depth::Files };
            summary::write(&self.0.measure(depth).await, only_cpu_and_memory)
        })
    }

    fn resource(&self) -> BoxFuture<'_, String> {
        Box::pin(async move { resource::write(&self.0.measure(Depth::Processes).await) })
    }

    fn containers(&self) -> BoxFuture<'_, String> {
        Box::pin(async move { containers::write(&self.0.measure(Depth::Files).await) })
    }

    fn probes(&self) -> BoxFuture<'_, String> {
        Box::pin(async move { probes::write(self.0.tally()) })
    }

    fn agent(&self) -> BoxFuture<'_, String> {
        Box::pin(async move { self.0.of_agent() })
    }
}

impl Meter {
    fn of_agent(&self) -> String {
        let mut text = Text::default();
        let pods = self.roster();
        let count = |count: usize| number(u64::try_from(count).unwrap_or(u64::MAX));
        let running = pods.iter().filter(|seen| seen.view.running().next().is_some()).count();
        text.family("kubelet_running_pods", "gauge", "Number of pods that have a running pod sandbox");
        text.line("kubelet_running_pods", &[], count(running), None);
        let name = "kubelet_running_containers";
        text.family(name, "gauge", "Number of containers currently running");
        let all: usize = pods.iter().map(|seen| seen.view.containers.len()).sum();
        let alive: usize = pods.iter().map(|seen| seen.view.running().count()).sum();
        text.line(name, &[("container_state", "running")], count(alive), None);
        text.line(name, &[("container_state", "exited")], count(all - alive), None);
        text.family("kubelet_evictions", "counter", "Cumulative number of pod evictions by eviction signal");
        for (signal, evicted) in self.evictions() {
            text.line("kubelet_evictions", &[("eviction_signal", signal)], number(evicted), None);
        }
        if let Some(own) = own() {
            text.family(
                "process_cpu_seconds_total",
                "counter",
                "Total user and system CPU time spent in seconds.",
            );
            text.line("process_cpu_seconds_total", &[], number(own.ticks) / 100.0, None);
            text.family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
            text.line("process_resident_memory_bytes", &[], number(own.pages * PAGE), None);
            text.family("process_open_fds", "gauge", "Number of open file descriptors.");
            text.line("process_open_fds", &[], count(own.files), None);
            if let Some(since) = own.since {
                text.family(
                    "process_start_time_seconds",
                    "gauge",
                    "Start time of the process since unix epoch in seconds.",
                );
                text.line("process_start_time_seconds", &[], resource::unix(since), None);
            }
        }
        text.done()
    }
}

/// This process.
struct Own {
    ticks: u64,
    pages: u64,
    files: usize,
    since: Option<Timestamp>,
}

fn own() -> Option<Own> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name stands in brackets and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let begun = field(19).and_then(|ticks| i64::try_from(ticks.saturating_mul(10)).ok());
    let since = kedge_usage::boot().zip(begun);
    Some(Own {
        ticks: field(11)? + field(12)?,
        pages: field(21)?,
        files: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
        since: since.map(|(boot, millis)| boot + jiff::SignedDuration::from_millis(millis)),
    })
}
