//! `/metrics/cadvisor`: the well-known `container_*` families, one line for each container and one for each pod as a whole.

use kedge_usage::{CpuUse, Interface, MemoryUse, Pressures, Stall};

use super::text::{Text, number, seconds};
use super::{Measured, Use};

/// Whose figures a line tells.
struct Row<'a> {
    labels: Vec<(&'static str, &'a str)>,
    used: &'a Use,
    since: f64,
    shares: Option<i64>,
}

type OfCpu = fn(&CpuUse) -> f64;
type OfMemory = fn(&MemoryUse) -> Option<f64>;
type OfNetwork = fn(&Interface) -> u64;
type OfPressure = fn(&Pressures) -> Option<Stall>;

const CPU: [(&str, &str, OfCpu); 5] = [
    ("container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds.", |cpu| {
        seconds(cpu.user)
    }),
    ("container_cpu_system_seconds_total", "Cumulative system cpu time consumed in seconds.", |cpu| {
        seconds(cpu.system)
    }),
    ("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.", |cpu| {
        number(cpu.periods)
    }),
    ("container_cpu_cfs_throttled_periods_total", "Number of throttled period intervals.", |cpu| {
        number(cpu.throttled_periods)
    }),
    (
        "container_cpu_cfs_throttled_seconds_total",
        "Total time duration the container has been throttled.",
        |cpu| seconds(cpu.throttled),
    ),
];

const MEMORY: [(&str, &str, &str, OfMemory); 9] = [
    (
        "container_memory_usage_bytes",
        "gauge",
        "Current memory usage in bytes, including all memory.",
        |memory| Some(number(memory.usage)),
    ),
    ("container_memory_working_set_bytes", "gauge", "Current working set in bytes.", |memory| {
        Some(number(memory.working_set))
    }),
    ("container_memory_rss", "gauge", "Size of RSS in bytes.", |memory| Some(number(memory.rss))),
    ("container_memory_cache", "gauge", "Number of bytes of page cache memory.", |memory| {
        Some(number(memory.cache))
    }),
    ("container_memory_mapped_file", "gauge", "Size of memory mapped files in bytes.", |memory| {
        Some(number(memory.mapped))
    }),
    ("container_memory_swap", "gauge", "Container swap usage in bytes.", |memory| memory.swap.map(number)),
    ("container_memory_max_usage_bytes", "gauge", "Maximum memory usage recorded in bytes.", |memory| {
        Some(number(memory.peak))
    }),
    ("container_memory_failcnt", "counter", "Number of memory usage hits limits.", |memory| {
        Some(number(memory.failures))
    }),
    (
        "container_oom_events_total",
        "counter",
        "Count of out of memory events observed for the container.",
        |memory| Some(number(memory.killed)),
    ),
];

const PRESSURE: [(&str, &str, OfPressure); 6] = [
    (
        "container_pressure_cpu_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to CPU congestion.",
        |found| Some(found.cpu?.full),
    ),
    (
        "container_pressure_cpu_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to CPU congestion.",
        |found| Some(found.cpu?.some),
    ),
    (
        "container_pressure_memory_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to memory congestion.",
        |found| Some(found.memory?.full),
    ),
    (
        "container_pressure_memory_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to memory congestion.",
        |found| Some(found.memory?.some),
    ),
    (
        "container_pressure_io_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to IO congestion.",
        |found| Some(found.io?.full),
    ),
    (
        "container_pressure_io_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to IO congestion.",
        |found| Some(found.io?.some),
    ),
];

const NETWORK: [(&str, &str, OfNetwork); 8] = [
    ("container_network_receive_bytes_total", "Cumulative count of bytes received.", |found| {
        found.received.bytes
    }),
    ("container_network_receive_packets_total", "Cumulative count of packets received.", |found| {
        found.received.packets
    }),
    ("container_network_receive_errors_total", "Cumulative count of errors while receiving.", |found| {
        found.received.errors
    }),
    (
        "container_network_receive_packets_dropped_total",
        "Cumulative count of packets dropped while receiving.",
        |found| found.received.dropped,
    ),
    ("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted.", |found| {
        found.sent.bytes
    }),
    ("container_network_transmit_packets_total", "Cumulative count of packets transmitted.", |found| {
        found.sent.packets
    }),
    ("container_network_transmit_errors_total", "Cumulative count of errors while transmitting.", |found| {
        found.sent.errors
    }),
    (
        "container_network_transmit_packets_dropped_total",
        "Cumulative count of packets dropped while transmitting.",
        |found| found.sent.dropped,
    ),
];

