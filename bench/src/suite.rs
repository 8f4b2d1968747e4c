//! Every figure that the README may quote, measured side by side in one run: Kedge against raw etcd on the same disk and
//! against a bare TLS server on the same cores. Prints what was wanted beside what was seen and judges nothing else.

mod access;
mod control;
mod definitions;
mod disk;
mod dns;
mod gateway;
mod growth;
pub(crate) mod node;
mod pages;
mod podnet;
pub(crate) mod policy;
pub(crate) mod proxy;
mod quota;
mod scheduling;
mod server;
mod webhooks;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use tempfile::TempDir;

use crate::connect::Connection;
use crate::measures::{Api, Measure, NAMESPACE};
use crate::report::{self, Line};
use crate::{BenchError, Size, etcd, process};
use server::Server;

pub(crate) struct Programs {
    pub(crate) kedge: PathBuf,
    pub(crate) etcd: PathBuf,
    pub(crate) quick: bool,
}

const CONNECTIONS: usize = 64;

pub(crate) async fn run(programs: &Programs) -> Result<(), BenchError> {
    let (folder, mut table) = (temporary()?, Table::default());
    let scale = scale(programs.quick);
    start_and_idle(programs, folder.path(), &mut table).await?;
    writes(programs, folder.path(), 20_000 / scale, &mut table).await?;
    webhooks::webhooks(&programs.kedge, folder.path(), 5_000 / scale, &mut table).await?;
    access::access(programs, folder.path(), 5_000 / scale, &mut table).await?;
    definitions::definitions(programs, folder.path(), 1_000 / scale, &mut table).await?;
    quota::quota(programs, folder.path(), 10_000 / scale, &mut table).await?;
    quota::leases(programs, folder.path(), &mut table).await?;
    control::control(programs, folder.path(), scale, &mut table).await?;
    reads_and_watches(&programs.kedge, folder.path(), scale, &mut table).await?;
    scheduling::scheduling(programs, folder.path(), scale, &mut table).await?;
    dns::dns(300_000 / scale, &mut table).await?;
    gateway::gateway(folder.path(), 1_000_000 / scale, &mut table).await?;
    growth::growth(&programs.kedge, folder.path(), 100_000 / scale, &mut table).await?;
    let with_services = proxy::proxy(&programs.kedge, folder.path(), scale, &mut table).await;
    let with_policies = policy::policy(scale, &mut table).await;
    // It needs root and containerd; without them the rest is worth printing all the same.
    let with_pods = podnet::podnet(&programs.kedge, folder.path(), scale, &mut table).await;
    let with_node = node::node(programs, folder.path(), scale, &mut table).await;
    table.print();
    with_pods.and(with_policies).and(with_services).and(with_node)
}

/// Creates through webhooks alone.
pub(crate) async fn creates(kedge: &Path, quick: bool) -> Result<(), BenchError> {
    let count = 5_000 / scale(quick);
    by_itself(async |folder, table| webhooks::webhooks(kedge, folder, count, table).await).await
}

/// Reads alone.
pub(crate) async fn reads(kedge: &Path, quick: bool) -> Result<(), BenchError> {
    by_itself(async |folder, table| reads_and_watches(kedge, folder, scale(quick), table).await).await
}

/// Many objects alone.
pub(crate) async fn growth(kedge: &Path, quick: bool) -> Result<(), BenchError> {
    let count = 100_000 / scale(quick);
    by_itself(async |folder, table| growth::growth(kedge, folder, count, table).await).await
}

/// Services alone.
pub(crate) async fn services(kedge: &Path, quick: bool) -> Result<(), BenchError> {
    by_itself(async |folder, table| proxy::proxy(kedge, folder, scale(quick), table).await).await
}

/// Policies alone.
pub(crate) async fn policies(quick: bool) -> Result<(), BenchError> {
    by_itself(async |_, table| policy::policy(scale(quick), table).await).await
}

/// The network of pods alone.
pub(crate) async fn podnet(kedge: &Path, quick: bool) -> Result<(), BenchError> {
    by_itself(async |folder, table| podnet::podnet(kedge, folder, scale(quick), table).await).await
}

/// The cluster's DNS alone.
pub(crate) async fn dns(quick: bool) -> Result<(), BenchError> {
    by_itself(async |_, table| dns::dns(300_000 / scale(quick), table).await).await
}

