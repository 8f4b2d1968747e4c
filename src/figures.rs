//! What `/metrics` shows of this process beside what its parts count: itself, its store, and the Services that it carries. Each is read
//! when somebody asks.

use std::fmt;

use kedge_proxy::Figures;
use kedge_store::Store;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::status::processes;

pub(crate) fn register(registry: &mut Registry, store: Store, carried: Figures) {
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    registry.register("kedge_build", "What this program is", Info::new(version));
    registry.register_collector(Box::new(Own));
    registry.register_collector(Box::new(Kept(store)));
    registry.register_collector(Box::new(Carried(carried)));
}

fn gauge(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(to.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn counter(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(to.encode_descriptor(name, help, None, counter.metric_type())?)
}

/// This process.
#[derive(Debug)]
struct Own;

impl Collector for Own {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(own) = processes::read(std::process::id()) else { return Ok(()) };
        counter(
            &mut to,
            "process_cpu_seconds",
            "Time of processors that this process used",
            own.cpu_seconds,
        )?;
        gauge(&mut to, "process_resident_memory_bytes", "Memory that this process holds", own.memory as f64)?;
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        gauge(&mut to, "process_open_fds", "Files and connections that are open", files as f64)?;
        let age = processes::uptime().map(|up| up - own.begun).unwrap_or_default();
        let begun = kedge_clock::Clock::system().now().as_second() as f64 - age.floor();
        gauge(&mut to, "process_start_time_seconds", "When this process began", begun)
    }
}

struct Kept(Store);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl Collector for Kept {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = self.0.stats();
        let to = &mut to;
        gauge(to, "kedge_store_bytes", "Size of all stored objects", stats.bytes as f64)?;
        counter(to, "kedge_store_commits", "Writes that changed something", stats.commits as f64)?;
        counter(to, "kedge_store_batches", "Groups in which writes were made durable", stats.batches as f64)?;
        counter(to, "kedge_store_compactions", "Times that the log was cut short", stats.compactions as f64)?;
        let (all, longest) = (stats.sync_total.as_secs_f64(), stats.sync_longest.as_secs_f64());
        counter(to, "kedge_store_sync_seconds", "Time spent waiting for the disk", all)?;
        gauge(to, "kedge_store_sync_longest_seconds", "The longest single wait for the disk", longest)?;
        gauge(
            to,
            "kedge_store_history_events",
            "Events that a watch can resume over",
            stats.ring_events as f64,
        )?;
        gauge(to, "kedge_store_history_bytes", "Size of those events", stats.ring_bytes as f64)?;
        gauge(to, "kedge_store_watchers", "Watches of the store", stats.watchers as f64)
    }
}

#[derive(Debug)]
struct Carried(Figures);

impl Collector for Carried {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let counts = self.0.counts();
        let to = &mut to;
        gauge(
            to,
            "kedge_proxy_services",
            "Services that this machine's kernel carries",
            counts.services as f64,
        )?;
        counter(to, "kedge_proxy_changes", "Changes of Services told to the kernel", counts.turns as f64)?;
        counter(to, "kedge_proxy_failures", "Changes that the kernel did not take", counts.failures as f64)?;
        counter(to, "kedge_proxy_seconds", "Time spent telling the kernel", counts.taken.as_secs_f64())
    }
}