pub(super) fn write(measured: &Measured) -> String {
    let (mut text, at) = (Text::default(), Some(measured.at));
    let rows = rows(measured);
    let name = "container_cpu_usage_seconds_total";
    text.family(name, "counter", "Cumulative cpu time consumed in seconds.");
    for row in &rows {
        let Some(cpu) = row.used.sample.cpu else { continue };
        let labels = [&row.labels[..], &[("cpu", "total")]].concat();
        text.line(name, &labels, seconds(cpu.total), at);
    }
    for (name, help, read) in CPU {
        text.family(name, "counter", help);
        for row in &rows {
            let Some(cpu) = row.used.sample.cpu else { continue };
            text.line(name, &row.labels, read(&cpu), at);
        }
    }
    for (name, kind, help, read) in MEMORY {
        text.family(name, kind, help);
        for row in &rows {
            let Some(value) = row.used.sample.memory.as_ref().and_then(read) else { continue };
            text.line(name, &row.labels, value, at);
        }
    }
    for (name, help, read) in PRESSURE {
        text.family(name, "counter", help);
        for row in &rows {
            let Some(stall) = read(&row.used.sample.pressures) else { continue };
            text.line(name, &row.labels, number(stall.total) / 1e6, at);
        }
    }
    let last_seen = super::resource::unix(measured.at);
    type Read<'a> = &'a dyn Fn(&Row<'_>) -> Option<f64>;
    let rest: [(&str, &str, Read<'_>); 5] = [
        ("container_spec_memory_limit_bytes", "Memory limit for the container.", &|row| {
            Some(number(row.used.sample.memory?.limit.unwrap_or(0)))
        }),
        ("container_spec_cpu_shares", "CPU share of the container.", &|row| {
            Some(number(u64::try_from(row.shares?).ok()?))
        }),
        ("container_threads", "Number of threads running inside the container.", &|row| {
            row.used.sample.threads.map(number)
        }),
        (
            "container_start_time_seconds",
            "Start time of the container since unix epoch in seconds.",
            &|row| Some(row.since),
        ),
        ("container_last_seen", "Last time a container was seen by the exporter.", &|_| Some(last_seen)),
    ];
    for (name, help, read) in rest {
        text.family(name, "gauge", help);
        for row in &rows {
            let Some(value) = read(row) else { continue };
            text.line(name, &row.labels, value, at);
        }
    }
    text.family(
        "container_fs_usage_bytes",
        "gauge",
        "Number of bytes that are consumed by the container on this filesystem.",
    );
    for pod in &measured.pods {
        for container in &pod.containers {
            let Some(root) = container.root else { continue };
            let labels = labels(&container.name, &container.path, &container.image, &container.id, pod);
            text.line("container_fs_usage_bytes", &labels, number(root.bytes), at);
        }
    }
    for (name, help, read) in NETWORK {
        text.family(name, "counter", help);
        for pod in &measured.pods {
            for found in &pod.network {
                let labels =
                    [&labels("", &pod.path, "", "", pod)[..], &[("interface", &*found.name)]].concat();
                text.line(name, &labels, number(read(found)), at);
            }
        }
    }
    text.family("machine_cpu_cores", "gauge", "Number of logical CPU cores.");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    text.line("machine_cpu_cores", &[], number(u64::try_from(cores).unwrap_or(1)), None);
    text.family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.");
    text.line("machine_memory_bytes", &[], number(measured.node.memory), None);
    text.done()
}

fn rows(measured: &Measured) -> Vec<Row<'_>> {
    let node = Row {
        labels: vec![
            ("container", ""),
            ("id", "/"),
            ("image", ""),
            ("name", ""),
            ("namespace", ""),
            ("pod", ""),
        ],
        used: &measured.node.used,
        since: measured.node.since.map_or(0.0, super::resource::unix),
        shares: None,
    };
    let pods = measured.pods.iter().flat_map(|pod| {
        let whole = pod.used.as_ref().map(|used| Row {
            labels: labels("", &pod.path, "", "", pod),
            used,
            since: pod.since.map_or(0.0, super::resource::unix),
            shares: None,
        });
        let containers = pod.containers.iter().filter_map(move |container| {
            Some(Row {
                labels: labels(&container.name, &container.path, &container.image, &container.id, pod),
                used: container.used.as_ref()?,
                since: container.since.map_or(0.0, super::resource::unix),
                shares: Some(container.shares),
            })
        });
        whole.into_iter().chain(containers)
    });
    std::iter::once(node).chain(pods).collect()
}

fn labels<'a>(
    container: &'a str,
    id: &'a str,
    image: &'a str,
    name: &'a str,
    pod: &'a super::PodUse,
) -> Vec<(&'static str, &'a str)> {
    vec![
        ("container", container),
        ("id", id),
        ("image", image),
        ("name", name),
        ("namespace", &pod.namespace),
        ("pod", &pod.name),
    ]
}