/// The gateway alone.
pub(crate) async fn gateway(quick: bool) -> Result<(), BenchError> {
    by_itself(async |folder, table| gateway::gateway(folder, 1_000_000 / scale(quick), table).await).await
}

/// One part of the suite, printed by itself.
async fn by_itself(
    part: impl AsyncFnOnce(&Path, &mut Table) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    let (folder, mut table) = (temporary()?, Table::default());
    part(folder.path(), &mut table).await?;
    table.print();
    Ok(())
}

fn temporary() -> Result<TempDir, BenchError> {
    tempfile::tempdir().map_err(|source| BenchError::Write { path: "a temporary folder".into(), source })
}

/// By how much less is done.
fn scale(quick: bool) -> usize {
    if quick { 10 } else { 1 }
}

/// An empty server: how soon it is ready, what it costs when nothing happens.
async fn start_and_idle(programs: &Programs, folder: &Path, table: &mut Table) -> Result<(), BenchError> {
    report::note("start and idle…");
    let mut starts = Vec::new();
    for round in 0..5 {
        let data = fresh(folder, &format!("start-{round}"))?;
        let server = Server::kedge(&programs.kedge, &data).await?;
        starts.push(server.took.as_secs_f64() * 1000.0);
        server.stop().await;
    }
    table.at_most("start to /readyz, empty store", median(&mut starts), "ms", 300.0);

    let server = Server::kedge(&programs.kedge, &fresh(folder, "idle")?).await?;
    // What start-up still has to do belongs to start-up.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = process::cost(server.pid);
    let watched = 20.0;
    tokio::time::sleep(Duration::from_secs_f64(watched)).await;
    let after = process::cost(server.pid);
    table.at_most("idle RSS", after.rss_mb, "MB", 30.0);
    table.at_most("idle CPU", (after.cpu_us - before.cpu_us) / watched / 1e4, "% of a core", 0.5);
    table.at_most(
        "written to disk while idle",
        (after.written_bytes - before.written_bytes) as f64,
        "bytes",
        0.0,
    );
    server.stop().await;
    Ok(())
}

/// Creates and status patches against raw etcd puts, alternating, so that the disk's mood meets both.
async fn writes(
    programs: &Programs,
    folder: &Path,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("writes against raw etcd puts…");
    let size = Size { connections: CONNECTIONS, count, bytes: 1024 };
    let (mut configs, mut pods, mut patches) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        let (etcd_server, endpoint) =
            Server::etcd(&programs.etcd, &fresh(folder, &format!("etcd-{round}"))?).await?;
        let puts = named("etcd", etcd::puts(&endpoint, &size, Some(etcd_server.pid)).await?);
        etcd_server.stop().await;
        let server = Server::kedge(&programs.kedge, &fresh(folder, &format!("writes-{round}"))?).await?;
        let api = Api { target: server.target()?, size: size.clone(), server: Some(server.pid) };
        for (measure, ratios) in [
            (Measure::CreateConfigmaps, &mut configs),
            (Measure::CreatePods, &mut pods),
            (Measure::PatchStatus, &mut patches),
        ] {
            let line = named("kedge", api.run(measure).await?);
            ratios.push(line.per_second / puts.per_second);
        }
        server.stop().await;
    }
    table.at_least("create ConfigMap ÷ raw etcd put", median(&mut configs), "×", 1.0);
    table.at_least("create Pod ÷ raw etcd put", median(&mut pods), "×", 0.5);
    table.at_least("patch Pod status ÷ raw etcd put", median(&mut patches), "×", 0.5);
    Ok(())
}

