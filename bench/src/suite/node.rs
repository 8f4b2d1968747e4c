//! The node: how soon it is ready, what it adds to the bare calls of its runtime, and what it holds and burns. Runs real
//! containers, of the image that sandboxes are made from, so nothing has to be fetched.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use kedge_runtime::wire::{
    ContainerConfig, ContainerMetadata, ImageSpec, PodSandboxConfig, PodSandboxMetadata,
};
use kedge_runtime::{Runtime, RuntimeError};
use serde_json::json;

use super::server::Server;
use super::{Programs, Table, fresh, median, named};
use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::load::Seen;
use crate::measures::NAMESPACE;
use crate::pods::Pods;
use crate::{BenchError, process, report};

const IMAGE: &str = "kedge.dev/pause:1";
const NODE: &str = "bench";
const PATIENCE: Duration = Duration::from_secs(120);
/// After the start of a server with pods: what its runtime may have left behind is looked for until then.
const AFTERWARDS: Duration = Duration::from_secs(65);
/// Whatever was needed for a while is given back within this.
const GIVEN_BACK: Duration = Duration::from_secs(35);
const IDLE: Duration = Duration::from_secs(20);
/// Nobody else's, it is hoped; a range that is taken is refused at the start.
const OPTIONS: [&str; 8] = [
    "--node-name",
    NODE,
    "--node-listen",
    "127.0.0.1:0",
    "--cluster-cidr",
    "10.219.0.0/16",
    "--service-cidr",
    "10.218.0.0/16",
];

pub(super) async fn node(
    programs: &Programs,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("a node with real containers…");
    let data = fresh(folder, "node")?;
    let measured = cold_starts(programs, &data, 20 / scale.min(4), table).await;
    let measured = match measured {
        Ok(()) => pods(programs, &data, scale, table).await,
        failed => failed,
    };
    clean(programs, &data).await;
    measured
}

