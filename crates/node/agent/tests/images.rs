//! Images from a real registry on loopback into a real containerd: by policy, with and without credentials, by a mirror.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "images/registry.rs"]
mod registry;
#[path = "support/scene.rs"]
mod scene;

use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Node, Pod, Secret};
use kedge_agent::{Agent, Eviction, Settings, Thresholds};
use kedge_images::{File, Store, build};
use kedge_testkit::admin;
use kube::api::{ListParams, PostParams};
use registry::Registry;
use scene::{PATIENCE, Scene, phase, restarts, shell};
use serde_json::json;

/// How full the machine's disk is must not decide about a test.
fn usual(scene: &Scene) -> Settings {
    let eviction = Eviction { thresholds: Thresholds::none(), ..Eviction::default() };
    Settings { eviction, ..Settings::new("here", scene.folder.path()) }
}

fn waits(reason: &'static str) -> impl Fn(&Pod) -> bool {
    move |pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
        let state = statuses.and_then(|all| all.first()?.state.clone()).unwrap_or_default();
        state.waiting.and_then(|waiting| waiting.reason).as_deref() == Some(reason)
    }
}

async fn make(scene: &Scene, name: &str, image: &str, policy: &str, secret: Option<&str>) {
    let secrets: Vec<_> = secret.into_iter().map(|name| json!({"name": name})).collect();
    let container = json!({"name": "c", "image": image, "imagePullPolicy": policy});
    scene.make(name, json!({"imagePullSecrets": secrets, "containers": [container]})).await;
}

