//! Controllers and scheduler beside an API with none: how fast a thousand pods come and go, what they cost when nothing
//! happens, and what they hold in memory.

use std::path::Path;
use std::time::Duration;

use super::server::Server;
use super::{Programs, Table, fresh, named};
use crate::control::{Rollout, answered, namespace, some_nodes};
use crate::{BenchError, process, report};

const NODES: u32 = 20;
const WRITES: [&str; 5] = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];
/// What start-up and the work before still have to do is none of idling.
const SETTLE: Duration = Duration::from_secs(4);
const IDLE: Duration = Duration::from_secs(6);

pub(super) async fn control(
    programs: &Programs,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    let (replicas, objects) = (1_000 / scale, 5_000 / scale);
    report::note("a large Deployment on scripted nodes…");
    let data = fresh(folder, "control")?;
    let server = Server::kedge(&programs.kedge, &data).await?;
    let target = server.target()?;
    let nodes = some_nodes(&server.kubeconfig, NODES).await?;
    let rollout = Rollout { target: &target, replicas };
    let made = named("kedge", rollout.create().await?);
    table.at_most(&format!("Deployment of {replicas} replicas: all ready"), made.seconds, "s", 2.0);
    let gone = named("kedge", rollout.delete().await?);
    table.at_most(&format!("Deployment of {replicas} replicas: all gone"), gone.seconds, "s", 2.0);
    let emptied = named("kedge", namespace(&target, objects).await?);
    table.at_most(&format!("namespace with {objects} objects: gone"), emptied.seconds, "s", 5.0);

    rollout.create().await?;
    // Heartbeats are the nodes' writes, not the controllers'; those who stop now are missed only later.
    drop(nodes);
    tokio::time::sleep(SETTLE).await;
    let before = (answered(&target, &WRITES).await?, answered(&target, &["LIST"]).await?);
    tokio::time::sleep(IDLE).await;
    let after = (answered(&target, &WRITES).await?, answered(&target, &["LIST"]).await?);
    table.at_most(&format!("writes while {replicas} pods idle"), after.0 - before.0, "", 0.0);
    table.at_most(&format!("LIST calls while {replicas} pods idle"), after.1 - before.1, "", 0.0);
    server.stop().await;

    // The same store twice, so that what differs is what controllers and scheduler hold.
    let bare = resident(Server::kedge_with(&programs.kedge, &data, &["--no-controllers"]).await?).await;
    let full = resident(Server::kedge(&programs.kedge, &data).await?).await;
    table.at_most(&format!("RSS added by controllers at {replicas} pods"), full - bare, "MB", 25.0);
    Ok(())
}

async fn resident(server: Server) -> f64 {
    tokio::time::sleep(SETTLE).await;
    let cost = process::cost(server.pid);
    server.stop().await;
    cost.rss_mb
}
