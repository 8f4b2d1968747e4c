//! Plays nodes against the API of a kubeconfig until it is told to stop, so that a server can be measured and tested without
//! machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kedge_clock::Clock;
use kedge_scripted_nodes::{Machine, Nodes, Script};
use kube::config::Kubeconfig;

use crate::{BenchError, report};

#[derive(Args)]
pub(crate) struct NodesArgs {
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    #[arg(long, default_value_t = 3)]
    count: u32,
    /// Names are this and a number from 1
    #[arg(long, default_value = "node-")]
    prefix: String,
    /// Seconds from a pod's binding to its running
    #[arg(long, default_value_t = 0.0)]
    start_after: f64,
    /// Seconds between two heartbeats of a node
    #[arg(long, default_value_t = 10.0)]
    heartbeat: f64,
    #[arg(long, default_value_t = 110)]
    pods_per_node: u32,
    #[arg(long, default_value_t = 32)]
    cpus: u32,
    #[arg(long, default_value_t = 256)]
    memory_gib: u32,
    /// Spread over this many zones
    #[arg(long, default_value_t = 1)]
    zones: u32,
    /// How many requests are under way at once
    #[arg(long, default_value_t = 64)]
    at_once: usize,
}

pub(crate) async fn play(args: &NodesArgs) -> Result<(), BenchError> {
    let machines = (0..args.count).map(|index| {
        let zone = format!("zone-{}", index % args.zones.max(1) + 1);
        let machine = Machine::new(format!("{}{}", args.prefix, index + 1), index);
        let machine =
            Machine { cpus: args.cpus, memory_gib: args.memory_gib, pods: args.pods_per_node, ..machine };
        machine
            .labelled("topology.kubernetes.io/zone", &zone)
            .labelled("topology.kubernetes.io/region", "region-1")
    });
    let script = Script {
        start_after: seconds(args.start_after),
        heartbeat: seconds(args.heartbeat),
        at_once: args.at_once,
    };
    let nodes = start(&args.kubeconfig, script, machines.collect()).await?;
    report::note(&format!("{} nodes are there; stop with ctrl-c", nodes.len()));
    tokio::signal::ctrl_c().await.map_err(BenchError::Signal)
}

/// Gives them once all have registered. They live for as long as they are held.
pub(crate) async fn start(
    kubeconfig: &Path,
    script: Script,
    machines: Vec<Machine>,
) -> Result<Nodes, BenchError> {
    let wrong = |why: String| BenchError::Kubeconfig { path: kubeconfig.to_owned(), why };
    let config = Kubeconfig::read_from(kubeconfig).map_err(|error| wrong(error.to_string()))?;
    let client = kedge_client::https(config).await.map_err(|error| wrong(error.to_string()))?;
    let clock = Clock::system();
    let now = clock.now();
    let nodes = Nodes::start(client, clock, script, machines);
    nodes.beaten_since(now).await;
    Ok(nodes)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
