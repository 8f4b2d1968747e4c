//! What happens between a pod's start and its end, with real containers: probes, hooks, order, last words, other amounts, and
//! an API that is away. Needs what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_agent::Grace;
use kedge_testkit::admin;
use kube::api::{DeleteParams, Patch, PatchParams};
use scene::{PATIENCE, Scene, container_id, is_ready, phase, reason, restarts, shell, waits};
use serde_json::{Value, json};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

fn runs(command: &str) -> Value {
    json!({"command": ["sh", "-c", command]})
}

/// A pod with one container, which finds a folder of the node at `/data`.
fn with_folder(scene: &Scene, mut container: Value) -> Value {
    let path = scene.folder.path().join("shared");
    std::fs::create_dir_all(&path).unwrap();
    container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    let volume = json!({"name": "data", "hostPath": {"path": path, "type": "Directory"}});
    json!({"containers": [container], "volumes": [volume]})
}

fn shared(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.folder.path().join("shared").join(name)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_decide_who_is_ready_and_who_comes_back() {
    let scene = Scene::new().await;
    let mut main = shell("main", IDLE);
    main["startupProbe"] =
        json!({"exec": runs("test -e /data/started"), "periodSeconds": 1, "failureThreshold": 100});
    main["readinessProbe"] =
        json!({"exec": runs("test -e /data/ready"), "periodSeconds": 1, "failureThreshold": 1});
    main["livenessProbe"] =
        json!({"exec": runs("echo gone; test ! -e /data/dead"), "periodSeconds": 1, "failureThreshold": 2});
    let spec = with_folder(&scene, main);
    let folder = scene.folder.path().join("shared");
    scene.make("probed", spec).await;
    // A port at which nobody listens, by its name.
    let mut closed = shell("main", IDLE);
    closed["ports"] = json!([{"name": "web", "containerPort": 1, "hostPort": 1}]);
    closed["readinessProbe"] =
        json!({"httpGet": {"port": "web", "host": "127.0.0.1"}, "periodSeconds": 1, "failureThreshold": 1});
    scene.make("closed", json!({"containers": [closed]})).await;

    let first =
        |pod: &Pod| pod.status.clone().unwrap_or_default().container_statuses.unwrap_or_default()[0].clone();
    let pod = scene.until("it runs", "probed", |pod| phase(pod) == "Running").await;
    assert_eq!((first(&pod).started, first(&pod).ready), (Some(false), false));
    std::fs::write(folder.join("started"), "").unwrap();
    scene.until("it has started", "probed", |pod| first(pod).started == Some(true)).await;
    std::fs::write(folder.join("ready"), "").unwrap();
    scene.until("it is ready", "probed", is_ready).await;
    std::fs::remove_file(folder.join("ready")).unwrap();
    scene.until("it is not ready", "probed", |pod| !is_ready(pod)).await;
    scene.told("probed", "Unhealthy", "Readiness probe failed: ").await;
    std::fs::write(folder.join("ready"), "").unwrap();
    std::fs::write(folder.join("dead"), "").unwrap();
    scene.told("probed", "Unhealthy", "Liveness probe failed: gone").await;
    scene.told("probed", "Killing", "Container main failed liveness probe, will be restarted").await;
    std::fs::remove_file(folder.join("dead")).unwrap();
    let pod = scene.until("it is back", "probed", |pod| restarts(pod) > 0 && is_ready(pod)).await;
    assert_eq!(first(&pod).last_state.unwrap().terminated.unwrap().exit_code, 0);
    let words = "Readiness probe failed: Get \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused";
    scene.told("closed", "Unhealthy", words).await;
    for name in ["probed", "closed"] {
        scene.delete(name).await;
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_are_told_at_start_and_end() {
    let scene = Scene::new().await;
    let mut main = shell("main", "trap 'echo term >> /data/all; exit 0' TERM; while :; do sleep 0.1; done");
    main["lifecycle"] = json!({
        "postStart": {"exec": runs("sleep 0.5; echo start >> /data/all")},
        "preStop": {"exec": runs("echo stop >> /data/all; sleep 0.3; echo stopped >> /data/all")},
    });
    scene.make("hooked", with_folder(&scene, main)).await;
    scene.until("it runs", "hooked", |pod| phase(pod) == "Running").await;
    assert_eq!(shared(&scene, "all"), "start\n");
    let mut bad = shell("main", IDLE);
    bad["lifecycle"] = json!({"postStart": {"exec": runs("exit 3")}, "preStop": {"exec": runs("exit 4")}});
    scene.make("bad", json!({"containers": [bad]})).await;
    scene.told("bad", "FailedPostStartHook", "PostStartHook failed").await;
    scene.told("bad", "FailedPreStopHook", "PreStopHook failed").await;
    scene.until("it waits", "bad", |pod| restarts(pod) > 0 && waits(pod) == "CrashLoopBackOff").await;
    scene.told("bad", "BackOff", "Back-off restarting failed container main in pod bad_default(").await;
    scene.told("hooked", "Created", "Container created").await;
    scene.told("hooked", "Started", "Container started").await;
    // Who has been given a long time may be given a short one afterwards.
    scene
        .make("stubborn", json!({"containers": [shell("main", "trap '' TERM; while :; do sleep 0.1; done")]}))
        .await;
    scene.until("it runs", "stubborn", |pod| phase(pod) == "Running").await;
    let within = |seconds| DeleteParams { grace_period_seconds: Some(seconds), ..DeleteParams::default() };
    scene.pods().delete("stubborn", &within(300)).await.unwrap();
    scene.told("stubborn", "Killing", "Stopping container main").await;
    scene.pods().delete("stubborn", &within(1)).await.unwrap();
    scene.gone("stubborn").await;
    // A hook that takes too long takes the time of the end as well.
    let mut slow = shell("main", "trap '' TERM; while :; do sleep 0.1; done");
    slow["lifecycle"] = json!({"preStop": {"exec": runs("sleep 30")}});
    scene.make("slow", json!({"containers": [slow]})).await;
    scene.until("it runs", "slow", |pod| phase(pod) == "Running").await;
    let begun = Instant::now();
    for name in ["slow", "hooked", "bad"] {
        scene.pods().delete(name, &DeleteParams::default()).await.unwrap();
    }
    for name in ["slow", "hooked", "bad"] {
        scene.gone(name).await;
    }
    // Two seconds of grace, and two more to end in.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(shared(&scene, "all"), "start\nstop\nstopped\nterm\n");
    scene.end().await;
}

/// A page that answers, and remembers what it was asked for.
fn page() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, asked) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
    let noted = asked.clone();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            noted.lock().unwrap().push(line.split(' ').take(2).collect::<Vec<_>>().join(" "));
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        }
    });
    (port, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_are_pages_and_waits_as_well() {
    let scene = Scene::new().await;
    let (port, asked) = page();
    let get = |path: &str| json!({"httpGet": {"host": "127.0.0.1", "port": port, "path": path}});
    let mut main = shell("main", IDLE);
    main["lifecycle"] = json!({"postStart": get("/began"), "preStop": get("/ends")});
    let mut waits = shell("waits", IDLE);
    waits["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 1}}});
    scene.make("pages", json!({"containers": [main, waits], "terminationGracePeriodSeconds": 20})).await;
    scene.until("it is ready", "pages", is_ready).await;
    assert_eq!(*asked.lock().unwrap(), ["GET /began"]);
    let begun = Instant::now();
    scene.delete("pages").await;
    assert!(begun.elapsed() >= Duration::from_secs(1), "nobody waited");
    assert_eq!(*asked.lock().unwrap(), ["GET /began", "GET /ends"]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_goes_down_ends_its_pods_in_order() {
    let scene = Scene::new().await;
    let ends = |name: &str| {
        let trap = format!(
            "trap 'echo {name} is asked >> /data/all; sleep 0.3; echo {name} ends >> /data/all; exit 0' TERM"
        );
        with_folder(&scene, shell("main", &format!("{trap}; while :; do sleep 0.1; done")))
    };
    let mut critical = ends("critical");
    critical["priorityClassName"] = json!("system-node-critical");
    scene.make("critical", critical).await;
    scene.make("ordinary", ends("ordinary")).await;
    for name in ["critical", "ordinary"] {
        scene.until("it is ready", name, is_ready).await;
    }
    let grace = Grace { whole: Duration::from_secs(30), critical: Duration::from_secs(10) };
    scene.shutdown.as_ref().unwrap().run(grace).await;
    assert_eq!(
        shared(&scene, "all"),
        "ordinary is asked\nordinary ends\ncritical is asked\ncritical ends\n",
        "those that others need go last"
    );
    for name in ["critical", "ordinary"] {
        let pod = scene.until("it says why", name, |pod| reason(pod) == "Terminated").await;
        let message = pod.status.unwrap().message.unwrap_or_default();
        assert_eq!(message, "Pod was terminated in response to imminent node shutdown.");
    }
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    scene
        .eventually("the node says that it goes down", async || {
            let conditions = nodes.get("here").await.unwrap().status.unwrap_or_default().conditions;
            let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
            let ready =
                ready.map(|ready| (ready.status, ready.message.unwrap_or_default())).unwrap_or_default();
            let says = ready.0 == "False" && ready.1.contains("node is shutting down");
            if says { Ok(()) } else { Err(format!("{ready:?}")) }
        })
        .await;
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sidecars_go_last_and_last_words_are_kept() {
    let scene = Scene::new().await;
    let mount = json!([{"name": "data", "mountPath": "/data"}]);
    let mut sidecar =
        shell("side", "trap 'echo side >> /data/all; exit 0' TERM; while :; do sleep 0.1; done");
    sidecar["restartPolicy"] = json!("Always");
    sidecar["volumeMounts"] = mount.clone();
    let mut spec = with_folder(
        &scene,
        shell("main", "echo main >> /data/all; echo words > /dev/termination-log; exit 3"),
    );
    spec["initContainers"] = json!([sidecar]);
    spec["restartPolicy"] = json!("Never");
    scene.make("short", spec).await;
    let mut loud = shell("main", "echo from the log; exit 1");
    loud["terminationMessagePolicy"] = json!("FallbackToLogsOnError");
    scene.make("loud", json!({"restartPolicy": "Never", "containers": [loud]})).await;
    let words = |pod: &Pod| {
        let statuses = pod.status.clone().unwrap().container_statuses.unwrap();
        let ended = statuses[0].state.clone().unwrap().terminated.unwrap();
        (ended.exit_code, ended.message.unwrap_or_default())
    };
    let pod = scene.until("it has failed", "short", |pod| phase(pod) == "Failed").await;
    assert_eq!(words(&pod), (3, "words\n".to_owned()));
    assert_eq!(shared(&scene, "all"), "main\nside\n");
    let pod = scene.until("it has failed", "loud", |pod| phase(pod) == "Failed").await;
    assert_eq!(words(&pod), (1, "from the log\n".to_owned()));
    for name in ["short", "loud"] {
        scene.delete(name).await;
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_pod_gets_other_amounts() {
    let scene = Scene::new().await;
    let mut main = shell("main", IDLE);
    main["resources"] =
        json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "96Mi"}});
    scene.make("grows", json!({"containers": [main]})).await;
    let before = scene.until("it is ready", "grows", is_ready).await;
    let first =
        |pod: &Pod| pod.status.clone().unwrap_or_default().container_statuses.unwrap_or_default()[0].clone();
    let limit = |pod: &Pod| first(pod).resources.and_then(|resources| resources.limits?.get("cpu").cloned());
    assert_eq!(limit(&before).unwrap().0, "200m");
    let resize = async |cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
        let patch = json!({"spec": {"containers": [{"name": "main", "resources": resources}]}});
        let pods = scene.pods();
        pods.patch_subresource("resize", "grows", &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .unwrap();
    };
    resize("400m").await;
    let after =
        scene.until("it has it", "grows", |pod| limit(pod).is_some_and(|limit| limit.0 == "400m")).await;
    assert_eq!((container_id(&before), restarts(&after)), (container_id(&after), 0));
    scene.told("grows", "ResizeCompleted", "").await;
    resize("4000").await;
    let pending = |pod: &Pod| {
        let all = pod.status.clone().unwrap_or_default().conditions.unwrap_or_default();
        all.into_iter().find(|one| one.type_ == "PodResizePending").and_then(|one| one.reason)
    };
    scene.until("it never will", "grows", |pod| pending(pod).as_deref() == Some("Infeasible")).await;
    resize("300m").await;
    scene
        .until("it has less", "grows", |pod| {
            pending(pod).is_none() && limit(pod).is_some_and(|limit| limit.0 == "300m")
        })
        .await;
    scene.delete("grows").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_live_on_while_the_api_is_away() {
    let scene = Scene::new().await;
    let mut main = shell("main", IDLE);
    main["livenessProbe"] =
        json!({"exec": runs("test ! -e /data/dead"), "periodSeconds": 1, "failureThreshold": 1});
    main["readinessProbe"] =
        json!({"exec": runs("test ! -e /data/unready"), "periodSeconds": 1, "failureThreshold": 1});
    let spec = with_folder(&scene, main);
    let folder = scene.folder.path().join("shared");
    scene.make("alone", spec).await;
    let before = scene.until("it is ready", "alone", is_ready).await;
    scene.away.store(true, Ordering::SeqCst);
    std::fs::write(folder.join("dead"), "").unwrap();
    let end = Instant::now() + PATIENCE;
    loop {
        let containers = scene.runtime().containers(Default::default()).await.unwrap();
        if containers
            .iter()
            .any(|one| one.metadata.as_ref().is_some_and(|one| one.name == "main" && one.attempt > 0))
        {
            break;
        }
        assert!(Instant::now() < end, "it was not started again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    std::fs::remove_file(folder.join("dead")).unwrap();
    std::fs::write(folder.join("unready"), "").unwrap();
    let unchanged = scene.pods().get("alone").await.unwrap();
    assert_eq!(container_id(&before), container_id(&unchanged));
    // What happened meanwhile is told when somebody listens again.
    scene.away.store(false, Ordering::SeqCst);
    scene.until("it is told", "alone", |pod| restarts(pod) > 0 && !is_ready(pod)).await;
    std::fs::remove_file(folder.join("unready")).unwrap();
    scene.until("it is ready", "alone", is_ready).await;
    scene.delete("alone").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_in_vain_says_so_and_disturbs_nobody() {
    let scene = Scene::new().await;
    let door = |name: &str| {
        let mut container = shell("c", IDLE);
        container["ports"] = json!([{"containerPort": 18, "hostPort": 18}]);
        (name.to_owned(), json!({"containers": [container]}))
    };
    let (name, spec) = door("first");
    scene.make(&name, spec).await;
    scene.until("it is ready", "first", is_ready).await;
    let (name, spec) = door("second");
    scene.make(&name, spec).await;
    let mut greedy = shell("c", IDLE);
    greedy["resources"] = json!({"requests": {"cpu": "4000"}});
    scene.make("greedy", json!({"containers": [greedy]})).await;
    let mut far = shell("c", IDLE);
    far["image"] = json!("127.0.0.1:1/none:1");
    scene.make("far", json!({"containers": [far]})).await;
    let fifty: Vec<Value> = (0..50).map(|number| shell(&format!("c{number}"), "exit 0")).collect();
    scene.make("fifty", json!({"restartPolicy": "Never", "containers": fifty})).await;
    let reason = |pod: &Pod| pod.status.clone().unwrap_or_default().reason.unwrap_or_default();
    scene
        .until("its door is taken", "second", |pod| phase(pod) == "Failed" && reason(pod) == "NodePorts")
        .await;
    scene.until("it is too much", "greedy", |pod| phase(pod) == "Failed" && reason(pod) == "OutOfcpu").await;
    scene.until("its image is missed", "far", |pod| waits(pod) == "ErrImagePull").await;
    scene.until("it waits for it", "far", |pod| waits(pod) == "ImagePullBackOff").await;
    scene.told("far", "BackOff", "Back-off pulling image \"127.0.0.1:1/none:1\"").await;
    scene.until("all fifty are done", "fifty", |pod| phase(pod) == "Succeeded").await;
    let first = scene.until("it is ready", "first", is_ready).await;
    assert_eq!(restarts(&first), 0);
    // Whom the API has no longer takes no room from others, though he is still ending.
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    scene.pods().delete("first", &now).await.unwrap();
    let (name, spec) = door("third");
    scene.make(&name, spec).await;
    let third = scene.until("it was judged", "third", |pod| is_ready(pod) || phase(pod) == "Failed").await;
    assert_eq!(phase(&third), "Running", "{:?}", third.status);
    for name in ["second", "third", "greedy", "far", "fifty"] {
        scene.delete(name).await;
    }
    scene.end().await;
}
