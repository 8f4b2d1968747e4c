//! A pod's life with real containers: the real API in this process, a real containerd below a folder of its own. Needs root,
//! containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kedge_agent::{Agent, Settings};
use kedge_clock::Clock;
use kedge_images::{File, Store, build};
use kedge_registry::Options;
use kedge_runtime::Runtime;
use kedge_runtime::containerd::{Config, Containerd};
use kedge_testkit::{Api, admin};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

struct Scene {
    folder: tempfile::TempDir,
    api: Api,
    clock: Clock,
    agent: Option<tokio::task::JoinHandle<()>>,
}

impl Scene {
    async fn new() -> Self {
        let clock = Clock::system();
        let api = Api::start(clock.clone(), Options::default()).await;
        let mut scene = Self { folder: tempfile::tempdir().unwrap(), api, clock, agent: None };
        scene.start_agent().await;
        let content = Bytes::from(std::fs::read("/bin/busybox").unwrap());
        let files = [
            File::Folder { path: "/bin".to_owned(), mode: 0o755 },
            File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
            File::Link { path: "/bin/sh".to_owned(), target: "busybox".to_owned() },
        ];
        let image = build("busybox:1", &files, json!({"Env": ["PATH=/bin"]})).unwrap();
        let store = Store::at(&scene.folder.path().join("containerd/containerd.sock"));
        store.import(&image, None, Timestamp::now(), |_| {}).await.unwrap();
        scene
    }

    async fn start_agent(&mut self) {
        let settings = Settings {
            addresses: vec!["192.0.2.7".parse().unwrap()],
            ..Settings::new("here", self.folder.path())
        };
        let client = self.api.client(admin("system:node:here"));
        let agent = Agent::start(settings, client, self.clock.clone()).await.unwrap();
        self.agent = Some(tokio::spawn(agent.run()));
    }

    /// As a killed process does: from one moment to the next.
    async fn kill_agent(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.abort();
        assert!(agent.await.unwrap_err().is_cancelled());
    }

    fn pods(&self) -> kube::Api<Pod> {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    async fn make(&self, name: &str, spec: Value) {
        let mut spec = spec;
        spec["nodeName"] = json!("here");
        spec["hostNetwork"] = json!(true);
        spec["automountServiceAccountToken"] = json!(false);
        spec["terminationGracePeriodSeconds"] = json!(2);
        let pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        self.pods().create(&PostParams::default(), &pod).await.unwrap();
    }

    async fn until(&self, what: &str, name: &str, holds: impl Fn(&Pod) -> bool) -> Pod {
        let end = Instant::now() + PATIENCE;
        loop {
            let pod = self.pods().get(name).await.unwrap();
            if holds(&pod) {
                return pod;
            }
            let status = || serde_json::to_string_pretty(&pod.status).unwrap();
            assert!(Instant::now() < end, "still not: {what}\n{}", status());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn delete(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default()).await.unwrap();
        let end = Instant::now() + PATIENCE;
        while self.pods().get_opt(name).await.unwrap().is_some() {
            assert!(Instant::now() < end, "{name} is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn log(&self, pod: &Pod, container: &str) -> String {
        let uid = pod.metadata.uid.as_deref().unwrap();
        let name = pod.metadata.name.as_deref().unwrap();
        let path = format!("logs/pods/default_{name}_{uid}/{container}/0.log");
        std::fs::read_to_string(self.folder.path().join(path)).unwrap_or_default()
    }

    /// Ends what outlives the agent, so that nothing is left on the machine.
    async fn end(mut self) {
        let pods = self.folder.path().join("pods");
        let runtime = Runtime::at(&self.folder.path().join("containerd/containerd.sock"));
        let end = Instant::now() + PATIENCE;
        loop {
            let sandboxes = runtime.sandboxes(Default::default()).await.unwrap();
            let folders: Vec<_> =
                std::fs::read_dir(&pods).unwrap().map(|entry| entry.unwrap().path()).collect();
            if sandboxes.is_empty() && folders.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "something is left: {sandboxes:?} {folders:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.kill_agent().await;
        let folder = self.folder.path();
        let config = Config {
            folder: folder.join("containerd"),
            program: "containerd".to_owned(),
            pause_image: kedge_images::PAUSE_IMAGE.to_owned(),
            cni_programs: folder.join("cni/bin"),
            cni_config: folder.join("cni/net.d"),
            restrict_oom_scores: true,
        };
        Containerd::start(config).await.unwrap().stop().await;
        rustix::mount::unmount(&pods, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(!mounted_below(folder), "something is left mounted");
    }
}

/// A test that fails leaves no process and no mount behind either.
impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let folder = self.folder.path();
        let pid = std::fs::read_to_string(folder.join("containerd/containerd.pid")).unwrap_or_default();
        let pid = pid.split_whitespace().next().and_then(|pid| pid.parse().ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ended = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _unmounted = rustix::mount::unmount(folder.join("pods"), rustix::mount::UnmountFlags::DETACH);
    }
}

fn mounted_below(folder: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.contains(&*folder.to_string_lossy())
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
    statuses.iter().flatten().map(|status| status.restart_count).sum()
}

fn container_id(pod: &Pod) -> Option<String> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.container_id.clone()
}

fn shell(name: &str, script: &str) -> Value {
    json!({"name": name, "image": "busybox:1", "command": ["sh", "-c", script]})
}

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