async fn cold_starts(
    programs: &Programs,
    data: &Path,
    rounds: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    let mut took = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let server = Server::kedge_node(&programs.kedge, data, &OPTIONS).await?;
        ready(&server.target()?).await?;
        took.push(begin.elapsed());
        server.stop().await;
        clean(programs, data).await;
        std::fs::remove_dir_all(data)
            .and_then(|()| std::fs::create_dir_all(data))
            .map_err(|source| BenchError::Write { path: data.to_owned(), source })?;
    }
    took.sort_unstable();
    let p95 = took.get((rounds * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default();
    table.at_most("start to node Ready, cold, p95", p95.as_secs_f64() * 1000.0, "ms", 1000.0);
    Ok(())
}

async fn pods(programs: &Programs, data: &Path, scale: usize, table: &mut Table) -> Result<(), BenchError> {
    let server = Server::kedge_node(&programs.kedge, data, &OPTIONS).await?;
    let target = server.target()?;
    ready(&target).await?;
    let pods = Pods { target: target.clone(), node: NODE.to_owned(), image: IMAGE.to_owned() };
    pods.prepare().await?;
    let runtime = Runtime::at(&data.join("containerd/containerd.sock"));
    let (mut bare, mut ours, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..20 / scale.min(4) {
        bare.push(by_hand(&runtime, number).await.map_err(failed)?.as_secs_f64() * 1000.0);
        let name = format!("one-{number}");
        ours.push(pods.start(&name).await?.as_secs_f64() * 1000.0);
        ends.push(pods.end(&name).await?.as_secs_f64() * 1000.0);
    }
    let (bare, ours) = (median(&mut bare), median(&mut ours));
    table.at_most("bound pod to Running ÷ bare calls of the runtime, p50", ours / bare, "×", 1.3);
    table.at_most("bound pod to Running, p50", ours, "ms", 620.0);
    table.at_most("pod deleted until gone, p50", median(&mut ends), "ms", 300.0);

    let count = 100 / scale;
    let bare = many_by_hand(&runtime, count).await.map_err(failed)?;
    let together = deployment(&target, count).await?;
    named("kedge", Seen::new(vec![together; count], together).line("deployment-ready", 1));
    let ratio = together.as_secs_f64() / bare.as_secs_f64();
    table.at_most(&format!("Deployment of {count} Ready ÷ bare calls all at once"), ratio, "×", 1.3);
    let with = settled(server.pid).await;
    server.stop().await;
    // The same store without its node, so that what differs is what the agent holds.
    let server = Server::kedge(&programs.kedge, data).await?;
    let without = settled(server.pid).await;
    server.stop().await;
    table.at_most(&format!("RSS added by the agent at {count} pods"), with - without, "MB", 30.0);

    let server = Server::kedge_node(&programs.kedge, data, &OPTIONS).await?;
    let target = server.target()?;
    scale_to(&target, 20.min(count)).await?;
    tokio::time::sleep(AFTERWARDS).await;
    let before = process::cost(server.pid);
    tokio::time::sleep(IDLE).await;
    let after = process::cost(server.pid);
    let share = (after.cpu_us - before.cpu_us) / IDLE.as_secs_f64() / 1e4;
    table.at_most("idle CPU with 20 pods", share, "% of a core", 1.0);
    server.stop().await;
    Ok(())
}

/// What a process holds once it has given back what it only needed for a while.
async fn settled(pid: u32) -> f64 {
    let mut least = process::cost(pid).rss_mb;
    let begin = Instant::now();
    while begin.elapsed() < GIVEN_BACK {
        tokio::time::sleep(Duration::from_millis(500)).await;
        least = least.min(process::cost(pid).rss_mb);
    }
    least
}

/// Until the node says that it is ready.
async fn ready(target: &Target) -> Result<(), BenchError> {
    let is_ready = |node: &serde_json::Value| {
        let conditions = node["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    let mut connection = Connection::open(target).await?;
    let begin = Instant::now();
    while !connection.json(&format!("/api/v1/nodes/{NODE}")).await.is_ok_and(|node| is_ready(&node)) {
        if begin.elapsed() > PATIENCE {
            return Err(late("the node to be ready"));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// What a pod costs at least: its sandbox and one container, by nobody but the runtime.
async fn by_hand(runtime: &Runtime, number: usize) -> Result<Duration, RuntimeError> {
    let name = format!("bare-{number}");
    let metadata = PodSandboxMetadata {
        name: name.clone(),
        uid: name.clone(),
        namespace: "bare".to_owned(),
        ..PodSandboxMetadata::default()
    };
    let sandbox = PodSandboxConfig { metadata: Some(metadata), ..PodSandboxConfig::default() };
    let container = ContainerConfig {
        metadata: Some(ContainerMetadata { name: "main".to_owned(), ..ContainerMetadata::default() }),
        image: Some(ImageSpec { image: IMAGE.to_owned(), ..ImageSpec::default() }),
        ..ContainerConfig::default()
    };
    let begin = Instant::now();
    let id = runtime.run_sandbox(sandbox.clone(), "").await?;
    let main = runtime.create_container(&id, container, sandbox).await?;
    runtime.start_container(&main).await?;
    let took = begin.elapsed();
    runtime.stop_sandbox(&id).await?;
    runtime.remove_sandbox(&id).await?;
    Ok(took)
}

/// The same for many at once: until the last one runs.
async fn many_by_hand(runtime: &Runtime, count: usize) -> Result<Duration, RuntimeError> {
    let mut made = tokio::task::JoinSet::new();
    let begin = Instant::now();
    for number in 0..count {
        let runtime = runtime.clone();
        made.spawn(async move { by_hand(&runtime, number).await.map(|_| begin.elapsed()) });
    }
    let mut last = Duration::ZERO;
    while let Some(one) = made.join_next().await {
        last = last.max(one.unwrap_or(Ok(Duration::ZERO))?);
    }
    Ok(last)
}

/// From the request until all its pods are ready.
async fn deployment(target: &Target, replicas: usize) -> Result<Duration, BenchError> {
    let labels = json!({"app": "many"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": IMAGE, "imagePullPolicy": "Never"}]},
        }},
    });
    let mut connection = Connection::open(target).await?;
    let begin = Instant::now();
    let body = Bytes::from(deployment.to_string());
    connection.drain(Method::POST, &path(""), "application/json", body).await?;
    has(target, "readyReplicas", replicas).await?;
    Ok(begin.elapsed())
}

async fn scale_to(target: &Target, replicas: usize) -> Result<(), BenchError> {
    let mut connection = Connection::open(target).await?;
    let body = Bytes::from(json!({"spec": {"replicas": replicas}}).to_string());
    connection.drain(Method::PATCH, &path("/many"), "application/merge-patch+json", body).await?;
    has(target, "replicas", replicas).await?;
    // A Deployment counts only those that stay; the others are gone a while later.
    let begin = Instant::now();
    loop {
        let pods = connection.json(&format!("{NAMESPACE}/pods")).await?;
        if pods["items"].as_array().map(Vec::len) == Some(replicas) {
            return ready(target).await;
        }
        if begin.elapsed() > PATIENCE {
            return Err(late("pods to be gone"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn has(target: &Target, field: &str, replicas: usize) -> Result<(), BenchError> {
    let mut connection = Connection::open(target).await?;
    let begin = Instant::now();
    while connection.json(&path("/many")).await?["status"][field].as_u64() != Some(replicas as u64) {
        if begin.elapsed() > PATIENCE {
            return Err(late("the Deployment's pods"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn path(rest: &str) -> String {
    format!("{}/deployments{rest}", NAMESPACE.replace("/api/v1/", "/apis/apps/v1/"))
}

/// Takes away containers, network and mounts; the suite's own folder goes by itself.
async fn clean(programs: &Programs, data: &Path) {
    let mut command = tokio::process::Command::new(&programs.kedge);
    let cleaned = command.args(["clean", "--data-dir"]).arg(data).output().await;
    if !cleaned.as_ref().is_ok_and(|output| output.status.success()) {
        report::note("some of the node may be left on this machine");
    }
}

fn failed(error: RuntimeError) -> BenchError {
    BenchError::NotReady { program: "the runtime".to_owned(), why: error.to_string() }
}

fn late(what: &str) -> BenchError {
    BenchError::NotReady { program: "kedge".to_owned(), why: format!("waited for {what}") }
}
