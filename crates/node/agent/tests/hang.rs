//! A runtime that takes every question and answers none: the node says so, what runs runs on, and everything that was asked
//! meanwhile is done when it answers again. And one that dies: what died with it is missed. Needs what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kedge_testkit::admin;
use kube::api::DeleteParams;
use rustix::process::{Pid, Signal, kill_process};
use scene::{PATIENCE, Scene, container_id, is_ready, phase, processes_of, restarts, shell};
use serde_json::json;

fn signal(scene: &Scene, signal: Signal) {
    let line = std::fs::read_to_string(scene.folder.path().join("containerd/containerd.pid")).unwrap();
    let pid = line.split(' ').next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Waits until the node says this of itself, or no longer.
async fn node_says(scene: &Scene, words: &str, wanted: bool) {
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    let end = Instant::now() + PATIENCE;
    loop {
        let conditions = nodes.get("here").await.unwrap().status.unwrap_or_default().conditions;
        let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready").unwrap();
        let says = ready.message.as_deref().unwrap_or_default().contains(words);
        if says == wanted {
            assert!(
                !says || (ready.status, ready.reason.as_deref()) == ("False".into(), Some("KubeletNotReady"))
            );
            return;
        }
        assert!(Instant::now() < end, "still {wanted} is not that it says {words:?}: {ready:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_hangs_hurts_nobody() {
    let scene = Scene::new().await;
    let shared = scene.folder.path().join("shared");
    std::fs::create_dir_all(&shared).unwrap();
    let mut steady = shell("main", "while :; do echo tick >> /shared/ticks; sleep 0.1; done");
    steady["volumeMounts"] = json!([{"name": "shared", "mountPath": "/shared"}]);
    let volume = json!({"name": "shared", "hostPath": {"path": shared}});
    scene.make("steady", json!({"containers": [steady], "volumes": [volume]})).await;
    let idle = || json!({"containers": [shell("main", "trap 'exit 0' TERM; while :; do sleep 0.1; done")]});
    for name in ["leaving", "forced"] {
        scene.make(name, idle()).await;
    }
    for name in ["steady", "leaving", "forced"] {
        scene.until("it runs", name, |pod| phase(pod) == "Running").await;
    }
    let before = container_id(&scene.pods().get("steady").await.unwrap());
    node_says(&scene, "container runtime is down", false).await;

    signal(&scene, Signal::STOP);
    scene.pods().delete("leaving", &DeleteParams::default()).await.unwrap();
    scene.make("late", idle()).await;
    node_says(&scene, "container runtime is down: Status: no answer within", true).await;
    // Who cannot wait need not: the API lets it go, and the node cleans up when it can.
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    scene.pods().delete("forced", &now).await.unwrap();
    scene.gone("forced").await;
    let leaving = scene.pods().get("leaving").await.unwrap();
    assert!(leaving.metadata.deletion_timestamp.is_some());
    assert_eq!(phase(&scene.pods().get("late").await.unwrap()), "Pending");
    let ticks = || std::fs::metadata(shared.join("ticks")).unwrap().len();
    let (seen, end) = (ticks(), Instant::now() + PATIENCE);
    while ticks() <= seen {
        assert!(Instant::now() < end, "what ran stands still");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    signal(&scene, Signal::CONT);
    node_says(&scene, "container runtime is down", false).await;
    scene.until("it runs", "late", |pod| phase(pod) == "Running").await;
    scene.gone("leaving").await;
    let after = scene.pods().get("steady").await.unwrap();
    assert_eq!((container_id(&after), restarts(&after)), (before, 0));
    for name in ["steady", "late"] {
        scene.delete(name).await;
    }
    scene.end().await;
}

/// Nobody tells what happened while nobody listened, and here nobody looks now and then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_dies_while_the_runtime_is_away_is_missed_when_it_is_back() {
    let scene = Scene::with(|settings| settings.look_every = Duration::from_secs(3600)).await;
    let main = shell("main", "while :; do sleep 0.1; done");
    scene.make("mourned", json!({"hostPID": true, "containers": [main]})).await;
    let before = scene.until("it is ready", "mourned", is_ready).await;
    signal(&scene, Signal::KILL);
    // Its shim would remember, and tell of it later.
    let folder = scene.folder.path();
    let children = |of: i32| {
        let text = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    };
    let shim = processes_of(folder).into_iter().find(|pid| !children(*pid).is_empty()).unwrap();
    for pid in [vec![shim], children(shim)].concat() {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    let has_another = |pod: &k8s_openapi::api::core::v1::Pod| {
        is_ready(pod) && container_id(pod).is_some() && container_id(pod) != container_id(&before)
    };
    scene.until("it runs again", "mourned", has_another).await;
    scene.delete("mourned").await;
    scene.end().await;
}
