//! Volumes in real containers: what they look like inside, how they follow their objects, what is said of those that cannot be
//! had, and that nothing of them is left. Needs root, containerd, runc and a static busybox.
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
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolume, PersistentVolumeClaim, Pod, Secret};
use kedge_agent::{Agent, Settings};
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
            version: "v1.36.0".to_owned(),
            ..Settings::new("here".to_owned(), self.folder.path())
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

    fn of<K>(&self) -> kube::Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    async fn put<K>(&self, object: Value)
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

    async fn make(&self, name: &str, spec: Value) {
        let mut spec = spec;
        spec["nodeName"] = json!("here");
        spec["hostNetwork"] = json!(true);
        spec["automountServiceAccountToken"] = json!(false);
        spec["terminationGracePeriodSeconds"] = json!(0);
        let meta = json!({"name": name, "labels": {"key": "first"}});
        let pod = serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap();
        self.of::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    }

    async fn eventually<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
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
    async fn said(&self, name: &str) -> String {
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
        let lines = log.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The last line that a running pod said.
    async fn until_it_says(&self, name: &str, wanted: &str) {
        self.eventually(&format!("{name} says {wanted}"), async || {
            let pod = self.of::<Pod>().get(name).await.unwrap();
            let log = self.log(&pod);
            let last = log.lines().last().unwrap_or_default();
            if last == wanted { Ok(()) } else { Err(format!("{last}\n{}", self.events(name).await)) }
        })
        .await;
    }

    async fn events(&self, name: &str) -> String {
        let events = self.of::<Event>().list(&Default::default()).await.unwrap();
        let mine = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
        let lines = mine.map(|event| {
            format!("{} {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    async fn delete(&self, name: &str) {
        let params = DeleteParams { grace_period_seconds: Some(1), ..DeleteParams::default() };
        self.of::<Pod>().delete(name, &params).await.unwrap();
        self.eventually(&format!("{name} is gone"), async || match self.of::<Pod>().get_opt(name).await {
            Ok(None) => Ok(()),
            told => Err(format!("{told:?}")),
        })
        .await;
    }

    /// Ends what outlives the agent, so that nothing is left on the machine.
    async fn end(mut self) {
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
        self.clear();
        assert_eq!(mounted_below(self.folder.path()), 0, "something is left mounted");
    }

    fn clear(&self) {
        let folder = self.folder.path();
        let pid = std::fs::read_to_string(folder.join("containerd/containerd.pid")).unwrap_or_default();
        let pid = pid.split_whitespace().next().and_then(|pid| pid.parse().ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ended = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
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

/// A pod of one container that mounts volumes and says something.
fn shows(script: &str, mounts: Value, volumes: Value) -> Value {
    let container = json!({"name": "c", "image": "busybox:1", "command": ["sh", "-c", script], "volumeMounts": mounts});
    json!({"restartPolicy": "Never", "containers": [container], "volumes": volumes})
}

fn at(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_are_what_their_pods_ask_for() {
    let scene = Scene::new().await;
    let data = json!({"data-1": "value-1", "data-2": "value-2"});
    scene.put::<ConfigMap>(json!({"metadata": {"name": "m"}, "data": data, "binaryData": {"raw": "3sre"}})).await;
    scene.put::<Secret>(json!({"metadata": {"name": "s"}, "stringData": {"key": "hidden"}})).await;
    let host = scene.folder.path().join("host");
    std::fs::create_dir_all(host.join("inner")).unwrap();
    std::fs::write(host.join("inner/x"), "on the node").unwrap();
    let memory = json!([{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "10Mi"}}]);
    let disk = json!([{"name": "v", "emptyDir": {}}]);
    let map = json!([{"name": "v", "configMap": {"name": "m"}}]);
    let secret = |more: Value| json!([{"name": "v", "secret": with(json!({"secretName": "s"}), more)}]);
    let on_node = json!([{"name": "v", "hostPath": {"path": host, "type": "Directory"}}]);
    let look = "busybox stat -c '%a %u %g' /v";
    let plain = |name: &str| json!([at(name, "/v")]);
    let sub = |path: &str| json!([with(at("v", "/v"), json!({"subPath": path}))]);
    let as_group = |group: i64| json!({"securityContext": {"fsGroup": group}});
    let as_user = |user: i64, group: i64| json!({"securityContext": {"runAsUser": user, "runAsGroup": user, "fsGroup": group}});
    let make_file = "umask 0; echo hi > /v/f; busybox chmod 0660 /v/f; busybox stat -c '%a %u %g' /v/f";
    let mut with_name = shows("busybox cat /v/../w/p-expr/f", json!([
        with(at("v", "/v"), json!({"subPathExpr": "$(NAME)"})), at("v", "/w")]), disk.clone());
    with_name["containers"][0]["env"] =
        json!([{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    with_name["containers"][0]["command"][2] = json!("echo written > /v/f; busybox cat /w/expr/f");
    let cases = [
        ("disk", shows(look, plain("v"), disk.clone()), "777 0 0"),
        ("memory", shows(&format!("{look}; busybox df /v | busybox tail -1 | busybox awk '{{print $1, $2}}'"),
            plain("v"), memory.clone()), "1777 0 0\ntmpfs 10240"),
        ("group-disk", with(shows(&format!("{look}; {make_file}"), plain("v"), disk.clone()), as_group(123)),
            "2777 0 123\n660 0 123"),
        ("group-memory", with(shows(&format!("{look}; {make_file}"), plain("v"), memory.clone()), as_user(1001, 123)),
            "3777 0 123\n660 1001 123"),
        ("group-sub", with(shows(look, sub("test-sub"), memory.clone()), as_user(1001, 123)), "3777 0 123"),
        ("map", shows("cd /v; for f in *; do echo $f; done; busybox cat data-1; echo; busybox od -An -tx1 raw; \
            busybox stat -L -c %a data-1; echo x > y || echo read-only", plain("v"), map.clone()),
            "data-1\ndata-2\nraw\nvalue-1\n de ca de\n644\nread-only"),
        ("map-user", with(shows("busybox cat /v/data-2", plain("v"), map.clone()), as_user(1000, 1001)), "value-2"),
        ("secret", shows("busybox cat /v/key; echo; busybox stat -L -c '%a %u %g' /v/key; busybox df /v | busybox tail -1 | \
            busybox awk '{print $1}'", plain("v"), secret(json!({"defaultMode": 0o400}))), "hidden\n400 0 0\ntmpfs"),
        ("secret-group", with(shows("busybox cat /v/key; echo; busybox stat -L -c '%a %u %g' /v/key", plain("v"),
            secret(json!({"defaultMode": 0o440}))), as_user(1000, 1001)), "hidden\n440 0 1001"),
        ("secret-items", shows("busybox cat /v/deep/er; echo; busybox stat -L -c %a /v/deep/er", plain("v"),
            secret(json!({"items": [{"key": "key", "path": "deep/er", "mode": 0o400}]}))), "hidden\n400"),
        ("secret-absent", shows("cd /v; echo *", plain("v"), json!([{"name": "v", "secret":
            {"secretName": "none", "optional": true}}])), "*"),
        ("host", shows("busybox cat /v/inner/x; echo; echo made > /v/made", plain("v"), on_node.clone()), "on the node"),
        ("host-sub", shows("busybox cat /v/x", sub("inner"), on_node.clone()), "on the node"),
        ("map-sub", shows("busybox cat /v", sub("data-1"), map.clone()), "value-1"),
        ("expr", with_name, "written"),
        ("nested", shows("busybox cat /v/data-1 /v/in/key", json!([at("v", "/v"), at("w", "/v/in")]), json!([
            {"name": "v", "configMap": {"name": "m"}}, {"name": "w", "secret": {"secretName": "s"}}])), "value-1hidden"),
        ("rro", shows("echo x > /v/y || echo read-only; busybox cat /v/inner/x", json!([with(at("v", "/v"),
            json!({"readOnly": true, "recursiveReadOnly": "Enabled"}))]), on_node.clone()), "read-only\non the node"),
        ("unused", shows("echo fine", json!([]), json!([{"name": "v", "configMap": {"name": "none"}}])), "fine"),
        ("hosts", with(shows("busybox grep -c 'Kubernetes-managed hosts file (host network).' /etc/hosts; \
            busybox tail -2 /etc/hosts", json!([]), json!([])), json!({"hostAliases": [{"ip": "192.0.2.9",
            "hostnames": ["a", "b"]}]})), "1\n# Entries added by HostAliases.\n192.0.2.9\ta\tb"),
        ("dns", with(shows("busybox cat /etc/resolv.conf", json!([]), json!([])), json!({"dnsPolicy": "None", "dnsConfig":
            {"nameservers": ["192.0.2.53"], "searches": ["example.org"], "options": [{"name": "ndots", "value": "3"}]}})),
            "search example.org\nnameserver 192.0.2.53\noptions ndots:3"),
    ];
    for (name, spec, _) in &cases {
        scene.make(name, spec.clone()).await;
    }
    for (name, _, expected) in &cases {
        assert_eq!(scene.said(name).await, *expected, "{name}");
    }
    for (name, ..) in &cases {
        scene.delete(name).await;
    }
    assert_eq!(std::fs::read_to_string(host.join("inner/x")).unwrap(), "on the node");
    assert_eq!(std::fs::read_to_string(host.join("made")).unwrap(), "made\n");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_follow_their_objects() {
    let mut scene = Scene::new().await;
    let map = |value: &str| json!({"metadata": {"name": "m"}, "data": {"k": value}});
    let secret = |value: &str| json!({"metadata": {"name": "s"}, "stringData": {"k": value}});
    scene.put::<ConfigMap>(map("1")).await;
    scene.put::<Secret>(secret("1")).await;
    let all = "busybox cat /map/k /secret/k /late/k 2> /dev/null; busybox cat /fact/l; busybox cat /sub";
    let script = format!("old=; while :; do new=$({all}); [ \"$new\" = \"$old\" ] || echo $new; old=$new; sleep 0.05; done");
    let fact = json!({"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels['key']"}}]});
    let late = json!({"sources": [{"secret": {"name": "later", "optional": true}}]});
    let mounts = json!([at("map", "/map"), at("secret", "/secret"), at("late", "/late"), at("fact", "/fact"),
        with(at("map", "/sub"), json!({"subPath": "k"}))]);
    let volumes = json!([
        {"name": "map", "configMap": {"name": "m"}}, {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "late", "projected": late}, {"name": "fact", "downwardAPI": fact},
    ]);
    scene.make("p", shows(&script, mounts, volumes)).await;
    scene.until_it_says("p", "11first1").await;
    let begun = Instant::now();
    scene.put::<ConfigMap>(map("2")).await;
    scene.until_it_says("p", "21first1").await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    scene.put::<Secret>(secret("2")).await;
    scene.until_it_says("p", "22first1").await;
    scene.put::<Secret>(json!({"metadata": {"name": "later"}, "stringData": {"k": "x"}})).await;
    scene.until_it_says("p", "22xfirst1").await;
    scene.put::<Pod>(json!({"metadata": {"name": "p", "labels": {"key": "second"}}})).await;
    scene.until_it_says("p", "22xsecond1").await;
    scene.of::<Secret>().delete("later", &DeleteParams::default()).await.unwrap();
    scene.until_it_says("p", "22second1").await;
    // What must be there and goes is kept, and missed aloud.
    scene.of::<ConfigMap>().delete("m", &DeleteParams::default()).await.unwrap();
    scene
        .eventually("the map is missed", async || {
            let told = scene.events("p").await;
            let wanted = "FailedMount MountVolume.SetUp failed for volume \"map\" : configmap \"m\" not found";
            if told.contains(wanted) { Ok(()) } else { Err(told) }
        })
        .await;
    // The next agent goes on with it.
    scene.kill_agent().await;
    scene.put::<ConfigMap>(map("3")).await;
    scene.start_agent().await;
    scene.until_it_says("p", "32second1").await;
    scene.put::<ConfigMap>(map("4")).await;
    scene.until_it_says("p", "42second1").await;
    scene.delete("p").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_mounted_says_why_and_goes() {
    let scene = Scene::new().await;
    let file = scene.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let claim = json!({"metadata": {"name": "free"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}});
    scene.put::<PersistentVolumeClaim>(claim).await;
    scene.put::<ConfigMap>(json!({"metadata": {"name": "m"}, "data": {"k": "v"}})).await;
    let set_up = "FailedMount MountVolume.SetUp failed for volume \"v\" : ";
    let unable = "FailedMount Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], \
                  failed to process volumes=[v]: ";
    let not_a_folder = format!("hostPath type check failed: {} is not a directory", file.display());
    let cases = [
        ("map", json!({"configMap": {"name": "none"}}), set_up, "configmap \"none\" not found"),
        ("key", json!({"configMap": {"name": "m", "items": [{"key": "z", "path": "z"}]}}), set_up,
            "configmap references non-existent config key: z"),
        ("secret", json!({"secret": {"secretName": "none"}}), set_up, "secret \"none\" not found"),
        ("host", json!({"hostPath": {"path": file, "type": "Directory"}}), set_up, &*not_a_folder),
        ("claim", json!({"persistentVolumeClaim": {"claimName": "none"}}), unable,
            "error processing PVC default/none: failed to fetch PVC from API server: persistentvolumeclaims \"none\" not found"),
        ("unbound", json!({"persistentVolumeClaim": {"claimName": "free"}}), unable,
            "error processing PVC default/free: PVC is not bound"),
        ("nfs", json!({"nfs": {"server": "192.0.2.1", "path": "/x"}}), set_up, "mount failed: "),
    ];
    for (name, source, ..) in &cases {
        let volume = with(json!({"name": "v"}), source.clone());
        scene.make(name, shows("echo fine", json!([at("v", "/v")]), json!([volume]))).await;
    }
    let escape = json!([with(at("v", "/v"), json!({"subPathExpr": "$(UP)"}))]);
    let mut up = shows("echo fine", escape, json!([{"name": "v", "emptyDir": {}}]));
    up["containers"][0]["env"] = json!([{"name": "UP", "value": "/tmp"}]);
    scene.make("up", up).await;
    for (name, _, prefix, cause) in &cases {
        scene
            .eventually(&format!("{name} is told of"), async || {
                let told = scene.events(name).await;
                if told.contains(&format!("{prefix}{cause}")) { Ok(()) } else { Err(told) }
            })
            .await;
    }
    scene
        .eventually("the path is refused", async || {
            let pod = scene.of::<Pod>().get("up").await.unwrap();
            let told = serde_json::to_string(&pod.status).unwrap();
            let wanted = "error SubPath `/tmp` must not be an absolute path";
            if told.contains("CreateContainerConfigError") && told.contains(wanted) { Ok(()) } else { Err(told) }
        })
        .await;
    // What comes later is enough.
    scene.put::<ConfigMap>(json!({"metadata": {"name": "none"}, "data": {"k": "v"}})).await;
    assert_eq!(scene.said("map").await, "fine");
    for (name, ..) in &cases {
        scene.delete(name).await;
    }
    scene.delete("up").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_on_the_nodes_disk_come_and_go() {
    let scene = Scene::new().await;
    let volumes = scene.folder.path().join("volumes");
    let annotations = json!({"kedge.dev/node": "here", "pv.kubernetes.io/provisioned-by": "kedge.dev/local-path"});
    let persistent = kube::Api::<PersistentVolume>::all(scene.api.client(admin("somebody")));
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pvc-1",
        "storageClassName": "local-path", "resources": {"requests": {"storage": "1Gi"}}}});
    scene.put::<PersistentVolumeClaim>(claim).await;
    let claims = scene.of::<PersistentVolumeClaim>();
    let uid = claims.get("c").await.unwrap().metadata.uid;
    let bound = json!({"status": {"phase": "Bound"}});
    claims.patch_status("c", &PatchParams::default(), &Patch::Merge(&bound)).await.unwrap();
    let volume = json!({"metadata": {"name": "pvc-1", "annotations": annotations, "finalizers": ["kedge.dev/local-path"]},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "local-path",
            "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"namespace": "default", "name": "c", "uid": uid},
            "hostPath": {"path": volumes.join("pvc-1"), "type": "DirectoryOrCreate"}}});
    let volume = serde_json::from_value(volume).unwrap();
    persistent.create(&PostParams::default(), &volume).await.unwrap();
    let source = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    let writes = shows("echo kept > /v/x; busybox stat -c '%a %g' /v", json!([at("v", "/v")]), source.clone());
    scene.make("writes", with(writes, json!({"securityContext": {"runAsUser": 1000, "fsGroup": 77}}))).await;
    assert_eq!(scene.said("writes").await, "2777 77");
    scene.delete("writes").await;
    scene.make("reads", shows("busybox cat /v/x", json!([at("v", "/v")]), source)).await;
    assert_eq!(scene.said("reads").await, "kept");
    scene.delete("reads").await;
    assert!(volumes.join("pvc-1/x").exists());
    persistent.delete("pvc-1", &DeleteParams::default()).await.unwrap();
    scene
        .eventually("the volume is gone", async || match persistent.get_opt("pvc-1").await.unwrap() {
            None => Ok(()),
            Some(left) => Err(format!("{:?}", left.metadata)),
        })
        .await;
    assert!(!volumes.join("pvc-1").exists());
    scene.end().await;
}
