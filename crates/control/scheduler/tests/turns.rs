//! The scheduler against the real API, in one process: what it binds, what it says, and how it makes room.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what a test rests on may fail it, and a measure is printed"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kedge_clock::Clock;
use kedge_engine::{Engine, World};
use kedge_http::Router;
use kedge_registry::{Options, Registry, User};
use kedge_scheduler::{Config, Metrics, Scheduler};
use kedge_store::Store;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tower::ServiceExt;

const PATIENCE: Duration = Duration::from_secs(20);

struct Cluster {
    client: Client,
    clock: Clock,
    router: Router,
    world: World,
    engine: Option<AbortHandle>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(engine) = &self.engine {
            engine.abort();
        }
        self.router.stop();
    }
}

fn admin(name: &str) -> User {
    let groups = vec!["system:masters".to_owned(), "system:authenticated".to_owned()];
    User { name: name.to_owned(), groups, ..User::default() }
}

impl Cluster {
    async fn start(config: Value) -> Self {
        let mut cluster =
            Self::without_scheduler(Clock::manual("2030-01-01T12:00:00Z".parse().unwrap())).await;
        cluster.schedule(config);
        cluster
    }

    async fn without_scheduler(clock: Clock) -> Self {
        let registry = Registry::start(Store::memory(), clock.clone(), Options::default()).await.unwrap();
        let key = kedge_pki::new_key().unwrap();
        let router = kedge_http::router(registry, kedge_http::Options::new(key)).unwrap();
        let client = kedge_client::in_process(router.acting_as(admin("somebody")));
        let world = World::new(client.clone(), clock.clone());
        let cluster = Self { client, clock, router, world, engine: None };
        let account = json!({"metadata": {"name": "default"}});
        cluster.send("POST", "/api/v1/namespaces/default/serviceaccounts", account).await;
        cluster
    }

    fn schedule(&mut self, config: Value) {
        self.schedule_failing(config, 0);
    }

    /// The first bindings go astray on their way.
    fn schedule_failing(&mut self, config: Value, failures: usize) {
        let left = AtomicUsize::new(failures);
        let service = self.router.acting_as(admin("system:kube-scheduler"));
        let service = service.map_request(move |mut request: http::Request<kube::client::Body>| {
            let one_less = |left: usize| left.checked_sub(1);
            if request.uri().path().ends_with("/binding")
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
            {
                *request.uri_mut() = "/api/v1/astray".parse().unwrap();
            }
            request
        });
        let client = kedge_client::in_process(service);
        let (world, clock) = (self.world.clone(), self.clock.clone());
        let config = Config::read(&config).unwrap();
        let scheduler =
            Scheduler::new(world.clone(), client.clone(), clock.clone(), &config, Metrics::default());
        let engine = Engine::new(world, client, clock).with_worker(scheduler.unwrap());
        self.engine = Some(tokio::spawn(engine.run()).abort_handle());
    }

    /// The answer, whatever it is.
    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let request =
            request.body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(value) => value,
            Err(kube::Error::Api(status)) => serde_json::to_value(&status).unwrap(),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    async fn node(&self, name: &str, cpu: &str) {
        let labels = json!({"kubernetes.io/hostname": name});
        self.node_with(name, labels, json!({"cpu": cpu, "memory": "64Gi", "pods": "110"})).await;
    }

