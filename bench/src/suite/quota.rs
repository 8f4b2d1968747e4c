//! What a quota adds to the writes that it counts, and what nodes' signs of life cost: their renewals are the writes that
//! never end.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::server::Server;
use super::{CONNECTIONS, Programs, Table, fresh, median, named};
use crate::connect::Connection;
use crate::measures::{Api, Measure, NAMESPACE};
use crate::{BenchError, Size, report};

const JSON: &str = "application/json";
const NODES: usize = 100;
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kedge-bench/leases";

/// Creates with and without a quota on what is created, in turn.
pub(super) async fn quota(
    programs: &Programs,
    folder: &Path,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("creates under a quota…");
    let size = Size { connections: CONNECTIONS, count, bytes: 1024 };
    let mut ratios = Vec::new();
    for round in 0..3 {
        let server = Server::kedge(&programs.kedge, &fresh(folder, &format!("quota-{round}"))?).await?;
        let api = Api { target: server.target()?, size: size.clone(), server: Some(server.pid) };
        let plain = named("kedge", api.run(Measure::CreatePods).await?);
        api.run(Measure::DeletePods).await?;
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "bench"},
            "spec": {"hard": {"pods": "1000000", "requests.cpu": "1000000", "limits.memory": "1000Ti"}},
        });
        send(&api, Method::POST, &format!("{NAMESPACE}/resourcequotas"), &quota).await?;
        let counted = named("kedge, quota", api.run(Measure::CreatePods).await?);
        ratios.push(counted.per_second / plain.per_second);
        server.stop().await;
    }
    table.at_least("create Pod under a quota ÷ plain", median(&mut ratios), "×", 0.5);
    Ok(())
}

/// A node's Lease is renewed every ten seconds. Each renewal is durable, so what counts is how little is written for it.
pub(super) async fn leases(programs: &Programs, folder: &Path, table: &mut Table) -> Result<(), BenchError> {
    report::note("renewals of leases…");
    let data = fresh(folder, "leases")?;
    let server = Server::kedge(&programs.kedge, &data).await?;
    let size = Size { connections: 1, count: NODES, bytes: 0 };
    let api = Api { target: server.target()?, size, server: Some(server.pid) };
    api.make_namespace().await?;
    for node in 0..NODES {
        send(&api, Method::POST, LEASES, &lease(node, 0)).await?;
    }
    let before = log_bytes(&data);
    for node in 0..NODES {
        send(&api, Method::PATCH, &format!("{LEASES}/node-{node}"), &lease(node, 1)).await?;
    }
    let each = (log_bytes(&data) - before) as f64 / NODES as f64;
    table.at_most("log written for one renewal of a Lease", each, "bytes", 1200.0);
    server.stop().await;
    Ok(())
}

fn lease(node: usize, turn: usize) -> Value {
    let name = format!("node-{node}");
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {
            "holderIdentity": name, "leaseDurationSeconds": 40,
            "renewTime": format!("2026-01-01T12:00:0{turn}.000000Z"),
        },
    })
}

async fn send(api: &Api, method: Method, path: &str, body: &Value) -> Result<(), BenchError> {
    let mut connection = Connection::open(&api.target).await?;
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { JSON };
    connection.drain(method, path, content, Bytes::from(body.to_string())).await.map(|_| ())
}

/// How far the log of a store that is still in its first segments is written. What is behind that is zero.
fn log_bytes(data: &Path) -> usize {
    let files = fs::read_dir(data.join("store")).into_iter().flatten().flatten();
    let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with("log-"));
    logs.filter_map(|file| fs::read(file.path()).ok())
        .map(|bytes| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1))
        .sum()
}
