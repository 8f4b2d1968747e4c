//! A node with real containers in this process. It leaves nothing behind, also when a test fails.

use std::time::{Duration, Instant};

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kedge_agent::{Agent, Networking, Settings, clean};
use kedge_clock::Clock;
use kedge_images::{File, Store, build};
use kedge_registry::Options;
use kedge_testkit::{Api, admin};
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) api: Api,
    agent: tokio::task::JoinHandle<()>,
}

impl Scene {
    pub(crate) async fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let clock = Clock::system();
        let api = Api::start(clock.clone(), Options::default()).await;
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::new("here", folder.path());
        settings.addresses = vec!["192.0.2.7".parse().unwrap()];
        change(&mut settings);
        let agent = Agent::start(settings, api.client(admin("system:node:here")), clock).await.unwrap();
        let agent = tokio::spawn(agent.run());
        let scene = Self { folder, api, agent };
        scene.import().await;
        scene
    }

    async fn import(&self) {
        let content = Bytes::from(std::fs::read("/bin/busybox").unwrap());
        let link = |name: &str| File::Link { path: format!("/bin/{name}"), target: "busybox".to_owned() };
        let files = [
            File::Folder { path: "/bin".to_owned(), mode: 0o755 },
            File::Folder { path: "/tmp".to_owned(), mode: 0o777 },
            File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
            link("sh"),
            link("cat"),
            link("dd"),
            link("id"),
            link("ls"),
            link("mkdir"),
            link("sleep"),
            link("tail"),
            link("touch"),
            link("ps"),
        ];
        let image = build("busybox:1", &files, json!({"Env": ["PATH=/bin"]})).unwrap();
        let store = Store::at(&self.folder.path().join("containerd/containerd.sock"));
        store.import(&image, None, jiff::Timestamp::now(), |_| {}).await.unwrap();
    }

    pub(crate) fn pods(&self) -> kube::Api<Pod> {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    pub(crate) async fn make(&self, name: &str, mut spec: Value) {
        for (field, value) in [
            ("nodeName", json!("here")),
            ("hostNetwork", json!(true)),
            ("automountServiceAccountToken", json!(false)),
            ("terminationGracePeriodSeconds", json!(1)),
        ] {
            if spec.get(field).is_none() {
                spec[field] = value;
            }
        }
        let pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
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

    /// What a pod that runs to its end has to say.
    pub(crate) async fn says(&self, name: &str, spec: Value) -> String {
        let mut spec = spec;
        spec["restartPolicy"] = json!("Never");
        self.make(name, spec).await;
        let over = |pod: &Pod| matches!(phase(pod), "Succeeded" | "Failed");
        let pod = self.until("it has ended", name, over).await;
        let uid = pod.metadata.uid.as_deref().unwrap();
        let path = format!("logs/pods/default_{name}_{uid}/c/0.log");
        let log = std::fs::read_to_string(self.folder.path().join(path)).unwrap_or_default();
        let lines = log.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Where this node's pods are counted, below the top.
    pub(crate) fn cgroup(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("cgroup")).unwrap()
    }

    /// Deletes all pods, and waits until the API has none.
    pub(crate) async fn end_and_wait(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = self.pods().list(&ListParams::default()).await.unwrap();
            if left.items.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "pods are left: {:?}", left.items);
            for pod in left {
                let name = pod.metadata.name.as_deref().unwrap();
                let _it_may_be_gone = self.pods().delete(name, &DeleteParams::default()).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.agent.abort();
        let data = self.folder.path().to_owned();
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(clean(&data, &Networking::below(&data)))
        });
        if let Ok(Err(error)) = cleaning.join() {
            eprintln!("something is left: {error:?}");
        }
    }
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(crate) fn reason(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.reason.as_deref()).unwrap_or_default()
}

pub(crate) fn shell(script: &str) -> Value {
    json!({"name": "c", "image": "busybox:1", "command": ["sh", "-c", script]})
}