/// Get and list against the bare server that sends the same bytes; watches; memory after it all is deleted again.
async fn reads_and_watches(
    kedge: &Path,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    for pods in [5_000 / scale, 20_000 / scale] {
        report::note(&format!("reads with {pods} pods…"));
        let data = fresh(folder, &format!("reads-{pods}"))?;
        let server = Server::kedge(kedge, &data).await?;
        let size = Size { connections: CONNECTIONS, count: pods, bytes: 1024 };
        let api = Api { target: server.target()?, size, server: Some(server.pid) };
        api.run(Measure::CreateConfigmaps).await?;
        api.run(Measure::CreatePods).await?;
        let (answer, list) = (data.join("answer.json"), data.join("list.json"));
        save(&api, &format!("{NAMESPACE}/configmaps/config-0"), &answer).await?;
        save(&api, &format!("{NAMESPACE}/pods"), &list).await?;
        let floor_server = Server::bare(&data, &answer, &list).await?;
        let floor =
            Api { target: floor_server.target()?, server: Some(floor_server.pid), size: api.size.clone() };

        let listed = named("kedge", api.run(Measure::List).await?);
        let floor_listed = named("bare", floor.run(Measure::List).await?);
        let ratio = listed.mb_per_second.unwrap_or(0.0) / floor_listed.mb_per_second.unwrap_or(f64::MAX);
        table.at_least(&format!("LIST of {pods} pods ÷ bare server, bytes/s"), ratio, "×", 0.5);
        table.at_most(
            &format!("RSS added by LIST of {pods} pods"),
            listed.server_rss_grew_mb.unwrap_or(0.0),
            "MB",
            20.0,
        );
        pages::pages(&api, pods, table).await?;

        if pods > 5_000 / scale {
            let mut got = Vec::new();
            for _ in 0..3 {
                let ours = named("kedge", api.run(Measure::Get).await?);
                let bare = named("bare", floor.run(Measure::Get).await?);
                got.push(ours.server_cpu_us_per_op.unwrap_or(0.0) / bare.server_cpu_us_per_op.unwrap_or(1.0));
            }
            table.at_most("GET, CPU per request ÷ bare server", median(&mut got), "×", 2.0);
            wire::protobuf(&api, pods, table).await?;
            named("kedge", api.run(Measure::WatchFanout).await?);
            let late = named("kedge", api.run(Measure::WatchLatency).await?);
            table.at_most(
                "watch: p99 latency, 100 watchers, 50 events/s",
                late.p99_ms.unwrap_or(f64::MAX),
                "ms",
                10.0,
            );
            table.at_most(
                "watch: the same beyond the write's own p99",
                late.p99_ms.unwrap_or(f64::MAX) - late.write_p99_ms.unwrap_or(0.0),
                "ms",
                10.0,
            );
            let alone = named("disk", disk::syncs(&data, 50, 500).await?);
            table.seen("the disk alone: p99 of 50 syncs/s", alone.p99_ms.unwrap_or(f64::MAX), "ms");
            named("kedge", api.run(Measure::DeletePods).await?);
            named("kedge", api.run(Measure::DeleteConfigmaps).await?);
            tokio::time::sleep(Duration::from_secs(5)).await;
            table.at_most("RSS after deleting them", process::cost(server.pid).rss_mb, "MB", 100.0);
        }
        floor_server.stop().await;
        server.stop().await;
    }
    Ok(())
}

async fn save(api: &Api, path: &str, to: &Path) -> Result<(), BenchError> {
    let mut connection = Connection::open(&api.target).await?;
    let answer = connection.send(Method::GET, path, "", Bytes::new()).await?;
    let body = answer.into_body().collect().await?.to_bytes();
    std::fs::write(to, &body).map_err(|source| BenchError::Write { path: to.to_owned(), source })
}

fn fresh(folder: &Path, name: &str) -> Result<PathBuf, BenchError> {
    let path = folder.join(name);
    std::fs::create_dir_all(&path).map_err(|source| BenchError::Write { path: path.clone(), source })?;
    Ok(path)
}

/// Says whose figure it is and prints it.
fn named(target: &str, mut line: Line) -> Line {
    line.target = target.to_owned();
    report::line(&line);
    line
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Wanted beside seen.
#[derive(Default)]
struct Table(Vec<String>);

impl Table {
    fn at_most(&mut self, what: &str, seen: f64, unit: &str, limit: f64) {
        self.row(what, seen, unit, "≤", limit, seen <= limit);
    }

    fn at_least(&mut self, what: &str, seen: f64, unit: &str, limit: f64) {
        self.row(what, seen, unit, "≥", limit, seen >= limit);
    }

    fn row(&mut self, what: &str, seen: f64, unit: &str, sign: &str, limit: f64, good: bool) {
        let mark = if good { "met  " } else { "MISSED" };
        self.0.push(format!("{mark:<6} {what:<52} {seen:>10.2} {unit:<12} wanted {sign} {limit}"));
    }

    /// What nobody wants to be anything in particular.
    fn seen(&mut self, what: &str, seen: f64, unit: &str) {
        self.0.push(format!("{:<6} {what:<52} {seen:>10.2} {unit:<12}", "seen"));
    }

    fn print(&self) {
        for row in &self.0 {
            report::verdict(row);
        }
    }
}
