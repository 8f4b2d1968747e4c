//! A node on this machine for one test: the real API in this process, a real containerd below a folder of its own. Needs
//! root, containerd, runc and a static busybox.
#![allow(dead_code, unused_imports, reason = "each test file uses what it needs")]

mod left;
mod objects;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kedge_agent::{Agent, Eviction, ImageRules, Settings, Shutdown, Thresholds};
use kedge_clock::Clock;
use kedge_images::{File, Store, build};
use kedge_registry::Options;
use kedge_runtime::Runtime;
use kedge_testkit::{Api, admin};
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

pub(crate) use self::left::{mounted_below, processes_of};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) api: Api,
    pub(crate) clock: Clock,
    /// Whether the agent can reach the API.
    pub(crate) away: Arc<AtomicBool>,
    pub(crate) agent: Option<tokio::task::JoinHandle<()>>,
    /// For who knows that the machine goes down.
    pub(crate) shutdown: Option<Shutdown>,
    settings: Settings,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A node that is set up otherwise.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::below(tempfile::tempdir().unwrap(), change).await
    }

    /// One whose agent goes by this clock; the API has the machine's.
    pub(crate) async fn by(clock: Clock, change: impl FnOnce(&mut Settings)) -> Self {
        Self::made(tempfile::tempdir().unwrap(), clock, change).await
    }

    /// One that has its data in a certain place.
    pub(crate) async fn below(folder: tempfile::TempDir, change: impl FnOnce(&mut Settings)) -> Self {
        Self::made(folder, Clock::system(), change).await
    }

    async fn made(folder: tempfile::TempDir, clock: Clock, change: impl FnOnce(&mut Settings)) -> Self {
        let api = Api::start(Clock::system(), Options::default()).await;
        let mut settings = Settings {
            addresses: vec!["192.0.2.7".parse().unwrap()],
            // How full the machine's disk is must not decide about a test.
            eviction: Eviction { thresholds: Thresholds::none(), ..Eviction::default() },
            image_rules: ImageRules { high: 100, ..ImageRules::default() },
            ..Settings::new("here", folder.path())
        };
        change(&mut settings);
        let away = Arc::default();
        let mut scene = Self { folder, api, clock, away, agent: None, shutdown: None, settings };
        scene.start_agent().await;
        scene.import("busybox:1").await;
        scene
    }

    /// Gives the node an image of this name.
    pub(crate) async fn import(&self, name: &str) {
        let content = Bytes::from(std::fs::read("/bin/busybox").unwrap());
        let link = |name: &str| File::Link { path: format!("/bin/{name}"), target: "busybox".to_owned() };
        let mut files = vec![
            File::Folder { path: "/bin".to_owned(), mode: 0o755 },
            File::Folder { path: "/tmp".to_owned(), mode: 0o777 },
            File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
            // Two of the same content would be one.
            File::Regular { path: "/name".to_owned(), mode: 0o644, content: Bytes::from(name.to_owned()) },
        ];
        let names = ["sh", "cat", "dd", "grep", "id", "ls", "mkdir", "ps", "sleep", "tail", "touch"];
        files.extend(names.map(link));
        let image = build(name, &files, json!({"Env": ["PATH=/bin"]})).unwrap();
        let store = Store::at(&self.folder.path().join("containerd/containerd.sock"));
        store.import(&image, None, Timestamp::now(), |_| {}).await.unwrap();
    }

    pub(crate) async fn start_agent(&mut self) {
        let client = self.interrupted(self.api.client(admin("system:node:here")));
        let agent = Agent::start(self.settings.clone(), client, self.clock.clone()).await.unwrap();
        self.shutdown = Some(agent.shutdown());
        self.agent = Some(tokio::spawn(agent.run()));
    }

    /// A client whose requests come to nothing while the API is away.
    fn interrupted(&self, client: kube::Client) -> kube::Client {
        let away = self.away.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (away, client) = (away.clone(), client.clone());
            async move {
                if away.load(Ordering::SeqCst) {
                    return Err(kube::Error::Service("the API is away".into()));
                }
                client.send(request).await
            }
        });
        kube::Client::new(service, "default")
    }

    /// As a killed process does: from one moment to the next.
    pub(crate) async fn kill_agent(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.abort();
        assert!(agent.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn pods(&self) -> kube::Api<Pod> {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    /// A pod on this node, with what tests usually want where it says nothing.
    pub(crate) async fn make(&self, name: &str, mut spec: Value) {
        for (field, value) in [
            ("nodeName", json!("here")),
            ("hostNetwork", json!(true)),
            ("automountServiceAccountToken", json!(false)),
            ("terminationGracePeriodSeconds", json!(2)),
        ] {
            if spec.get(field).is_none() {
                spec[field] = value;
            }
        }
        let meta = json!({"name": name, "labels": {"key": "first"}});
        let pod = serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap();
        self.pods().create(&PostParams::default(), &pod).await.unwrap();
    }

    pub(crate) async fn until(&self, what: &str, name: &str, holds: impl Fn(&Pod) -> bool) -> Pod {
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

    pub(crate) async fn delete(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default()).await.unwrap();
        self.gone(name).await;
    }

    pub(crate) async fn gone(&self, name: &str) {
        let end = Instant::now() + PATIENCE;
        while self.pods().get_opt(name).await.unwrap().is_some() {
            assert!(Instant::now() < end, "{name} is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until an event about a pod says this.
    pub(crate) async fn told(&self, pod: &str, reason: &str, words: &str) -> Event {
        let events = kube::Api::<Event>::namespaced(self.api.client(admin("somebody")), "default");
        let end = Instant::now() + PATIENCE;
        loop {
            let all = events.list(&Default::default()).await.unwrap().items;
            let mine = || all.iter().filter(|event| event.involved_object.name.as_deref() == Some(pod));
            let says = |event: &&Event| event.message.as_deref().unwrap_or_default().contains(words);
            if let Some(found) = mine().filter(says).find(|event| event.reason.as_deref() == Some(reason)) {
                return found.clone();
            }
            let told: Vec<_> = mine().map(|event| (&event.reason, &event.message)).collect();
            assert!(Instant::now() < end, "nobody says {reason}: {words} about {pod}: {told:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn runtime(&self) -> Runtime {
        Runtime::at(&self.folder.path().join("containerd/containerd.sock"))
    }

    /// What a container wrote, with what the runtime puts before each line.
    pub(crate) fn log(&self, pod: &Pod, container: &str) -> String {
        let uid = pod.metadata.uid.as_deref().unwrap();
        let name = pod.metadata.name.as_deref().unwrap();
        let path = format!("logs/pods/default_{name}_{uid}/{container}/0.log");
        std::fs::read_to_string(self.folder.path().join(path)).unwrap_or_default()
    }
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(crate) fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
    statuses.iter().flatten().map(|status| status.restart_count).sum()
}

pub(crate) fn container_id(pod: &Pod) -> Option<String> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.container_id.clone()
}

pub(crate) fn shell(name: &str, script: &str) -> Value {
    json!({"name": name, "image": "busybox:1", "command": ["sh", "-c", script]})
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone());
    conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Why the first container waits.
pub(crate) fn waits(pod: &Pod) -> String {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
    let state = statuses.and_then(|all| all.first()?.state.clone()).unwrap_or_default();
    state.waiting.and_then(|waiting| waiting.reason).unwrap_or_default()
}

pub(crate) fn reason(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.reason.as_deref()).unwrap_or_default()
}
