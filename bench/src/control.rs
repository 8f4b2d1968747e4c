//! What controllers and scheduler do in how long, against the API of a kubeconfig, with nodes that are only played. Works on
//! any Kubernetes; knows nothing of how controllers work.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use http::Method;
use kedge_scripted_nodes::{Machine, Nodes, Script};
use serde_json::{Value, json};

use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::measures::{Api, Measure, NAMESPACE};
use crate::report::Line;
use crate::{BenchError, Size, nodes, report};

const PATIENCE: Duration = Duration::from_secs(300);
const JSON: &str = "application/json";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/kedge-bench/deployments";
const OF_DEPLOYMENT: &str = "labelSelector=app%3Dbench&limit=1";

#[derive(Args)]
pub(crate) struct ControlArgs {
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    #[arg(long, default_value_t = 1000)]
    replicas: usize,
    /// How many objects are in the namespace that is deleted
    #[arg(long, default_value_t = 5000)]
    objects: usize,
    #[arg(long, default_value_t = 20)]
    nodes: u32,
}

pub(crate) async fn run(args: &ControlArgs) -> Result<(), BenchError> {
    let target = Target::load(&args.kubeconfig)?;
    let nodes = some_nodes(&args.kubeconfig, args.nodes).await?;
    let rollout = Rollout { target: &target, replicas: args.replicas };
    report::line(&rollout.create().await?);
    report::line(&rollout.delete().await?);
    drop(nodes);
    report::line(&namespace(&target, args.objects).await?);
    Ok(())
}

/// Nodes with room for everybody, until they are dropped.
pub(crate) async fn some_nodes(kubeconfig: &Path, count: u32) -> Result<Nodes, BenchError> {
    let machines =
        (0..count).map(|index| Machine { pods: 1000, ..Machine::new(format!("node-{}", index + 1), index) });
    nodes::start(kubeconfig, Script::default(), machines.collect()).await
}

/// A Deployment of many replicas.
pub(crate) struct Rollout<'a> {
    pub(crate) target: &'a Target,
    pub(crate) replicas: usize,
}

impl Rollout<'_> {
    /// From the request until all its pods are ready and its status says so.
    pub(crate) async fn create(&self) -> Result<Line, BenchError> {
        let size = Size { connections: 1, count: 1, bytes: 0 };
        Api { target: self.target.clone(), size, server: None }.make_namespace().await?;
        let labels = json!({ "app": "bench" });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "bench" },
            "spec": {
                "replicas": self.replicas, "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "c", "image": "nginx", "resources": { "requests": { "cpu": "10m" } } }] },
                },
            },
        });
        let mut connection = Connection::open(self.target).await?;
        let start = Instant::now();
        connection.drain(Method::POST, DEPLOYMENTS, JSON, Bytes::from(deployment.to_string())).await?;
        let path = format!("{DEPLOYMENTS}/bench");
        until(&mut connection, &path, "the Deployment's pods to be ready", |answer| {
            answer["status"]["readyReplicas"].as_u64() == Some(self.replicas as u64)
        })
        .await?;
        Ok(line("deployment-create", self.replicas, start.elapsed()))
    }

    /// From the request until neither it nor anything of it is left.
    pub(crate) async fn delete(&self) -> Result<Line, BenchError> {
        let mut connection = Connection::open(self.target).await?;
        let start = Instant::now();
        connection.drain(Method::DELETE, &format!("{DEPLOYMENTS}/bench"), "", Bytes::new()).await?;
        let gone = |answer: &Value| answer["items"].as_array().is_some_and(Vec::is_empty);
        let pods = format!("{NAMESPACE}/pods?{OF_DEPLOYMENT}");
        until(&mut connection, &pods, "the Deployment's pods to be gone", gone).await?;
        let sets = format!("/apis/apps/v1/namespaces/kedge-bench/replicasets?{OF_DEPLOYMENT}");
        until(&mut connection, &sets, "the Deployment's sets to be gone", gone).await?;
        Ok(line("deployment-delete", self.replicas, start.elapsed()))
    }
}

/// A namespace full of objects: from the request until it is gone.
pub(crate) async fn namespace(target: &Target, objects: usize) -> Result<Line, BenchError> {
    let size = Size { connections: 32, count: objects, bytes: 256 };
    Api { target: target.clone(), size, server: None }.run(Measure::CreateConfigmaps).await?;
    let mut connection = Connection::open(target).await?;
    let start = Instant::now();
    connection.drain(Method::DELETE, NAMESPACE, "", Bytes::new()).await?;
    let named = "/api/v1/namespaces?fieldSelector=metadata.name%3Dkedge-bench";
    until(&mut connection, named, "the namespace to be gone", |answer| {
        answer["items"].as_array().is_some_and(Vec::is_empty)
    })
    .await?;
    Ok(line("namespace-delete", objects, start.elapsed()))
}

/// How many requests of some verbs the server says that it has answered.
pub(crate) async fn answered(target: &Target, verbs: &[&str]) -> Result<f64, BenchError> {
    let mut connection = Connection::open(target).await?;
    let text = connection.text("/metrics").await?;
    let counts = text
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total{"))
        .filter(|line| verbs.iter().any(|verb| line.contains(&format!("verb=\"{verb}\""))));
    Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
}

/// Waits until what a path shows is as it should be.
pub(crate) async fn until(
    connection: &mut Connection,
    path: &str,
    what: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<(), BenchError> {
    let start = Instant::now();
    while !holds(&connection.json(path).await?) {
        if start.elapsed() > PATIENCE {
            return Err(BenchError::NotReady {
                program: "the server".to_owned(),
                why: format!("waited for {what}"),
            });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn line(measure: &str, ops: usize, took: Duration) -> Line {
    let seconds = took.as_secs_f64();
    Line {
        measure: measure.to_owned(),
        target: String::new(),
        ops,
        connections: 1,
        seconds,
        per_second: ops as f64 / seconds,
        p50_ms: None,
        p99_ms: None,
        write_p99_ms: None,
        mb_per_second: None,
        server_cpu_us_per_op: None,
        server_rss_mb: None,
        server_rss_grew_mb: None,
    }
}
