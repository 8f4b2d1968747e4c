//! The same figures of a node of anybody's Kubernetes: one that runs already, found by a kubeconfig. What its processes hold and burn
//! is told of those that are named, so that the kubelet and its runtime can be told apart from the rest.

use std::path::PathBuf;

use clap::Args;
use kedge_runtime::Runtime;

use super::super::Table;
use super::bare::Bare;
use super::rows::{Rows, settled};
use crate::BenchError;
use crate::kubeconfig::Target;
use crate::pods::{Pods, first_node};

#[derive(Args)]
pub(crate) struct NodeArgs {
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    /// The node that pods are put on [default: the first one]
    #[arg(long)]
    node: Option<String>,
    /// An image that the node has, whose program ends when it is asked to
    #[arg(long)]
    image: String,
    /// The socket of the node's runtime, to compare with its bare calls
    #[arg(long)]
    runtime: Option<PathBuf>,
    /// A process of the node, such as its kubelet, whose memory and CPU are measured; may be given several times
    #[arg(long = "pid")]
    pids: Vec<u32>,
    /// A tenth of the work, for a quick look
    #[arg(long)]
    quick: bool,
}

pub(crate) async fn run(args: &NodeArgs) -> Result<(), BenchError> {
    let scale = if args.quick { 10 } else { 1 };
    let target = Target::load(&args.kubeconfig)?;
    let node = match &args.node {
        Some(node) => node.clone(),
        None => first_node(&target).await?,
    };
    let image = args.image.clone();
    let bare =
        args.runtime.as_deref().map(|socket| Bare { runtime: Runtime::at(socket), image: image.clone() });
    let rows = Rows { who: "node", pods: Pods { target, node, image }, bare };
    let mut table = Table::default();
    let measured = measure(&rows, &args.pids, scale, &mut table).await;
    table.print();
    measured
}

async fn measure(rows: &Rows, pids: &[u32], scale: usize, table: &mut Table) -> Result<(), BenchError> {
    rows.ready().await?;
    rows.pods.prepare().await?;
    rows.alone(20 / scale.min(4), table).await?;
    let before = if pids.is_empty() { 0.0 } else { settled(pids).await };
    let count = 100 / scale;
    rows.together(count, table).await?;
    let measured = costs(rows, pids, before, count, table).await;
    let removed = rows.remove().await;
    measured.and(removed)
}

async fn costs(
    rows: &Rows,
    pids: &[u32],
    before: f64,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    if pids.is_empty() {
        return Ok(());
    }
    let with = settled(pids).await;
    table.seen(&format!("RSS at {count} pods"), with, "MB");
    table.seen(&format!("RSS added by {count} pods"), with - before, "MB");
    rows.idle(pids, 20.min(count), table).await
}
