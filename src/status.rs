//! `kedge status`: what runs on this machine, since when, and what it costs. Looks and changes nothing.

pub(crate) mod disk;
pub(crate) mod processes;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_client::Client;
use kedge_clock::Clock;
use serde_json::{Value, json};

use self::disk::Room;
use self::processes::Cost;
use crate::ask;
use crate::hatch::{self, HatchError, Running};

/// Over which time the processor's use is measured.
const MEASURED: Duration = Duration::from_millis(500);
/// How long the API may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything that is shown.
pub(crate) struct Status {
    running: Running,
    since: Option<Timestamp>,
    now: Timestamp,
    cluster: Result<Seen, String>,
    costs: BTreeMap<&'static str, (Cost, f64)>,
    disk: BTreeMap<String, u64>,
    room: Option<Room>,
}

/// What the API says.
#[derive(Default)]
struct Seen {
    ready: bool,
    nodes: u64,
    ready_nodes: u64,
    /// By phase.
    pods: BTreeMap<String, u64>,
}

/// When a process of this machine began.
pub(crate) fn begun_at(pid: u32, now: Timestamp) -> Option<Timestamp> {
    let age = processes::uptime()? - processes::read(pid)?.begun;
    now.checked_sub(SignedDuration::try_from_secs_f64(age).ok()?).ok()
}

pub(crate) async fn look(data: &Path, clock: &Clock) -> Result<Status, HatchError> {
    let running = hatch::running(data).await?;
    let data = crate::agent::absolute(data);
    let begun = clock.now();
    let before = processes::costs(running.pid, &data);
    let (cluster, ()) = tokio::join!(cluster(&running, &data, clock), clock.sleep(MEASURED));
    let now = clock.now();
    let passed = now.duration_since(begun).as_secs_f64().max(0.001);
    let costs = processes::costs(running.pid, &data).into_iter().map(|(kind, cost)| {
        let earlier = before.get(kind).map_or(0.0, |cost| cost.cpu_seconds);
        (kind, (cost, ((cost.cpu_seconds - earlier) / passed).max(0.0)))
    });
    Ok(Status {
        since: begun_at(running.pid, now),
        now,
        cluster,
        costs: costs.collect(),
        disk: disk::below(&data),
        room: disk::room(&data),
        running,
    })
}

async fn cluster(running: &Running, data: &Path, clock: &Clock) -> Result<Seen, String> {
    let seen = async {
        match running.role.as_str() {
            "server" => {
                let client = crate::control::remote(&data.join("kubeconfig"))
                    .await
                    .map_err(|error| crate::told(&error))?;
                whole(&client).await.map_err(|error| crate::told(&*error))
            }
            _ => {
                let client = crate::join::client(data).map_err(|error| crate::told(&error))?;
                own(&client, running.node.as_deref().unwrap_or_default())
                    .await
                    .map_err(|error| crate::told(&*error))
            }
        }
    };
    ask::within(clock, PATIENCE, seen).await
}

/// As the administrator sees it.
async fn whole(client: &Client) -> Result<Seen, Box<kube::Error>> {
    let mut seen =
        Seen { ready: ask::text(client, "/readyz").await.is_ok_and(|text| text == "ok"), ..Seen::default() };
    ask::each(client, "/api/v1/nodes", |node| {
        seen.nodes += 1;
        seen.ready_nodes += u64::from(is_ready(node));
    })
    .await?;
    ask::each(client, "/api/v1/pods", |pod| seen.count(pod)).await?;
    Ok(seen)
}

/// As one node sees it: itself and its pods.
async fn own(client: &Client, node: &str) -> Result<Seen, Box<kube::Error>> {
    let mut seen = Seen { ready: true, nodes: 1, ..Seen::default() };
    seen.ready_nodes = u64::from(is_ready(&ask::object(client, &format!("/api/v1/nodes/{node}")).await?));
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
    ask::each(client, &path, |pod| seen.count(pod)).await?;
    Ok(seen)
}

impl Seen {
    fn count(&mut self, pod: &Value) {
        let phase = pod["status"]["phase"].as_str().unwrap_or("Unknown").to_owned();
        *self.pods.entry(phase).or_default() += 1;
    }
}

pub(crate) fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

impl Status {
    pub(crate) fn json(&self) -> Value {
        let cluster = match &self.cluster {
            Ok(seen) => json!({
                "ready": seen.ready, "nodes": seen.nodes, "readyNodes": seen.ready_nodes, "pods": seen.pods,
            }),
            Err(why) => json!({ "error": why }),
        };
        let costs: BTreeMap<_, _> = self
            .costs
            .iter()
            .map(|(kind, (cost, share))| {
                let shown = json!({
                    "processes": cost.processes, "cpu": share, "cpuSeconds": cost.cpu_seconds, "memoryBytes": cost.memory,
                });
                (*kind, shown)
            })
            .collect();
        json!({
            "running": self.running,
            "since": self.since.map(|since| since.to_string()),
            "cluster": cluster,
            "cost": costs,
            "diskBytes": self.disk,
            "diskFreeBytes": self.room.map(|room| room.free),
        })
    }

