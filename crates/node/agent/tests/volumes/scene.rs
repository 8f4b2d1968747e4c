//! A node with a real containerd below a folder of its own, and the real API in this process.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kedge_agent::{Agent, Eviction, ImageRules, Networking, Settings, Thresholds, clean};
use kedge_clock::Clock;
use kedge_images::{File, Store, build};
use kedge_registry::Options;
use kedge_runtime::Runtime;
use kedge_testkit::{Api, admin};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) api: Api,
    clock: Clock,
    agent: Option<tokio::task::JoinHandle<()>>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
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

    pub(crate) async fn start_agent(&mut self) {
        let settings = Settings {
            addresses: vec!["192.0.2.7".parse().unwrap()],
            // However full this machine is.
            eviction: Eviction { thresholds: Thresholds::none(), ..Eviction::default() },
            image_rules: ImageRules { high: 100, ..ImageRules::default() },
            ..Settings::new("here".to_owned(), self.folder.path())
        };
        let client = self.api.client(admin("system:node:here"));
        let agent = Agent::start(settings, client, self.clock.clone()).await.unwrap();
        self.agent = Some(tokio::spawn(agent.run()));
    }

    /// As a killed process does: from one moment to the next.
    pub(crate) async fn kill_agent(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.abort();
        assert!(agent.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn of<K>(&self) -> kube::Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    pub(crate) async fn put<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K: Serialize + DeserializeOwned + Clone + std::fmt::Debug,
        K::DynamicType: Default,
    {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let api = self.of::<K>();
        if api.get_opt(&name).await.unwrap().is_some() {
            api.patch(&name, &PatchParams::default(), &Patch::Merge(object)).await.unwrap();
        } else {
            let object = serde_json::from_value(object).unwrap();
            api.create(&PostParams::default(), &object).await.unwrap();
        }
    }

    pub(crate) async fn make(&self, name: &str, spec: Value) {
        let mut spec = spec;
        spec["nodeName"] = json!("here");
        spec["hostNetwork"] = json!(true);
        spec["automountServiceAccountToken"] = json!(false);
        spec["terminationGracePeriodSeconds"] = json!(0);
        let meta = json!({"name": name, "labels": {"key": "first"}});
        let pod = serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap();
        self.of::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    }

    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(seen) => assert!(Instant::now() < end, "still not: {what}\n{seen}"),
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// What the only container of a pod said until the pod was done.
    pub(crate) async fn said(&self, name: &str) -> String {
        let pod = self
            .eventually("it is done", async || {
                let pod = self.of::<Pod>().get(name).await.unwrap();
                match phase(&pod) {
                    "Succeeded" | "Failed" => Ok(pod),
                    _ => Err(serde_json::to_string_pretty(&pod.status).unwrap()),
                }
            })
            .await;
        self.log(&pod)
    }

    fn log(&self, pod: &Pod) -> String {
        let (uid, name) = (pod.metadata.uid.as_deref().unwrap(), pod.metadata.name.as_deref().unwrap());
        let path = self.folder.path().join(format!("logs/pods/default_{name}_{uid}/c/0.log"));
        let log = std::fs::read_to_string(path).unwrap_or_default();
        let lines = log.lines().filter_map(|line| line.split_once(" stdout ")?.1.get(2..));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The last line that a running pod said.
    pub(crate) async fn until_it_says(&self, name: &str, wanted: &str) {
        self.eventually(&format!("{name} says {wanted}"), async || {
            let pod = self.of::<Pod>().get(name).await.unwrap();
            let log = self.log(&pod);
            let last = log.lines().last().unwrap_or_default();
            if last == wanted { Ok(()) } else { Err(format!("{last}\n{}", self.events(name).await)) }
        })
        .await;
    }

    pub(crate) async fn events(&self, name: &str) -> String {
        let events = self.of::<Event>().list(&Default::default()).await.unwrap();
        let mine = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
        let lines = mine.map(|event| {
            format!("{} {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) async fn delete(&self, name: &str) {
        let params = DeleteParams { grace_period_seconds: Some(1), ..DeleteParams::default() };
        self.of::<Pod>().delete(name, &params).await.unwrap();
        self.eventually(&format!("{name} is gone"), async || match self.of::<Pod>().get_opt(name).await {
            Ok(None) => Ok(()),
            told => Err(format!("{told:?}")),
        })
        .await;
    }

    /// Ends what outlives the agent, so that nothing is left on the machine.
    pub(crate) async fn end(mut self) {
        let pods = self.folder.path().join("pods");
        let runtime = Runtime::at(&self.folder.path().join("containerd/containerd.sock"));
        self.eventually("nothing is left", async || {
            let sandboxes = runtime.sandboxes(Default::default()).await.unwrap();
            let left: Vec<_> = std::fs::read_dir(&pods).unwrap().map(|entry| entry.unwrap().path()).collect();
            let mounted = mounted_below(&pods);
            match sandboxes.is_empty() && left.is_empty() && mounted == 1 {
                true => Ok(()),
                false => Err(format!("{sandboxes:?} {left:?} {mounted}")),
            }
        })
        .await;
        self.kill_agent().await;
        clean(self.folder.path(), &Networking::below(self.folder.path())).await.unwrap();
        assert_eq!(mounted_below(self.folder.path()), 0, "something is left mounted");
    }

    fn clear(&self) {
        let folder = self.folder.path();
        // Every process that was started with this folder in its words: the runtime, and who holds its containers.
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let is_ours = String::from_utf8_lossy(&words).contains(&*folder.to_string_lossy());
            let pid =
                entry.file_name().to_string_lossy().parse().ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid.filter(|_| is_ours) {
                let _ended = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let points = table.lines().filter_map(|line| line.split(' ').nth(4));
        let mine: Vec<_> = points.filter(|point| Path::new(point).starts_with(folder)).collect();
        for point in mine.into_iter().rev() {
            let _unmounted = rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// A test that fails leaves no process and no mount behind either.
impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.clear();
        }
    }
}

fn mounted_below(folder: &Path) -> usize {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| Path::new(point).starts_with(folder)).count()
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}
