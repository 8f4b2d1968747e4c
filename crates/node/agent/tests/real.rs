//! A pod's life with real containers: the real API in this process, a real containerd below a folder of its own. Needs root,
//! containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kedge_agent::{Networking, clean};
use kedge_runtime::Runtime;
use kedge_testkit::admin;
use kedge_usage::{Groups, Layout};
use kube::api::{DeleteParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use scene::{PATIENCE, Scene, container_id, mounted_below, phase, processes_of, restarts, shell};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_runs_ends_and_leaves_nothing() {
    let scene = Scene::new().await;
    let map: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "m"}, "data": {"k": "from the map"}})).unwrap();
    let maps = kube::Api::<ConfigMap>::namespaced(scene.api.client(admin("somebody")), "default");
    maps.create(&PostParams::default(), &map).await.unwrap();
    let mut first = shell("first", "echo made before > /data/x");
    first["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    let mut main = shell("main", "read x < /data/x; echo $x, $(FROM); read y < /map/k; echo $y; exit 4");
    main["env"] = json!([{"name": "FROM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    main["volumeMounts"] =
        json!([{"name": "data", "mountPath": "/data"}, {"name": "map", "mountPath": "/map"}]);
    let volumes = json!([{"name": "data", "emptyDir": {"medium": "Memory"}}, {"name": "map", "configMap": {"name": "m"}}]);
    let spec = json!({"restartPolicy": "Never", "initContainers": [first], "containers": [main], "volumes": volumes});
    scene.make("short", spec).await;
    let pod = scene.until("it has failed", "short", |pod| phase(pod) == "Failed").await;
    let log = scene.log(&pod, "main");
    assert!(log.contains(" stdout F made before, short\n"), "{log}");
    assert!(log.contains(" stdout F from the map\n"), "{log}");
    let ended = pod.status.unwrap().container_statuses.unwrap()[0].state.clone().unwrap().terminated.unwrap();
    assert_eq!((ended.exit_code, ended.reason.as_deref()), (4, Some("Error")));
    scene.delete("short").await;

    let node: Node = kube::Api::all(scene.api.client(admin("somebody"))).get("here").await.unwrap();
    let info = node.status.unwrap().node_info.unwrap();
    assert!(info.container_runtime_version.starts_with("containerd://"), "{info:?}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_outlives_its_agent() {
    let mut scene = Scene::new().await;
    let main = shell("main", "trap 'exit 0' TERM; while :; do sleep 0.1; done");
    scene.make("long", json!({"containers": [main]})).await;
    let ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone());
        conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
    };
    let before = scene.until("it is ready", "long", ready).await;
    let runtime_group = format!("{}.containerd", scene.cgroup());
    let keepers = processes_of(scene.folder.path());
    assert!(keepers.len() > 1, "containerd and a shim: {keepers:?}");
    for pid in keepers {
        let groups = mounted_cgroups(pid);
        assert!(groups.iter().all(|path| path.ends_with(&runtime_group)), "{runtime_group}: {groups:?}");
    }
    scene.kill_agent().await;
    // What is asked for meanwhile is done by the next agent, and what ran runs on.
    scene.make("meanwhile", json!({"restartPolicy": "Never", "containers": [shell("c", "exit 0")]})).await;
    scene.start_agent().await;
    scene.until("it is done", "meanwhile", |pod| phase(pod) == "Succeeded").await;
    let after = scene.until("it is ready", "long", ready).await;
    assert_eq!(container_id(&before), container_id(&after));
    assert_eq!(restarts(&after), 0);

    // A pod that goes while nobody looks is cleared away by the next agent.
    scene.delete("meanwhile").await;
    scene.kill_agent().await;
    let params = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    scene.pods().delete("long", &params).await.unwrap();
    scene.start_agent().await;
    let runtime = Runtime::at(&scene.folder.path().join("containerd/containerd.sock"));
    let end = Instant::now() + PATIENCE;
    while !runtime.sandboxes(Default::default()).await.unwrap().is_empty() {
        assert!(Instant::now() < end, "the sandbox is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.end().await;
    let groups = Groups::new(Layout::here().unwrap());
    assert!(!groups.exists(&runtime_group), "the runtime's cgroup is left");
}

/// The cgroups of a process, in the trees that can be seen here.
fn mounted_cgroups(pid: i32) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_mounted = |tree: &str| match tree {
        "" => table.contains(" - cgroup2 "),
        tree => table.lines().filter_map(|line| line.split_once(" - cgroup ")).any(|(_, options)| {
            options.rsplit(' ').next().is_some_and(|options| options.split(',').any(|one| one == tree))
        }),
    };
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let groups = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (trees, path) = (parts.next()?, parts.next()?);
        trees.split(',').any(is_mounted).then(|| path.to_owned())
    });
    groups.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_run_says_why() {
    let scene = Scene::new().await;
    let mut absent = shell("c", "true");
    absent["image"] = json!("absent:1");
    absent["imagePullPolicy"] = json!("Never");
    scene.make("absent", json!({"containers": [absent]})).await;
    let mut unknown = shell("c", "true");
    unknown["envFrom"] = json!([{"configMapRef": {"name": "none"}}]);
    scene.make("unknown", json!({"containers": [unknown]})).await;
    scene.make("crashing", json!({"containers": [shell("c", "exit 1")]})).await;
    let mut missing = shell("c", "true");
    missing["command"] = json!(["/no/such/program"]);
    scene.make("missing", json!({"restartPolicy": "Never", "containers": [missing]})).await;
    let waits = |reason: &'static str| {
        move |pod: &Pod| {
            let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
            let state = statuses.and_then(|all| all.first()?.state.clone()).unwrap_or_default();
            state.waiting.and_then(|waiting| waiting.reason).as_deref() == Some(reason)
        }
    };
    scene.until("the image is missed", "absent", waits("ErrImageNeverPull")).await;
    scene.until("the map is missed", "unknown", waits("CreateContainerConfigError")).await;
    scene.until("it crashes", "crashing", waits("CrashLoopBackOff")).await;
    scene.until("the program is missed", "missing", |pod| phase(pod) == "Failed").await;
    // Once the map is there, the pod runs.
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "none"}})).unwrap();
    let maps = kube::Api::<ConfigMap>::namespaced(scene.api.client(admin("somebody")), "default");
    maps.create(&PostParams::default(), &map).await.unwrap();
    scene.until("it runs", "unknown", |pod| restarts(pod) > 0).await;
    for name in ["absent", "unknown", "crashing", "missing"] {
        scene.delete(name).await;
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_runtime_left_is_cleaned_with_the_network_that_it_had() {
    let programs = "/no/such/programs";
    let mut scene = Scene::with(|settings| settings.networking.programs = programs.into()).await;
    let main = shell("main", "while :; do sleep 0.1; done");
    scene.make("left", json!({"containers": [main]})).await;
    scene.until("it runs", "left", |pod| phase(pod) == "Running").await;
    scene.kill_agent().await;
    let folder = scene.folder.path();
    let line = std::fs::read_to_string(folder.join("containerd/containerd.pid")).unwrap();
    let pid = line.split(' ').next().unwrap().parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    // Whoever cleans does not know how the node was set up.
    clean(folder, &Networking::below(folder)).await.unwrap();
    let told = std::fs::read_to_string(folder.join("containerd/config.toml")).unwrap();
    assert!(told.contains(programs), "{told}");
    assert!(!mounted_below(folder), "something is left mounted");
    assert_eq!(processes_of(folder), [0; 0], "something is left running");
}