/// Waits for an event about a pod whose message has this in it.
async fn told(scene: &Scene, pod: &str, reason: &str, text: &str) {
    let events = kube::Api::<Event>::namespaced(scene.api.client(admin("somebody")), "default");
    let end = Instant::now() + PATIENCE;
    loop {
        let all = events.list(&ListParams::default()).await.unwrap().items;
        let mine: Vec<_> = all
            .iter()
            .filter(|event| event.involved_object.name.as_deref() == Some(pod))
            .map(|event| {
                (event.reason.clone().unwrap_or_default(), event.message.clone().unwrap_or_default())
            })
            .collect();
        if mine.iter().any(|(why, message)| why == reason && message.contains(text)) {
            return;
        }
        assert!(Instant::now() < end, "{pod}: no {reason} with {text:?} in {mine:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_come_from_where_they_may() {
    let registry = Registry::start().await;
    let mut scene = Scene::new().await;
    scene.kill_agent().await;
    let file = scene.folder.path().join("registries.yaml");
    let endpoint = format!("http://127.0.0.1:{}", registry.port);
    let text = format!(
        "mirrors: {{mirrored.example: {{endpoint: [\"{endpoint}\"]}}}}\n\
         configs: {{\"127.0.0.1:{}\": {{auth: {{username: me, password: wrong}}}}}}\n",
        registry.port
    );
    std::fs::write(&file, text).unwrap();
    let settings = Settings { registries: Some(file), ..usual(&scene) };
    let client = scene.api.client(admin("system:node:here"));
    let agent = Agent::start(settings, client, scene.clock.clone()).await.unwrap();
    scene.agent = Some(tokio::spawn(agent.run()));
    let secrets = kube::Api::<Secret>::namespaced(scene.api.client(admin("somebody")), "default");
    let auths = json!({"auths": {registry.name(""): {"username": "me", "password": "secret"}}}).to_string();
    let secret = json!({
        "metadata": {"name": "key"}, "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": auths},
    });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();

    // Two at once fetch it once.
    make(&scene, "open", &registry.name("open/app:1"), "IfNotPresent", None).await;
    make(&scene, "beside", &registry.name("open/app:1"), "IfNotPresent", None).await;
    make(&scene, "closed", &registry.name("closed/app:1"), "Always", Some("key")).await;
    make(&scene, "keyless", &registry.name("closed/other:1"), "IfNotPresent", None).await;
    make(&scene, "absent", &registry.name("none/app:1"), "IfNotPresent", Some("no-such-key")).await;
    make(&scene, "mirrored", "mirrored.example/open/app", "Always", None).await;
    make(&scene, "wrong", "Not A Name", "IfNotPresent", None).await;
    for name in ["open", "beside", "closed", "mirrored"] {
        scene.until("it runs", name, |pod| phase(pod) == "Running").await;
    }
    told(&scene, "closed", "Pulling", "Pulling image").await;
    told(&scene, "closed", "Pulled", "Successfully pulled image").await;
    told(&scene, "closed", "Pulled", "including waiting). Image size:").await;
    told(&scene, "absent", "FailedToRetrieveImagePullSecret", "(no-such-key)").await;
    told(&scene, "absent", "Failed", "Error: ErrImagePull").await;
    told(&scene, "wrong", "InspectFailed", "invalid reference format").await;
    scene.until("it waits", "keyless", waits("ImagePullBackOff")).await;
    scene.until("it waits", "absent", waits("ImagePullBackOff")).await;
    scene.until("it waits", "wrong", waits("InvalidImageName")).await;

    // What came with somebody's key is here, but not for everybody.
    make(&scene, "without", &registry.name("closed/app:1"), "Never", None).await;
    make(&scene, "with", &registry.name("closed/app:1"), "Never", Some("key")).await;
    scene.until("it may not", "without", waits("ErrImageNeverPull")).await;
    scene.until("it runs", "with", |pod| phase(pod) == "Running").await;
    told(&scene, "with", "Pulled", "already present on machine and can be accessed by the pod").await;

    // The node tells of what it has.
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    let end = Instant::now() + PATIENCE;
    loop {
        let node = nodes.get("here").await.unwrap();
        let images = node.status.and_then(|status| status.images).unwrap_or_default();
        let names: Vec<String> =
            images.into_iter().flat_map(|image| image.names.unwrap_or_default()).collect();
        if names.contains(&registry.name("open/app:1")) {
            break;
        }
        assert!(Instant::now() < end, "the node has {names:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for name in ["open", "beside", "closed", "keyless", "absent", "mirrored", "wrong", "without", "with"] {
        scene.delete(name).await;
    }
    scene.end().await;
}

/// What a container says about the image that it has as a volume.
const LOOK: &str = "cat /data/deep/hello; cat /part/hello; busybox ls /fetched; \
    echo > /data/new || echo cannot write; /data/run || echo cannot run; sleep 100000";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_a_volume() {
    let registry = Registry::start().await;
    let mut scene = Scene::new().await;
    let store = Store::at(&scene.folder.path().join("containerd/containerd.sock"));
    let regular = |path: &str, content: &'static str| File::Regular {
        path: path.to_owned(),
        mode: 0o755,
        content: Bytes::from(content),
    };
    let files = [
        File::Folder { path: "/deep".to_owned(), mode: 0o755 },
        regular("/deep/hello", "hello\n"),
        regular("/run", "#!/bin/sh\n"),
    ];
    // Nobody has ever run it, so nobody has unpacked it.
    let image = build("data:1", &files, json!({})).unwrap();
    store.import(&image, None, Timestamp::now(), |_| {}).await.unwrap();
    let imported = json!({"name": "data", "image": {"reference": "data:1", "pullPolicy": "Never"}});
    let reference = registry.name("open/app:1");
    let fetched = json!({"name": "fetched", "image": {"reference": reference, "pullPolicy": "Always"}});
    let mounts = json!([
        {"name": "data", "mountPath": "/data"}, {"name": "data", "mountPath": "/part", "subPath": "deep"},
        {"name": "fetched", "mountPath": "/fetched"},
    ]);
    let mut container = shell("c", LOOK);
    container["volumeMounts"] = mounts.clone();
    let mut beside = shell("beside", "cat /data/deep/hello; test -e /again; touch /data/x; exit 1");
    beside["volumeMounts"] = json!([{"name": "data", "mountPath": "/data", "readOnly": true}]);
    scene.make("reader", json!({"volumes": [imported, fetched], "containers": [container, beside]})).await;
    let reader = scene.until("it runs again", "reader", |pod| restarts(pod) > 0).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let log = scene.log(&reader, "c");
        let said: Vec<_> = log.lines().filter_map(|line| line.splitn(4, ' ').nth(3)).collect();
        // What goes to standard error may come after it.
        if said.contains(&"cannot run") {
            let words: Vec<_> = said.into_iter().filter(|line| !line.contains("sh: ")).collect();
            assert_eq!(words, ["hello", "hello", "busybox", "cannot write", "cannot run"], "{log}");
            break;
        }
        assert!(Instant::now() < end, "it only says {log}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.told("reader", "Pulled", "Successfully pulled image").await;
    assert_eq!(store.views().await.unwrap().len(), 2, "one for each image, however often it is mounted");

    // What cannot be had is told as it is of a container's own image.
    let mounting = |volume: &str| {
        let mut container = shell("c", "true");
        container["volumeMounts"] = json!([{"name": volume, "mountPath": "/v", "subPath": "none"}]);
        container
    };
    let absent = json!({"name": "v", "image": {"reference": registry.name("none/app:1")}});
    scene.make("absent", json!({"volumes": [absent], "containers": [mounting("v")]})).await;
    let never = json!({"name": "v", "image": {"reference": "nowhere:1", "pullPolicy": "Never"}});
    scene.make("never", json!({"volumes": [never], "containers": [mounting("v")]})).await;
    let bad = json!({"name": "data", "image": {"reference": "data:1", "pullPolicy": "Never"}});
    scene.make("partless", json!({"volumes": [bad], "containers": [mounting("data")]})).await;
    scene.until("it waits", "absent", waits("ImagePullBackOff")).await;
    scene.until("it waits", "never", waits("ErrImageNeverPull")).await;
    scene.until("it waits", "partless", waits("CreateContainerConfigError")).await;
    scene.told("partless", "Failed", "failed to prepare subPath").await;

    // An agent that comes later takes them over, and gives them back.
    scene.kill_agent().await;
    scene.start_agent().await;
    let again = json!({"name": "data", "image": {"reference": "data:1", "pullPolicy": "Never"}});
    let mut later = shell("c", "cat /data/deep/hello");
    later["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    let said = scene.says("later", json!({"volumes": [again], "containers": [later]})).await;
    assert_eq!(said, "hello");
    for name in ["reader", "absent", "never", "partless", "later"] {
        scene.delete(name).await;
    }
    assert_eq!(store.views().await.unwrap(), [""; 0]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_that_takes_long_says_how_far_it_is() {
    let registry = Registry::start().await;
    let scene = Scene::new().await;
    make(&scene, "slow", &registry.name("slow/app:1"), "Always", None).await;
    let said = scene.told("slow", "Pulling", "of what is on its way to this node").await;
    // A part of it is there, in the steps in which containerd counts.
    let message = said.message.unwrap();
    let words: Vec<&str> = message.split(' ').collect();
    let at = words.iter().position(|word| *word == "MiB").unwrap();
    let [there, all]: [f64; 2] = [at - 1, at + 2].map(|at| words[at].parse().unwrap());
    assert!(there > 0.2 && there < all && all < 2.0 * there + 0.5, "{message}");
    registry.whole.send_replace(true);
    scene.until("it runs", "slow", |pod| phase(pod) == "Running").await;
    scene.told("slow", "Pulled", "Successfully pulled image").await;
    scene.delete("slow").await;
    scene.end().await;
}