    pub(crate) fn text(&self) -> String {
        let Running { role, version, pid, node, servers, store } = &self.running;
        let since = self.since.map_or_else(String::new, |since| {
            let at = since.strftime("%Y-%m-%d %H:%M:%S UTC");
            format!(", since {at} ({})", long(self.now.duration_since(since).as_secs()))
        });
        let mut text = format!("kedge {role} {version}, pid {pid}{since}\n");
        let mut line = |name: &str, what: String| text.push_str(&format!("  {name:<8} {what}\n"));
        let answer = match &self.cluster {
            Ok(seen) if seen.ready => "ready".to_owned(),
            Ok(_) => "not ready: `kedge doctor` says why".to_owned(),
            Err(why) => format!("does not answer: {why}"),
        };
        line("API", format!("{}: {answer}", servers.join(", ")));
        if let Some(store) = store {
            let (size, watches) = (bytes(store.bytes), store.watchers);
            let (engine, objects, revision) = (&store.engine, store.objects, store.revision);
            line(
                "store",
                format!("{engine}, {objects} objects ({size}) at revision {revision}, {watches} watches"),
            );
        }
        if let Some(node) = node {
            line("node", node.clone());
        }
        if let Ok(seen) = &self.cluster {
            if role == "server" {
                line("nodes", format!("{}, {} Ready", seen.nodes, seen.ready_nodes));
            }
            let phases: Vec<String> =
                seen.pods.iter().map(|(phase, number)| format!("{number} {phase}")).collect();
            let all: u64 = seen.pods.values().sum();
            line(
                "pods",
                if phases.is_empty() { "none".to_owned() } else { format!("{all}: {}", phases.join(", ")) },
            );
        }
        text.push_str(&format!(
            "\n{:<12} {:>9} {:>7} {:>10} {:>10}\n",
            "COST", "PROCESSES", "CPU", "CPU TIME", "MEMORY"
        ));
        for (kind, (cost, share)) in &self.costs {
            let time = long(cost.cpu_seconds as i64);
            let (number, percent, memory) = (cost.processes, share * 100.0, bytes(cost.memory));
            text.push_str(&format!("{kind:<12} {number:>9} {percent:>5.1} % {time:>10} {memory:>10}\n"));
        }
        text.push_str(&format!("\n{:<30} {:>10}\n", "DISK", "SIZE"));
        let mut disk: Vec<(&String, &u64)> = self.disk.iter().filter(|(_, size)| **size >= 1 << 20).collect();
        disk.sort_by_key(|(_, size)| std::cmp::Reverse(**size));
        for (name, size) in disk {
            text.push_str(&format!("{name:<30} {:>10}\n", bytes(*size)));
        }
        text.push_str(&format!("{:<30} {:>10}\n", "all of the data folder", bytes(self.disk.values().sum())));
        if let Some(room) = self.room {
            text.push_str(&format!("{:<30} {:>10} of {}\n", "free", bytes(room.free), bytes(room.whole)));
        }
        text
    }
}

pub(crate) fn bytes(number: u64) -> String {
    let size = number as f64;
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{:.0} kB", size / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", size / 1e6),
        _ => format!("{:.1} GB", size / 1e9),
    }
}

/// The two largest units.
fn long(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86400, seconds % 86400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_numbers_with_units() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (52_000, "52 kB"),
            (22_400_000, "22.4 MB"),
            (4_210_000_000, "4.2 GB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        for (seconds, text) in
            [(-1, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7_380, "2 h 3 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(long(seconds), text);
        }
    }

    #[test]
    fn a_status_says_what_runs_and_what_it_costs() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let running = Running {
            role: "server".to_owned(),
            version: "1".to_owned(),
            pid: 7,
            node: Some("n".to_owned()),
            servers: vec!["https://127.0.0.1:6443".to_owned()],
            store: None,
        };
        let pods = [("Pending".to_owned(), 1), ("Running".to_owned(), 11)].into();
        let seen = Seen { ready: true, nodes: 3, ready_nodes: 2, pods };
        let cost = Cost { processes: 1, cpu_seconds: 61.0, memory: 22_000_000 };
        let mut status = Status {
            running,
            since: now.checked_sub(SignedDuration::from_secs(61)).ok(),
            now,
            cluster: Ok(seen),
            costs: [("kedge", (cost, 0.003))].into(),
            disk: [("store".to_owned(), 3_000_000), ("kubeconfig".to_owned(), 4096)].into(),
            room: None,
        };
        let text = status.text();
        for part in [
            "kedge server 1, pid 7, since 2023-11-14 22:12:19 UTC (1 min 1 s)\n",
            "  API      https://127.0.0.1:6443: ready\n",
            "  nodes    3, 2 Ready\n",
            "  pods     12: 1 Pending, 11 Running\n",
            "kedge                1   0.3 %  1 min 1 s    22.0 MB\n",
            "store                              3.0 MB\n",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        assert!(!text.contains("kubeconfig"), "{text}");
        assert_eq!(status.json()["cost"]["kedge"]["memoryBytes"], 22_000_000);
        status.cluster = Err("no answer within 5 s".to_owned());
        assert!(status.text().contains("does not answer: no answer within 5 s"));
    }
}
