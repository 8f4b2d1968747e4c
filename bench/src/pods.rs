//! How soon pods run, and are gone, on a node of the API of a kubeconfig. Works on any Kubernetes: pods are bound to the node
//! from the start, so that nobody's scheduler is in the figures.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::load::Seen;
use crate::measures::{Api, NAMESPACE};
use crate::{BenchError, Size, report};

const JSON: &str = "application/json";
/// A pod that takes longer is an error, not a figure.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Args)]
pub(crate) struct PodsArgs {
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    /// The node that they are bound to [default: the first one]
    #[arg(long)]
    node: Option<String>,
    /// An image that the node has, whose program ends when it is asked to
    #[arg(long)]
    image: String,
    /// How many, one after the other
    #[arg(long, default_value_t = 20)]
    count: usize,
}

pub(crate) async fn run(args: &PodsArgs) -> Result<(), BenchError> {
    let target = Target::load(&args.kubeconfig)?;
    let node = match &args.node {
        Some(node) => node.clone(),
        None => first_node(&target).await?,
    };
    let pods = Pods { target, node, image: args.image.clone() };
    pods.prepare().await?;
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for number in 0..args.count {
        let name = format!("start-{number}");
        starts.push(pods.start(&name).await?);
        ends.push(pods.end(&name).await?);
    }
    for (measure, took) in [("start-pod", starts), ("end-pod", ends)] {
        let all = took.iter().sum();
        report::line(&Seen::new(took, all).line(measure, 1));
    }
    Ok(())
}

pub(crate) async fn first_node(target: &Target) -> Result<String, BenchError> {
    let nodes = Connection::open(target).await?.json("/api/v1/nodes").await?;
    let name = nodes["items"][0]["metadata"]["name"].as_str();
    name.map(str::to_owned).ok_or_else(|| late("a node"))
}

pub(crate) struct Pods {
    pub(crate) target: Target,
    pub(crate) node: String,
    pub(crate) image: String,
}

impl Pods {
    /// A namespace with the account that pods run as.
    pub(crate) async fn prepare(&self) -> Result<(), BenchError> {
        let size = Size { connections: 1, count: 1, bytes: 0 };
        Api { target: self.target.clone(), size, server: None }.make_namespace().await?;
        let mut connection = Connection::open(&self.target).await?;
        let begin = Instant::now();
        while connection.json(&format!("{NAMESPACE}/serviceaccounts/default")).await.is_err() {
            if begin.elapsed() > PATIENCE {
                return Err(late("the default service account"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// From the request until the pod is seen running.
    pub(crate) async fn start(&self, name: &str) -> Result<Duration, BenchError> {
        let watch = self.watch(name).await?;
        let body = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": self.node, "containers": [
                {"name": "main", "image": self.image, "imagePullPolicy": "IfNotPresent"},
            ]},
        });
        let mut connection = Connection::open(&self.target).await?;
        let begin = Instant::now();
        let path = format!("{NAMESPACE}/pods");
        connection.drain(Method::POST, &path, JSON, Bytes::from(body.to_string())).await?;
        until(watch, "\"phase\":\"Running\"").await?;
        Ok(begin.elapsed())
    }

    /// From the request until nothing of the pod is left.
    pub(crate) async fn end(&self, name: &str) -> Result<Duration, BenchError> {
        let watch = self.watch(name).await?;
        let mut connection = Connection::open(&self.target).await?;
        let begin = Instant::now();
        connection.drain(Method::DELETE, &format!("{NAMESPACE}/pods/{name}"), "", Bytes::new()).await?;
        until(watch, "\"type\":\"DELETED\"").await?;
        Ok(begin.elapsed())
    }

    async fn watch(&self, name: &str) -> Result<(Connection, Incoming), BenchError> {
        let mut connection = Connection::open(&self.target).await?;
        let path = format!("{NAMESPACE}/pods?watch=1&fieldSelector=metadata.name%3D{name}");
        let body = connection.send(Method::GET, &path, "", Bytes::new()).await?.into_body();
        Ok((connection, body))
    }
}

/// Reads events until one of them says so.
async fn until((_connection, mut body): (Connection, Incoming), said: &str) -> Result<(), BenchError> {
    let reading = async {
        let mut line = Vec::new();
        while let Some(frame) = body.frame().await {
            for byte in frame?.data_ref().into_iter().flatten() {
                if *byte != b'\n' {
                    line.push(*byte);
                } else if String::from_utf8_lossy(&std::mem::take(&mut line)).contains(said) {
                    return Ok(());
                }
            }
        }
        Err(late(said))
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap_or_else(|_| Err(late(said)))
}

fn late(what: &str) -> BenchError {
    BenchError::NotReady { program: "the node".to_owned(), why: format!("waited for {what}") }
}
