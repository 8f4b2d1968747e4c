//! Our own node: how soon it is ready, what it adds to the bare calls of its runtime, and what it holds and burns. Runs real
//! containers, of the image that sandboxes are made from, so nothing has to be fetched.

mod bare;
mod elsewhere;
mod rows;
mod scaled;

use std::path::Path;
use std::time::Instant;

use kedge_runtime::Runtime;

use self::bare::Bare;
pub(crate) use self::elsewhere::{NodeArgs, run};
use self::rows::{Rows, settled};
use super::server::Server;
use super::{Programs, Table, fresh};
use crate::pods::Pods;
use crate::{BenchError, report};

const IMAGE: &str = "kedge.dev/pause:1";
const NODE: &str = "bench";
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
        let server = start(programs, data).await?;
        rows(&server, data)?.ready().await?;
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
    let count = 100 / scale;
    let server = start(programs, data).await?;
    let rows = rows(&server, data)?;
    rows.ready().await?;
    rows.pods.prepare().await?;
    rows.alone(20 / scale.min(4), table).await?;
    scaled::scaled(&rows.pods, data, table).await?;
    rows.together(count, table).await?;
    let made = settled(&[server.pid]).await;
    server.stop().await;
    memory(programs, data, made, count, table).await?;

    let server = start(programs, data).await?;
    self::rows(&server, data)?.idle(&[server.pid], 20.min(count), table).await?;
    server.stop().await;
    Ok(())
}

/// What differs between a server with its node and one without, on the same store and both just started, is what the agent holds.
/// One that has just made all the pods holds more of its code at hand, which is told as well.
async fn memory(
    programs: &Programs,
    data: &Path,
    made: f64,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    let server = start(programs, data).await?;
    rows(&server, data)?.ready().await?;
    let with = settled(&[server.pid]).await;
    server.stop().await;
    let server = Server::kedge(&programs.kedge, data).await?;
    let without = settled(&[server.pid]).await;
    server.stop().await;
    table.at_most(&format!("RSS added by the agent at {count} pods"), with - without, "MB", 30.0);
    table.seen(&format!("the same, just after making the {count}"), made - without, "MB");
    Ok(())
}

async fn start(programs: &Programs, data: &Path) -> Result<Server, BenchError> {
    Server::kedge_node(&programs.kedge, data, &OPTIONS).await
}

fn rows(server: &Server, data: &Path) -> Result<Rows, BenchError> {
    let runtime = Runtime::at(&data.join("containerd/containerd.sock"));
    let pods = Pods { target: server.target()?, node: NODE.to_owned(), image: IMAGE.to_owned() };
    Ok(Rows { who: "kedge", pods, bare: Some(Bare { runtime, image: IMAGE.to_owned() }) })
}

/// Takes away containers, network and mounts; the suite's own folder goes by itself.
async fn clean(programs: &Programs, data: &Path) {
    let mut command = tokio::process::Command::new(&programs.kedge);
    let cleaned = command.args(["clean", "--data-dir"]).arg(data).output().await;
    if !cleaned.as_ref().is_ok_and(|output| output.status.success()) {
        report::note("some of the node may be left on this machine");
    }
}