    async fn node_with(&self, name: &str, labels: Value, allocatable: Value) {
        let node =
            json!({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}});
        self.send("POST", "/api/v1/nodes", node).await;
        // New nodes count as not ready until somebody says otherwise.
        let ready =
            self.send("PATCH", &format!("/api/v1/nodes/{name}"), json!({"spec": {"taints": null}})).await;
        assert_eq!(ready["metadata"]["name"], name, "{ready}");
    }

    /// A pod of namespace `default`; the edit is merged into it.
    async fn pod(&self, name: &str, cpu: &str, spec: Value) {
        let mut pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        let made = self.send("POST", "/api/v1/namespaces/default/pods", pod).await;
        assert_eq!(made["metadata"]["name"], name, "{made}");
    }

    async fn get(&self, name: &str) -> Value {
        self.send("GET", &format!("/api/v1/namespaces/default/pods/{name}"), Value::Null).await
    }

    async fn until(&self, what: &str, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let pod = self.get(name).await;
            if is_so(&pod) {
                return pod;
            }
            assert!(began.elapsed() < PATIENCE, "still not: {what}; {}", pod["status"]);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn until_on(&self, name: &str, node: &str) {
        self.until(&format!("{name} is on {node}"), name, |pod| pod["spec"]["nodeName"] == node).await;
    }

    /// `reason: message` of the events about a pod, in order of their reasons.
    async fn events(&self, name: &str) -> Vec<String> {
        let list = self.send("GET", "/api/v1/namespaces/default/events", Value::Null).await;
        let about =
            list["items"].as_array().unwrap().iter().filter(|one| one["involvedObject"]["name"] == name);
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let mut all: Vec<_> =
            about.map(|one| format!("{}: {}", text(one, "reason"), text(one, "message"))).collect();
        all.sort();
        all
    }

    async fn until_told(&self, name: &str, wanted: &str) {
        let began = Instant::now();
        while !self.events(name).await.iter().any(|event| event == wanted) {
            assert!(began.elapsed() < PATIENCE, "{wanted:?} is not among {:?}", self.events(name).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn scheduled(pod: &Value) -> Value {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|one| one["type"] == "PodScheduled").unwrap_or_default()
}

#[tokio::test]
async fn a_pod_gets_a_node_and_an_event() {
    let cluster = Cluster::start(Value::Null).await;
    cluster.node("a", "4").await;
    cluster.pod("p", "1", Value::Null).await;
    cluster.until_on("p", "a").await;
    cluster.until_told("p", "Scheduled: Successfully assigned default/p to a").await;
    assert_eq!(scheduled(&cluster.get("p").await)["status"], "True");
}

#[tokio::test]
async fn a_pod_that_fits_nowhere_says_so_and_goes_where_room_appears() {
    let cluster = Cluster::start(Value::Null).await;
    cluster.pod("p", "3", Value::Null).await;
    let said = |text: &'static str| move |pod: &Value| scheduled(pod)["message"] == text;
    cluster.until("it finds no node", "p", said("no nodes available to schedule pods")).await;
    cluster.node("a", "2").await;
    cluster.clock.advance(Duration::from_secs(2));
    let text = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    let pod = cluster.until("it does not fit", "p", said(text)).await;
    assert_eq!(
        (&scheduled(&pod)["status"], &scheduled(&pod)["reason"]),
        (&json!("False"), &json!("Unschedulable"))
    );
    cluster.until_told("p", &format!("FailedScheduling: {text}")).await;
    cluster.node("b", "4").await;
    cluster.clock.advance(Duration::from_secs(10));
    cluster.until_on("p", "b").await;
}

#[tokio::test]
async fn other_schedulers_pods_and_gated_ones_are_left_alone() {
    let cluster = Cluster::start(json!({"profiles": [{}, {"schedulerName": "second"}]})).await;
    cluster.node("a", "4").await;
    cluster.pod("foreign", "1", json!({"schedulerName": "elsewhere"})).await;
    cluster.pod("gated", "1", json!({"schedulingGates": [{"name": "example.com/wait"}]})).await;
    cluster.pod("second", "1", json!({"schedulerName": "second"})).await;
    cluster.until_on("second", "a").await;
    for name in ["foreign", "gated"] {
        assert_eq!(cluster.get(name).await["spec"]["nodeName"], Value::Null, "{name}");
    }
    let path = "/api/v1/namespaces/default/pods/gated";
    cluster.send("PATCH", path, json!({"spec": {"schedulingGates": null}})).await;
    cluster.until_on("gated", "a").await;
    assert_eq!(cluster.get("foreign").await["spec"]["nodeName"], Value::Null);
}

#[tokio::test]
async fn a_more_important_pod_makes_room_for_itself() {
    let cluster = Cluster::start(Value::Null).await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    cluster.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", class).await;
    cluster.node("a", "4").await;
    cluster.pod("low", "3", Value::Null).await;
    cluster.until_on("low", "a").await;
    cluster.pod("high", "2", json!({"priorityClassName": "high"})).await;
    let high = cluster.until("room is made", "high", |pod| pod["status"]["nominatedNodeName"] == "a").await;
    assert_eq!(scheduled(&high)["message"], "0/1 nodes are available: 1 Insufficient cpu.");
    let low = cluster.until("low leaves", "low", |pod| !pod["metadata"]["deletionTimestamp"].is_null()).await;
    let target =
        low["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "DisruptionTarget");
    let target = target.expect("a DisruptionTarget condition");
    assert_eq!(
        (&target["status"], &target["reason"], &target["message"]),
        (
            &json!("True"),
            &json!("PreemptionByScheduler"),
            &json!("default-scheduler: preempting to accommodate a higher priority pod")
        )
    );
    let uid = high["metadata"]["uid"].as_str().unwrap();
    cluster.until_told("low", &format!("Preempted: Preempted by pod {uid} on node a")).await;
    // Nobody takes the room away meanwhile.
    cluster.pod("late", "2", Value::Null).await;
    cluster.until("late finds no room", "late", |pod| scheduled(pod)["status"] == "False").await;
    let gone = json!({"gracePeriodSeconds": 0});
    cluster.send("DELETE", "/api/v1/namespaces/default/pods/low", gone).await;
    cluster.clock.advance(Duration::from_secs(2));
    cluster.until_on("high", "a").await;
    cluster.clock.advance(Duration::from_secs(20));
    cluster.until_on("late", "a").await;
}

#[tokio::test]
async fn bindings_that_fail_are_tried_again_and_hold_no_room() {
    let mut cluster =
        Cluster::without_scheduler(Clock::manual("2030-01-01T12:00:00Z".parse().unwrap())).await;
    cluster.schedule_failing(Value::Null, 3);
    cluster.node("a", "2").await;
    for name in ["p", "q"] {
        cluster.pod(name, "1", Value::Null).await;
    }
    for name in ["p", "q"] {
        let is_so = |pod: &Value| {
            // Each failure is followed by a longer rest.
            cluster.clock.advance(Duration::from_millis(100));
            pod["spec"]["nodeName"] == "a"
        };
        cluster.until("it is bound in the end", name, is_so).await;
    }
}

#[tokio::test]
async fn nothing_is_given_away_twice() {
    let cluster = Cluster::start(Value::Null).await;
    for node in 0..4 {
        cluster.node(&format!("n{node}"), "4").await;
    }
    let names: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
    for name in &names {
        cluster.pod(name, "1", Value::Null).await;
    }
    let mut placed = 0;
    for name in &names {
        let pod = cluster
            .until("decided", name, |pod| {
                !pod["spec"]["nodeName"].is_null() || scheduled(pod)["status"] == "False"
            })
            .await;
        placed += usize::from(!pod["spec"]["nodeName"].is_null());
    }
    assert_eq!(placed, 16, "four nodes of four processors");
}

/// Not a test but a measure: `NODES=5000 PICKY=1 cargo test --release -p kedge-scheduler --test turns -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measure"]
async fn speed() {
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (nodes, pods) = (number("NODES", 200), number("PODS", 5000));
    let picky = std::env::var("PICKY").is_ok();
    let mut cluster = Cluster::without_scheduler(Clock::system()).await;
    for node in 0..nodes {
        let name = format!("n{node}");
        let zone = format!("z{}", node % 5);
        let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone});
        cluster.node_with(&name, labels, json!({"cpu": "32", "memory": "256Gi", "pods": "110"})).await;
    }
    for number in 0..pods {
        let labels = json!({"matchLabels": {"app": format!("app{}", number % 10)}});
        let mut pod = json!({
            "metadata": {"name": format!("p{number}"), "labels": labels["matchLabels"]},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]},
        });
        if picky {
            pod["spec"]["topologySpreadConstraints"] = json!([{
                "maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": labels,
            }]);
            pod["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels},
            ]}});
        }
        let made = cluster.send("POST", "/api/v1/namespaces/default/pods", pod).await;
        assert!(made["metadata"]["uid"].is_string(), "{made}");
    }
    let began = Instant::now();
    cluster.schedule(Value::Null);
    cluster.world.watch::<Pod>();
    cluster.world.ready().await;
    let read = began.elapsed();
    let cache = cluster.world.cache::<Pod>().unwrap();
    let is_bound = |pod: &Arc<Pod>| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    loop {
        let bound = cache.all().iter().filter(|pod| is_bound(pod)).count();
        if bound == pods {
            break;
        }
        assert!(began.elapsed() < 10 * PATIENCE, "only {bound} are bound");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = began.elapsed();
    println!(
        "{pods} pods on {nodes} nodes: {took:?} ({read:?} for reading), {:.0}/s",
        pods as f64 / took.as_secs_f64()
    );
}
