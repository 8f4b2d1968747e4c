//! The pods that have to run on, and those that come, go and crash beside them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kedge_fleet::Expected;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::machine::{IMAGE, Machine, client};

/// How many pods have to run on.
const STEADY: usize = 5;
/// Two of them have two containers, and one shares the node's network.
pub(crate) const EXPECTED: Expected =
    Expected { pods: STEADY, containers: STEADY + 2, networked: STEADY - 1 };

fn sleeper(name: &str) -> Value {
    json!({"name": name, "image": IMAGE, "command": ["sleep", "1000000"]})
}

fn limited(name: &str) -> Value {
    let mut container = sleeper(name);
    let amounts = json!({"cpu": "50m", "memory": "32Mi"});
    container["resources"] = json!({"requests": amounts, "limits": amounts});
    container
}

fn mounted(name: &str) -> Value {
    let mut container = sleeper(name);
    container["volumeMounts"] =
        json!([{"name": "memory", "mountPath": "/memory"}, {"name": "disk", "mountPath": "/disk"}]);
    container
}

fn specs() -> [Value; STEADY] {
    let volumes =
        json!([{"name": "memory", "emptyDir": {"medium": "Memory"}}, {"name": "disk", "emptyDir": {}}]);
    let mut sidecar = sleeper("sidecar");
    sidecar["restartPolicy"] = json!("Always");
    [
        json!({"containers": [sleeper("a")]}),
        json!({"containers": [sleeper("a"), sleeper("b")]}),
        json!({"containers": [limited("a")]}),
        json!({"containers": [mounted("a")], "volumes": volumes}),
        json!({"containers": [sleeper("a")], "initContainers": [sidecar], "hostNetwork": true}),
    ]
}

fn pod(name: &str, kind: &str, mut spec: Value) -> Pod {
    spec["terminationGracePeriodSeconds"] = json!(0);
    spec["automountServiceAccountToken"] = json!(false);
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"kind": kind}}, "spec": spec}))
        .unwrap()
}

/// Makes them and waits until all run.
pub(crate) async fn steady(machine: &Machine) {
    let pods = machine.pods().await.unwrap();
    for (number, spec) in specs().into_iter().enumerate() {
        let made = pod(&format!("steady-{number}"), "steady", spec);
        machine
            .eventually("a pod is taken", async || match pods.create(&PostParams::default(), &made).await {
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                outcome => outcome.map(drop).map_err(|error| error.to_string()),
            })
            .await;
    }
    machine
        .eventually("all pods are ready", async || {
            let all = pods.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let waiting: Vec<_> =
                all.items.iter().filter(|pod| !is_ready(pod)).map(|pod| &pod.status).collect();
            if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:#?}")) }
        })
        .await;
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|found| found.type_ == "Ready" && found.status == "True")
}

pub(crate) async fn restarts(machine: &Machine) -> i32 {
    let pods = machine.pods().await.unwrap().list(&ListParams::default()).await.unwrap();
    let statuses = pods.items.iter().filter_map(|pod| pod.status.as_ref());
    let all = statuses.flat_map(|status| {
        status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten())
    });
    all.map(|told| told.restart_count).sum()
}

async fn remove(machine: &Machine, selector: &str) {
    let params = ListParams::default().labels(selector);
    machine
        .eventually("the pods are gone", async || {
            let pods = machine.pods().await.ok_or("there is no server")?;
            let left = pods.list(&params).await.map_err(|error| error.to_string())?;
            for pod in &left.items {
                let name = pod.metadata.name.as_deref().unwrap();
                if pod.metadata.deletion_timestamp.is_none() {
                    let _again_if_it_fails = pods.delete(name, &DeleteParams::default()).await;
                }
            }
            if left.items.is_empty() { Ok(()) } else { Err(format!("{:#?}", left.items[0].status)) }
        })
        .await;
}

pub(crate) async fn remove_all_but_steady(machine: &Machine) {
    remove(machine, "kind!=steady").await;
}

pub(crate) async fn remove_steady(machine: &Machine) {
    remove(machine, "kind=steady").await;
}

/// Works on the pods for as long as it lives. A server that isn't there is tried again.
pub(crate) struct Load {
    over: Arc<AtomicBool>,
    made: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Load {
    pub(crate) fn begin(machine: &Machine, seed: u64) -> Self {
        let (over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let task = tokio::spawn(work(machine.folder(), seed, over.clone(), made.clone()));
        Self { over, made, task }
    }

    /// How many pods it made.
    pub(crate) async fn end(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        self.made.load(Ordering::Relaxed)
    }
}

async fn work(folder: PathBuf, seed: u64, over: Arc<AtomicBool>, made: Arc<AtomicU64>) {
    let mut random = StdRng::seed_from_u64(seed ^ 1);
    let mut pods: Option<Api<Pod>> = None;
    let mut names: Vec<String> = Vec::new();
    for number in 0_u32.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(50..400))).await;
        if pods.is_none() {
            pods = client(&folder).await.map(|client| Api::namespaced(client, "default"));
        }
        let Some(api) = &pods else { continue };
        let outcome = if names.len() > 6 || !names.is_empty() && random.random_range(0..3) == 0 {
            let name = names.swap_remove(random.random_range(0..names.len()));
            api.delete(&name, &DeleteParams::default()).await.map(drop)
        } else {
            let name = format!("load-{number}");
            let spec = match random.random_range(0..3) {
                0 => json!({"restartPolicy": "Never", "containers": [shell("exit 0")]}),
                1 => json!({"containers": [shell("exit 1")]}),
                _ => {
                    json!({"containers": [sleeper("a")], "volumes": [{"name": "m", "emptyDir": {"medium": "Memory"}}]})
                }
            };
            names.push(name.clone());
            made.fetch_add(1, Ordering::Relaxed);
            api.create(&PostParams::default(), &pod(&name, "load", spec)).await.map(drop)
        };
        if matches!(outcome, Err(ref error) if !matches!(error, kube::Error::Api(_))) {
            pods = None;
        }
    }
}

fn shell(script: &str) -> Value {
    json!({"name": "a", "image": IMAGE, "command": ["sh", "-c", script]})
}
