//! A node by itself: pods that files tell of, and an agent that starts while there is no API. Real containers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kedge_agent::{Agent, Eviction, Settings, Thresholds, Told};
use kedge_runtime::Runtime;
use kedge_runtime::wire::{Container, ContainerState};
use kedge_testkit::admin;
use kube::Client;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use scene::{PATIENCE, Scene, container_id, phase, restarts, shell};
use serde_json::json;

const LONG: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// How full the machine's disk is must not decide about a test.
fn usual(scene: &Scene) -> Settings {
    let eviction = Eviction { thresholds: Thresholds::none(), ..Eviction::default() };
    Settings { eviction, ..Settings::new("here", scene.folder.path()) }
}

/// A client that reaches nobody for as long as this says so.
fn fickle(inner: Client, away: Arc<AtomicBool>) -> Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, away) = (inner.clone(), away.clone());
        async move {
            if away.load(Ordering::SeqCst) {
                return Err(Box::<dyn std::error::Error + Send + Sync>::from("nobody is there"));
            }
            Ok(inner.send(request).await?)
        }
    });
    Client::new(service, "default")
}

async fn start(scene: &mut Scene, settings: Settings, client: Client) {
    let agent = Agent::start(settings, client, scene.clock.clone()).await.unwrap();
    scene.agent = Some(tokio::spawn(agent.run()));
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "still not: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn running(runtime: &Runtime) -> Vec<Container> {
    let mut all = runtime.containers(Default::default()).await.unwrap();
    all.retain(|container| container.state() == ContainerState::Running);
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_starts_without_the_api_keeps_its_pods() {
    let mut scene = Scene::new().await;
    let secrets = kube::Api::<Secret>::namespaced(scene.api.client(admin("somebody")), "default");
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    scene.make("stays", json!({"containers": [shell("main", LONG)]})).await;
    let mut crashes = shell("main", &format!("[ $K = v ] || exit 9; {LONG}"));
    let from = json!({"secretKeyRef": {"name": "s", "key": "k"}});
    crashes["env"] = json!([{"name": "K", "valueFrom": from}]);
    scene.make("crashes", json!({"containers": [crashes]})).await;
    let mut before = Vec::new();
    for name in ["stays", "crashes"] {
        before.push(scene.until("it runs", name, |pod| phase(pod) == "Running").await);
    }
    scene.kill_agent().await;
    let away = Arc::new(AtomicBool::new(true));
    let client = fickle(scene.api.client(admin("system:node:here")), away.clone());
    let settings = usual(&scene);
    start(&mut scene, settings, client).await;
    let runtime = Runtime::at(&scene.folder.path().join("containerd/containerd.sock"));
    // What ends comes back although nobody can be asked.
    let id = container_id(&before[1]).unwrap();
    let id = id.trim_start_matches("containerd://");
    runtime.stop_container(id, Duration::from_secs(1)).await.unwrap();
    eventually("it is back", async || {
        let all = running(&runtime).await;
        all.len() == 2 && all.iter().all(|container| container.id != id)
    })
    .await;
    // And once somebody can, nothing is done twice.
    away.store(false, Ordering::SeqCst);
    let after = scene.until("it is told", "crashes", |pod| restarts(pod) == 1).await;
    assert_eq!(after.metadata.uid, before[1].metadata.uid);
    let stays = scene.until("it runs", "stays", |pod| phase(pod) == "Running").await;
    assert_eq!(container_id(&stays), container_id(&before[0]));
    assert_eq!(runtime.sandboxes(Default::default()).await.unwrap().len(), 2);
    assert_eq!(running(&runtime).await.len(), 2);

    // What was deleted while it was away goes, also if it was only in the record.
    scene.kill_agent().await;
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    scene.pods().delete("stays", &now).await.unwrap();
    scene.start_agent().await;
    eventually("it is gone", async || running(&runtime).await.len() == 1).await;
    scene.delete("crashes").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_a_pod_and_a_deleted_node_comes_back() {
    let mut scene = Scene::new().await;
    scene.kill_agent().await;
    let folder = scene.folder.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let file = |script: &str| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"hostNetwork": true, "terminationGracePeriodSeconds": 2, "containers": [shell("c", script)]},
        });
        pod["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": 1}});
        std::fs::write(folder.join("web.json"), pod.to_string()).unwrap();
    };
    file(LONG);
    let told = Told {
        labels: [("zone".to_owned(), "a".to_owned())].into(),
        capacity: [("cpu".to_owned(), "7".parse().unwrap())].into(),
        ..Told::default()
    };
    let settings = Settings { static_pods: Some(folder.clone()), node: told, ..usual(&scene) };
    let client = scene.api.client(admin("system:node:here"));
    start(&mut scene, settings, client).await;
    let pods = scene.pods();
    let shown = async || pods.get_opt("web-here").await.unwrap();
    let runs = |pod: &Option<Pod>| pod.as_ref().is_some_and(|pod| phase(pod) == "Running");
    eventually("it runs", async || runs(&shown().await)).await;
    let first = shown().await.unwrap();
    let owner = first.metadata.owner_references.clone().unwrap();
    assert_eq!((&*owner[0].kind, &*owner[0].name), ("Node", "here"));
    let annotations = first.metadata.annotations.clone().unwrap();
    assert_eq!(annotations["kubernetes.io/config.source"], "file");
    assert_eq!(annotations["kubernetes.io/config.hash"], annotations["kubernetes.io/config.mirror"]);

    // Whoever deletes what only shows the pod does not end the pod.
    let ObjectMeta { uid, .. } = first.metadata.clone();
    pods.delete("web-here", &DeleteParams::default()).await.unwrap();
    eventually("it is shown again", async || {
        let pod = shown().await;
        runs(&pod) && pod.is_some_and(|pod| pod.metadata.uid != uid)
    })
    .await;
    assert_eq!(container_id(&shown().await.unwrap()), container_id(&first));

    // Another file is another pod.
    file(&format!("true; {LONG}"));
    let same = container_id(&first);
    eventually("it is another", async || {
        let pod = shown().await;
        runs(&pod) && pod.is_some_and(|pod| container_id(&pod) != same)
    })
    .await;
    let runtime = Runtime::at(&scene.folder.path().join("containerd/containerd.sock"));
    assert_eq!(running(&runtime).await.len(), 1);

    // A node that somebody deletes is made again, as it was.
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    let before = nodes.get("here").await.unwrap().metadata.uid;
    nodes.delete("here", &DeleteParams::default()).await.unwrap();
    eventually("the node is back", async || {
        nodes.get_opt("here").await.unwrap().is_some_and(|node| node.metadata.uid != before)
    })
    .await;
    let node = nodes.get("here").await.unwrap();
    assert_eq!(node.metadata.labels.unwrap()["zone"], "a");
    assert_eq!(node.status.unwrap().capacity.unwrap()["cpu"].0, "7");

    std::fs::remove_file(folder.join("web.json")).unwrap();
    eventually("it is gone", async || {
        shown().await.is_none() && runtime.sandboxes(Default::default()).await.unwrap().is_empty()
    })
    .await;
    scene.end().await;
}
