//! How fast pods get their nodes: plain Node objects without machines behind them, pods that come all at once, and a watcher that
//! sees each of them bound. From the first creation to the last binding, through the API, whoever schedules there.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::watches::fresh;
use super::{Api, NAMESPACE};
use crate::connect::Connection;
use crate::load::{self, Seen};
use crate::report::Line;
use crate::{BenchError, process};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const ZONES: usize = 5;
/// Pods of one app are kept apart and spread together.
const APPS: usize = 20;
/// Longer than anybody needs; a scheduler that stops is an error, not a figure.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is bound where.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
    /// Every pod is spread over zones and stays away from its like.
    pub(crate) picky: bool,
}

impl Load {
    pub(crate) const PLAIN: Self = Self {
        name: "bind-pods",
        title: "bind 5000 pods on 200 nodes",
        nodes: 200,
        pods: 5_000,
        picky: false,
    };
    pub(crate) const PICKY: Self = Self {
        name: "bind-picky-pods",
        title: "bind on 5000 nodes with spread and affinity",
        nodes: 5_000,
        pods: 5_000,
        picky: true,
    };

    /// The same on fewer nodes.
    pub(crate) fn divided_by(self, scale: usize) -> Self {
        Self { nodes: self.nodes / scale, pods: self.pods / scale, ..self }
    }
}

impl Api {
    pub(crate) async fn bind(&self, load: Load) -> Result<Line, BenchError> {
        let run: Arc<str> = fresh("bind").into();
        self.register(&run, load.nodes).await?;
        let watching = self.watch_bindings(&run, load.pods).await?;
        let before = self.server.map(process::cost);
        let began = Instant::now();
        let pods = run.clone();
        let made =
            load::run(&self.target, self.size.connections, load.pods, None, move |mut connection, number| {
                let body = Bytes::from(pod(&pods, number, load.picky).to_string());
                async move {
                    let path = format!("{NAMESPACE}/pods");
                    let read = connection.drain(Method::POST, &path, JSON, body).await?;
                    Ok((connection, read))
                }
            });
        made.await?;
        let seen =
            tokio::time::timeout(PATIENCE, watching).await.map_err(|_| BenchError::NotReady {
                program: "the scheduler".to_owned(),
                why: format!("{} pods were not bound within {PATIENCE:?}", load.pods),
            })???;
        let elapsed = began.elapsed();
        let mut line = Seen::new(Vec::new(), elapsed)
            .costing(before, self.server.map(process::cost))
            .line(load.name, self.size.connections);
        line.ops = seen;
        line.per_second = (seen as f64 / elapsed.as_secs_f64()).round();
        line.server_cpu_us_per_op = line.server_cpu_us_per_op.map(|total| (total / seen as f64).round());
        self.clear(&run).await?;
        Ok(line)
    }

    /// Nodes that are ready from the beginning and stay so for as long as nobody misses their heartbeats.
    async fn register(&self, run: &Arc<str>, nodes: usize) -> Result<(), BenchError> {
        let run = run.clone();
        let connections = self.size.connections;
        let seen = load::run(&self.target, connections, nodes, None, move |mut connection, number| {
            let run = run.clone();
            async move {
                let path = format!("/api/v1/nodes/{run}-{number}");
                let node = Bytes::from(node(&run, number).to_string());
                let mut read = connection.drain(Method::POST, "/api/v1/nodes", JSON, node).await?;
                let ready = Bytes::from(json!({"status": status()}).to_string());
                read += connection.drain(Method::PATCH, &format!("{path}/status"), MERGE, ready).await?;
                // New nodes are tainted until a controller finds them ready; where none runs, nobody would take it away.
                let clean = Bytes::from_static(br#"{"spec":{"taints":null}}"#);
                read += connection.drain(Method::PATCH, &path, MERGE, clean).await?;
                Ok((connection, read))
            }
        });
        seen.await.map(drop)
    }

    async fn watch_bindings(
        &self,
        run: &str,
        pods: usize,
    ) -> Result<tokio::task::JoinHandle<Result<usize, BenchError>>, BenchError> {
        let mut connection = Connection::open(&self.target).await?;
        let list = connection.json(&format!("{NAMESPACE}/pods?fieldSelector=metadata.name%3Dnone")).await?;
        let from = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
        let path = format!(
            "{NAMESPACE}/pods?watch=1&resourceVersion={from}&labelSelector=run%3D{run}&timeoutSeconds=600"
        );
        let body = connection.send(Method::GET, &path, "", Bytes::new()).await?.into_body();
        let name = format!("\"name\":\"{run}-");
        Ok(tokio::spawn(async move {
            let seen = read_bindings(body, &name, pods).await;
            drop(connection);
            seen
        }))
    }

    async fn clear(&self, run: &str) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.target).await?;
        let now = Bytes::from_static(br#"{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}"#);
        for path in [format!("{NAMESPACE}/pods"), "/api/v1/nodes".to_owned()] {
            let path = format!("{path}?labelSelector=run%3D{run}");
            connection.drain(Method::DELETE, &path, JSON, now.clone()).await?;
        }
        Ok(())
    }
}

/// Reads until every pod of this run was seen with a node. Only looks for names: the machine has better things to do.
async fn read_bindings(mut body: Incoming, name: &str, wanted: usize) -> Result<usize, BenchError> {
    let mut bound: HashSet<String> = HashSet::with_capacity(wanted);
    let mut rest: Vec<u8> = Vec::new();
    while bound.len() < wanted {
        let Some(frame) = body.frame().await else {
            return Err(BenchError::Watch { seen: bound.len(), wanted, order: ", then the stream ended" });
        };
        rest.extend_from_slice(frame?.data_ref().map(|data| &data[..]).unwrap_or_default());
        let mut begun = 0;
        while let Some(length) = rest[begun..].iter().position(|byte| *byte == b'\n') {
            let event = String::from_utf8_lossy(&rest[begun..begun + length]);
            begun += length + 1;
            if event.contains("\"nodeName\":\"")
                && let Some((_, after)) = event.split_once(name)
            {
                bound.insert(after.chars().take_while(char::is_ascii_digit).collect());
            }
        }
        rest.drain(..begun);
    }
    Ok(bound.len())
}

fn node(run: &str, number: usize) -> Value {
    let name = format!("{run}-{number}");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "run": run, "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{}", number % ZONES),
        }},
        "status": status(),
    })
}

fn status() -> Value {
    let room = json!({"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"});
    json!({
        "capacity": room, "allocatable": room,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    })
}

fn pod(run: &str, number: usize, picky: bool) -> Value {
    let app = json!({"matchLabels": {"run": run, "app": format!("app-{}", number % APPS)}});
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("{run}-{number}"), "labels": app["matchLabels"]},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "web", "image": "registry.example/team/web:1.27.3",
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
            }],
        },
    });
    if picky {
        pod["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": app,
        }]);
        pod["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": app},
        ]}});
    }
    pod
}
