//! What a write costs in the registry, over a store in memory. Not run with the others: figures only mean something
//! in a release build on a quiet machine. `cargo test --release -p kedge-registry --test speed -- --ignored --nocapture`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail where it stands")]

use std::time::{Duration, Instant};

use kedge_clock::Clock;
use kedge_registry::{At, ListQuery, Options, Patch, Registry, WriteOptions};
use kedge_store::Store;
use serde_json::{Value, json};

const COUNT: u32 = 5000;

fn at(registry: &Registry, plural: &str, name: Option<&str>, subresource: Option<&str>) -> At {
    let kind = registry.catalog().kind("", "v1", plural).unwrap().clone();
    At {
        kind,
        namespace: Some("default".into()),
        name: name.map(Into::into),
        subresource: subresource.map(Into::into),
    }
}

fn config_map(at: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{at}"), "labels": {"app": "load"}},
        "data": {"text": "x".repeat(900)},
    })
}

fn pod(at: u32) -> Value {
    let container = json!({
        "name": "c", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p{at}"), "labels": {"app": "load"}},
        "spec": {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]},
    })
}

#[tokio::test]
#[ignore = "measures, proves nothing"]
async fn writes_are_cheap() {
    let started = Instant::now();
    let options = Options { namespace_worker: false, ..Options::default() };
    let registry = Registry::start(Store::memory(), Clock::system(), options).await.unwrap();
    println!("start on an empty store: {:?}", started.elapsed());
    let write = WriteOptions { manager: "load".to_owned(), ..WriteOptions::default() };
    let each = |spent: Duration| spent / COUNT;

    let objects: Vec<Value> = (0..COUNT).map(config_map).collect();
    let place = at(&registry, "configmaps", None, None);
    let started = Instant::now();
    for object in objects {
        registry.create(&place, object, &write).await.unwrap();
    }
    println!("create ConfigMap of 1 KiB: {:?}", each(started.elapsed()));

    let objects: Vec<Value> = (0..COUNT).map(pod).collect();
    let place = at(&registry, "pods", None, None);
    let started = Instant::now();
    for object in objects {
        registry.create(&place, object, &write).await.unwrap();
    }
    println!("create Pod: {:?}", each(started.elapsed()));

    let started = Instant::now();
    for number in 0..COUNT {
        let place = at(&registry, "pods", Some(&format!("p{number}")), Some("status"));
        let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        registry.patch(&place, Patch::Strategic(json!({"status": status})), &write).await.unwrap();
    }
    println!("patch Pod status: {:?}", each(started.elapsed()));

    let started = Instant::now();
    for number in 0..COUNT {
        registry.get(&at(&registry, "pods", Some(&format!("p{number}")), None), "").await.unwrap();
    }
    println!("get Pod: {:?}", each(started.elapsed()));

    for turn in ["first", "second"] {
        let query = ListQuery { labels: "app=load".to_owned(), ..ListQuery::default() };
        let started = Instant::now();
        let list = registry.list(&at(&registry, "pods", None, None), &query).await.unwrap();
        let bytes: usize = list.items.map(|bytes| bytes.as_ref().len()).sum();
        println!("{turn} list of {COUNT} Pods by label, {} KiB: {:?}", bytes / 1024, started.elapsed());
    }
}
