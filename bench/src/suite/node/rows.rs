//! The figures of a node with real containers that any Kubernetes has: how soon pods run and are gone, alone and many at once, and
//! what the node's processes hold and burn. Knows a kubeconfig and, where it can be reached, the node's runtime.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use kedge_runtime::RuntimeError;
use serde_json::json;

use super::super::{Table, median, named};
use super::bare::Bare;
use crate::connect::Connection;
use crate::load::Seen;
use crate::measures::NAMESPACE;
use crate::pods::Pods;
use crate::{BenchError, process};

const PATIENCE: Duration = Duration::from_secs(120);
/// After the start of a node with pods: what its runtime may have left behind is looked for until then.
const AFTERWARDS: Duration = Duration::from_secs(65);
/// Whatever was needed for a while is given back within this.
const GIVEN_BACK: Duration = Duration::from_secs(35);
const IDLE: Duration = Duration::from_secs(20);

pub(super) struct Rows {
    /// Whose figures they are.
    pub(super) who: &'static str,
    pub(super) pods: Pods,
    /// Without it there is nothing to compare with.
    pub(super) bare: Option<Bare>,
}

impl Rows {
    /// One after the other.
    pub(super) async fn alone(&self, count: usize, table: &mut Table) -> Result<(), BenchError> {
        let (mut bare, mut ours, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count {
            if let Some(runtime) = &self.bare {
                bare.push(runtime.one(number).await.map_err(failed)?.as_secs_f64() * 1000.0);
            }
            let name = format!("one-{number}");
            ours.push(self.pods.start(&name).await?.as_secs_f64() * 1000.0);
            ends.push(self.pods.end(&name).await?.as_secs_f64() * 1000.0);
        }
        let ours = median(&mut ours);
        if !bare.is_empty() {
            let bare = median(&mut bare);
            let ratio = ours / bare;
            table.seen("bare calls of the runtime, p50", bare, "ms");
            table.at_most("bound pod to Running ÷ bare calls of the runtime, p50", ratio, "×", 1.3);
        }
        table.at_most("bound pod to Running, p50", ours, "ms", 620.0);
        table.at_most("pod deleted until gone, p50", median(&mut ends), "ms", 300.0);
        Ok(())
    }

    /// Many of one Deployment, which stays.
    pub(super) async fn together(&self, count: usize, table: &mut Table) -> Result<(), BenchError> {
        let bare = match &self.bare {
            Some(runtime) => Some(runtime.many(count).await.map_err(failed)?),
            None => None,
        };
        let together = self.deployment(count).await?;
        named(self.who, Seen::new(vec![together; count], together).line("deployment-ready", 1));
        table.seen(&format!("Deployment of {count} Ready"), together.as_secs_f64(), "s");
        if let Some(bare) = bare {
            let ratio = together.as_secs_f64() / bare.as_secs_f64();
            table.at_most(&format!("Deployment of {count} Ready ÷ bare calls all at once"), ratio, "×", 1.3);
        }
        Ok(())
    }

    /// What some processes burn while nothing happens to a few pods.
    pub(super) async fn idle(&self, pids: &[u32], count: usize, table: &mut Table) -> Result<(), BenchError> {
        self.scale_to(count).await?;
        tokio::time::sleep(AFTERWARDS).await;
        let burnt = || pids.iter().map(|pid| process::cost(*pid).cpu_us).sum::<f64>();
        let before = burnt();
        tokio::time::sleep(IDLE).await;
        let share = (burnt() - before) / IDLE.as_secs_f64() / 1e4;
        table.at_most(&format!("idle CPU with {count} pods"), share, "% of a core", 1.0);
        Ok(())
    }

    /// From the request until all its pods are ready.
    async fn deployment(&self, replicas: usize) -> Result<Duration, BenchError> {
        let labels = json!({"app": "many"});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": self.pods.node},
                    "containers": [
                        {"name": "main", "image": self.pods.image, "imagePullPolicy": "IfNotPresent"},
                    ],
                },
            }},
        });
        let mut connection = Connection::open(&self.pods.target).await?;
        let begin = Instant::now();
        let body = Bytes::from(deployment.to_string());
        connection.drain(Method::POST, &path(""), "application/json", body).await?;
        self.has("readyReplicas", replicas).await?;
        Ok(begin.elapsed())
    }

    async fn scale_to(&self, replicas: usize) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.pods.target).await?;
        let body = Bytes::from(json!({"spec": {"replicas": replicas}}).to_string());
        connection.drain(Method::PATCH, &path("/many"), "application/merge-patch+json", body).await?;
        self.has("replicas", replicas).await?;
        self.are(replicas).await
    }

    /// Takes the Deployment away again, and waits until nothing is left of its pods.
    pub(super) async fn remove(&self) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.pods.target).await?;
        connection.drain(Method::DELETE, &path("/many"), "", Bytes::new()).await?;
        self.are(0).await
    }

    /// A Deployment counts only those that stay; the others are gone a while later.
    async fn are(&self, count: usize) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.pods.target).await?;
        let begin = Instant::now();
        loop {
            let pods = connection.json(&format!("{NAMESPACE}/pods")).await?;
            if pods["items"].as_array().map(Vec::len) == Some(count) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(late("pods to be gone"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn has(&self, field: &str, replicas: usize) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.pods.target).await?;
        let begin = Instant::now();
        // A field that is zero is left out.
        while connection.json(&path("/many")).await?["status"][field].as_u64().unwrap_or(0) != replicas as u64
        {
            if begin.elapsed() > PATIENCE {
                return Err(late("the Deployment's pods"));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Until the node says that it is ready.
    pub(super) async fn ready(&self) -> Result<(), BenchError> {
        let is_ready = |node: &serde_json::Value| {
            let conditions = node["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        let mut connection = Connection::open(&self.pods.target).await?;
        let path = format!("/api/v1/nodes/{}", self.pods.node);
        let begin = Instant::now();
        while !connection.json(&path).await.is_ok_and(|node| is_ready(&node)) {
            if begin.elapsed() > PATIENCE {
                return Err(late("the node to be ready"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

/// What processes hold together once they have given back what they only needed for a while.
pub(super) async fn settled(pids: &[u32]) -> f64 {
    let held = || pids.iter().map(|pid| process::cost(*pid).rss_mb).sum::<f64>();
    let mut least = held();
    let begin = Instant::now();
    while begin.elapsed() < GIVEN_BACK {
        tokio::time::sleep(Duration::from_millis(500)).await;
        least = least.min(held());
    }
    least
}

fn path(rest: &str) -> String {
    format!("{}/deployments{rest}", NAMESPACE.replace("/api/v1/", "/apis/apps/v1/"))
}

fn failed(error: RuntimeError) -> BenchError {
    BenchError::NotReady { program: "the runtime".to_owned(), why: error.to_string() }
}

pub(super) fn late(what: &str) -> BenchError {
    BenchError::NotReady { program: "the node".to_owned(), why: format!("waited for {what}") }
}
