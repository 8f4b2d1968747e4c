//! A thousand NetworkPolicies for a thousand pods, a hundred of them on this node: how soon the kernel enforces all of them, and how soon
//! one change. In a network namespace of its own, so it runs as a process of its own; needs root.

use std::process::Stdio;
use std::time::{Duration, Instant};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::Socket;
use kedge_netlink::nft::Watch;
use kedge_policy::{Arrivals, Settings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Table;
use crate::{BenchError, report};

const NFT_TABLE: &str = "bench-policy";
const NODE: &str = "bench";
const MANY: usize = 1_000;
/// As many pods as a node usually has.
const HERE: usize = 100;
const NAMESPACES: usize = 50;
const CHANGES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    count: usize,
    program_s: f64,
    change_p50_ms: f64,
    change_p99_ms: f64,
}

/// Runs ourselves in a namespace of its own, and enters what is said there.
pub(super) async fn policy(scale: usize, table: &mut Table) -> Result<(), BenchError> {
    report::note("a thousand NetworkPolicies…");
    let myself =
        std::env::current_exe().map_err(|source| BenchError::Read { path: "self".into(), source })?;
    let mut command = tokio::process::Command::new("unshare");
    command.arg("--net").arg(myself).args(["policies", "--inside", "--scale", &scale.to_string()]);
    let done = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().await;
    let done = done.map_err(|error| failed(&error))?;
    let figures: Figures = serde_json::from_slice(&done.stdout).map_err(|error| failed(&error))?;
    let Figures { count, program_s, change_p50_ms, change_p99_ms } = figures;
    report::note(&format!("half of all changes within {change_p50_ms:.1} ms"));
    let many = format!("{count} NetworkPolicies, {count} pods");
    table.at_most(&format!("{many}: first in the kernel"), program_s, "s", 3.0);
    table.at_most(&format!("{many}: one change, p99"), change_p99_ms, "ms", 50.0);
    Ok(())
}

/// The part in the namespace: prints its figures as one line.
pub(crate) async fn inside(scale: usize) -> Result<(), BenchError> {
    let count = MANY / scale;
    let world = World::by_hand();
    let (policies, pods) = (world.feed::<NetworkPolicy>(), world.feed::<Pod>());
    let namespaces = (0..NAMESPACES).map(|at| {
        let name = format!("ns-{at}");
        json!({"metadata": {"name": name, "labels": {"team": format!("team-{}", at % 7), "kubernetes.io/metadata.name": name}}})
    });
    world.feed::<Namespace>().replace(read(namespaces)?, Revision(1));
    pods.replace(read((0..count).map(|at| pod(at, 0)))?, Revision(1));
    policies.replace(read((0..count).map(|at| network_policy(at, 0)))?, Revision(1));

    let settings = Settings { node: NODE.to_owned(), table: NFT_TABLE.to_owned() };
    let (clock, begin) = (Clock::system(), Instant::now());
    let arrivals = Arrivals::new(clock.clone());
    let task = tokio::spawn(kedge_policy::run(settings, world.clone(), arrivals, clock));
    let mut socket = Socket::netfilter().map_err(|error| failed(&error))?;
    while !socket.tables().map_err(|error| failed(&error))?.iter().any(|table| table == NFT_TABLE) {
        if begin.elapsed() > PATIENCE {
            return Err(failed(&"its table does not come"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let program_s = begin.elapsed().as_secs_f64();

    let mut watch = Watch::over(NFT_TABLE).map_err(|error| failed(&error))?;
    let mut took = Vec::new();
    for turn in 1..=CHANGES / scale.min(5) {
        // The one before has to be over, as a busy enforcer rests for a while.
        tokio::time::sleep(Duration::from_millis(20)).await;
        watch.was_touched().map_err(|error| failed(&error))?;
        let begin = Instant::now();
        match turn % 2 {
            // A pod that others name has another address; a policy lets others in.
            0 => pods.put(one(pod(turn % count, turn))?),
            _ => policies.put(one(network_policy(turn % HERE, turn))?),
        }
        while !watch.was_touched().map_err(|error| failed(&error))? {
            if begin.elapsed() > PATIENCE {
                return Err(failed(&"a change does not come"));
            }
            tokio::task::yield_now().await;
        }
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    task.abort();
    took.sort_by(f64::total_cmp);
    let part = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or(f64::NAN);
    let figures = Figures { count, program_s, change_p50_ms: part(50), change_p99_ms: part(99) };
    report::verdict(&serde_json::to_string(&figures).unwrap_or_default());
    Ok(())
}

fn failed(error: &dyn std::fmt::Display) -> BenchError {
    BenchError::NotReady { program: "the enforcer of policies".to_owned(), why: error.to_string() }
}

fn one<K: DeserializeOwned>(object: Value) -> Result<K, BenchError> {
    serde_json::from_value(object).map_err(|error| failed(&error))
}

fn read<K: DeserializeOwned>(objects: impl Iterator<Item = Value>) -> Result<Vec<K>, BenchError> {
    objects.map(one).collect()
}

/// The first are on this node; every `turn` but the first gives it another address.
fn pod(at: usize, turn: usize) -> Value {
    let node = if at < HERE { NODE.to_owned() } else { format!("node-{}", at % 9) };
    let part = if turn == 0 { 64 } else { 65 + turn % 180 };
    let address = format!("10.{part}.{}.{}", at / 250, 1 + at % 250);
    json!({
        "metadata": {
            "name": format!("pod-{at}"), "namespace": format!("ns-{}", at % NAMESPACES), "uid": format!("u{at}"),
            "labels": {"app": format!("app-{}", at % 20), "tier": format!("tier-{}", at % 3)},
        },
        "spec": {"nodeName": node, "containers": [{"ports": [{"name": "web", "containerPort": 8080}]}]},
        "status": {"phase": "Running", "podIPs": [{"ip": address}]},
    })
}

/// Pods of one label let in those of another and of a namespace, by some ports; `turn` gives them another port.
fn network_policy(at: usize, turn: usize) -> Value {
    json!({
        "metadata": {"name": format!("policy-{at}"), "namespace": format!("ns-{}", at % NAMESPACES)},
        "spec": {
            "podSelector": {"matchLabels": {"app": format!("app-{}", at % 20)}},
            "policyTypes": ["Ingress"],
            "ingress": [{
                "from": [
                    {"podSelector": {"matchLabels": {"tier": format!("tier-{}", at % 3)}}},
                    {"namespaceSelector": {"matchLabels": {"team": format!("team-{}", at % 7)}}},
                ],
                "ports": [{"port": "web"}, {"port": 9_000 + turn}],
            }],
        },
    })
}
