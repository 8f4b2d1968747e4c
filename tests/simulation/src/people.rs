//! What users do in a history: they make workloads, change their minds and delete them, and meddle with single pods.

mod order;

use http::Request;
use http::header::CONTENT_TYPE;
use kedge_store::Snapshot;
use kube::Client;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::kinds::Head;
use crate::load::Load;
pub(crate) use order::Order;

/// Sends a request as nobody would who had types at hand.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content).body(body);
    client.request(request.map_err(kube::Error::HttpError)?).await
}

/// A kind of thing that users make, where, and the name that they give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thing {
    kind: &'static str,
    version: &'static str,
    plural: &'static str,
    name: &'static str,
}

const fn thing(kind: &'static str, version: &'static str, plural: &'static str, name: &'static str) -> Thing {
    Thing { kind, version, plural, name }
}

/// The name is also the value of the label `app` of what it makes.
const THINGS: [Thing; 10] = [
    thing("Deployment", "apps/v1", "deployments", "web"),
    thing("Deployment", "apps/v1", "deployments", "web"),
    thing("Deployment", "apps/v1", "deployments", "shop"),
    thing("ReplicaSet", "apps/v1", "replicasets", "set"),
    thing("ReplicationController", "v1", "replicationcontrollers", "old"),
    thing("StatefulSet", "apps/v1", "statefulsets", "db"),
    thing("DaemonSet", "apps/v1", "daemonsets", "log"),
    thing("Job", "batch/v1", "jobs", "task"),
    thing("Job", "batch/v1", "jobs", "batch"),
    thing("CronJob", "batch/v1", "cronjobs", "tick"),
];

pub(crate) struct People {
    client: Client,
    /// What this history is about.
    things: Vec<Thing>,
    with_volumes: bool,
    order: Order,
}

impl People {
    pub(crate) fn new(client: Client, chance: &mut Chance, order: Order) -> Self {
        let mut things: Vec<Thing> = Vec::new();
        for _ in 0..1 + chance.below(3) {
            things.extend(chance.pick(&THINGS).copied().filter(|thing| !things.contains(thing)));
        }
        Self { client, things, with_volumes: chance.percent(30), order }
    }

    pub(crate) fn use_volumes(&self) -> bool {
        self.with_volumes && self.things.iter().any(|thing| thing.kind == "StatefulSet")
    }

    fn collection(&self, thing: Thing) -> String {
        let root = if thing.version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}/namespaces/{}/{}", thing.version, self.order.namespace, thing.plural)
    }

    fn path(&self, thing: Thing) -> String {
        format!("{}/{}", self.collection(thing), thing.name)
    }

    fn pods(&self, store: &Snapshot) -> Vec<Head> {
        let place = format!("/registry/pods/{}/", self.order.namespace);
        store.range(&place, None).filter_map(|(_, entry)| Head::of(entry.bytes())).collect()
    }

    pub(crate) fn namespace(&self) -> &'static str {
        self.order.namespace
    }

    /// Somebody does something; what it was.
    pub(crate) async fn act(&self, chance: &mut Chance, store: &Snapshot, load: &Load) -> Option<String> {
        if let Some(told) = self.set_in_order(chance, store, load).await {
            return Some(told);
        }
        let pods = self.pods(store);
        if chance.percent(20)
            && let Some(pod) = chance.pick(&pods)
        {
            return self.meddle(chance, pod).await;
        }
        let thing = *chance.pick(&self.things)?;
        if chance.percent(15) {
            return self.serve(chance, thing).await;
        }
        if chance.percent(8) {
            return self.protect(chance, thing).await;
        }
        if self.has(thing, store) {
            if chance.percent(25) {
                self.delete(chance, thing).await
            } else {
                self.change(chance, thing).await
            }
        } else {
            self.create(chance, thing).await
        }
    }

    fn has(&self, thing: Thing, store: &Snapshot) -> bool {
        store.get(&format!("/registry/{}/{}/{}", thing.plural, self.order.namespace, thing.name)).is_some()
    }

    async fn create(&self, chance: &mut Chance, thing: Thing) -> Option<String> {
        let object = wish(chance, thing, self.with_volumes);
        let told = format!("user: create {} {}: {}", thing.kind, thing.name, object["spec"]["replicas"]);
        let made = send(&self.client, "POST", &self.collection(thing), &object).await;
        Some(outcome(told, made))
    }

    async fn change(&self, chance: &mut Chance, thing: Thing) -> Option<String> {
        let patch = match (thing.kind, chance.below(6)) {
            ("CronJob", _) => json!({ "spec": { "suspend": chance.percent(30) } }),
            ("Job", 0..3) => json!({ "spec": { "parallelism": chance.below(4) } }),
            ("Job", _) => json!({ "spec": { "suspend": chance.percent(30) } }),
            ("Deployment", 0) => json!({ "spec": { "paused": chance.percent(50) } }),
            ("DaemonSet", _) | (_, 0..3) => {
                let image = format!("nginx:{}", 1 + chance.below(3));
                json!({ "spec": { "template": { "spec": { "containers": [container(&image)] } } } })
            }
            _ => json!({ "spec": { "replicas": chance.below(4) } }),
        };
        let told = format!("user: change {} {}: {patch}", thing.kind, thing.name);
        let done = send(&self.client, "PATCH", &self.path(thing), &patch).await;
        Some(outcome(told, done))
    }

    async fn delete(&self, chance: &mut Chance, thing: Thing) -> Option<String> {
        let propagation = chance.weighted(&[(3, "Background"), (2, "Foreground"), (1, "Orphan")]);
        let options =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation });
        let told = format!("user: delete {} {} ({propagation})", thing.kind, thing.name);
        let done = send(&self.client, "DELETE", &self.path(thing), &options).await;
        Some(outcome(told, done))
    }

    async fn serve(&self, chance: &mut Chance, thing: Thing) -> Option<String> {
        let services = format!("/api/v1/namespaces/{}/services", self.order.namespace);
        if chance.percent(25) {
            let gone =
                send(&self.client, "DELETE", &format!("{services}/{}", thing.name), &Value::Null).await;
            return Some(outcome(format!("user: delete Service {}", thing.name), gone));
        }
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": thing.name },
            "spec": { "clusterIP": "None", "selector": { "app": thing.name }, "ports": [{ "port": 80 }] },
        });
        let made = send(&self.client, "POST", &services, &service).await;
        Some(outcome(format!("user: create Service {}", thing.name), made))
    }

    async fn protect(&self, chance: &mut Chance, thing: Thing) -> Option<String> {
        let budgets = format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", self.order.namespace);
        if chance.percent(25) {
            let gone = send(&self.client, "DELETE", &format!("{budgets}/{}", thing.name), &Value::Null).await;
            return Some(outcome(format!("user: delete PodDisruptionBudget {}", thing.name), gone));
        }
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": thing.name },
            "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": thing.name } } },
        });
        let made = send(&self.client, "POST", &budgets, &budget).await;
        Some(outcome(format!("user: create PodDisruptionBudget {}", thing.name), made))
    }

    async fn meddle(&self, chance: &mut Chance, pod: &Head) -> Option<String> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let path = format!("/api/v1/namespaces/{}/pods/{name}", self.order.namespace);
        if chance.percent(30) {
            let eviction =
                json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
            let gone = send(&self.client, "POST", &format!("{path}/eviction"), &eviction).await;
            return Some(outcome(format!("user: evict Pod {name}"), gone));
        }
        if chance.percent(40) {
            let gone = send(&self.client, "DELETE", &path, &Value::Null).await;
            return Some(outcome(format!("user: delete Pod {name}"), gone));
        }
        // Whoever counted it has to let it go.
        let patch = json!({ "metadata": { "labels": { "app": "stray" } } });
        let done = send(&self.client, "PATCH", &path, &patch).await;
        Some(outcome(format!("user: label Pod {name} app=stray"), done))
    }

    /// What would never come to rest is stopped, and what is in somebody's way goes.
    pub(crate) async fn calm_down(&self, store: &Snapshot, load: &Load) {
        self.make_peace(load).await;
        for pod in self.pods(store) {
            if pod.metadata.labels.is_some_and(|labels| labels.get("app").is_some_and(|app| app == "stray")) {
                let name = pod.metadata.name.unwrap_or_default();
                let path = format!("/api/v1/namespaces/{}/pods/{name}", self.order.namespace);
                drop(send(&self.client, "DELETE", &path, &Value::Null).await);
            }
        }
        for thing in &self.things {
            let still = match thing.kind {
                "CronJob" => json!({ "spec": { "suspend": true } }),
                "Deployment" => json!({ "spec": { "paused": false } }),
                _ => continue,
            };
            drop(send(&self.client, "PATCH", &self.path(*thing), &still).await);
        }
    }
}

fn container(image: &str) -> Value {
    json!({ "name": "c", "image": image, "resources": { "requests": { "cpu": "100m" } } })
}

fn outcome(told: String, done: Result<Value, kube::Error>) -> String {
    match done {
        Ok(_) => told,
        Err(error) => format!("{told}: {error}"),
    }
}

fn wish(chance: &mut Chance, thing: Thing, with_volumes: bool) -> Value {
    let labels = json!({ "app": thing.name });
    let image = format!("nginx:{}", 1 + chance.below(3));
    let mut object = json!({
        "apiVersion": thing.version, "kind": thing.kind, "metadata": { "name": thing.name },
        "spec": { "template": { "metadata": { "labels": labels }, "spec": { "containers": [container(&image)] } } },
    });
    let spec = &mut object["spec"];
    match thing.kind {
        "CronJob" => {
            let mut job = wish(chance, Thing { kind: "Job", version: "batch/v1", ..thing }, false);
            let policy = chance.weighted(&[(2, "Allow"), (1, "Forbid"), (1, "Replace")]);
            *spec = json!({
                "schedule": "* * * * *", "concurrencyPolicy": policy,
                "jobTemplate": { "spec": job["spec"].take() },
            });
            return object;
        }
        "Job" => {
            let code = i32::from(chance.percent(30)).to_string();
            let after = chance.below(20).to_string();
            spec["template"]["metadata"]["annotations"] =
                json!({ "testkit.kedge.dev/exit-code": code, "testkit.kedge.dev/run-for": after });
            spec["template"]["spec"]["restartPolicy"] = "Never".into();
            spec["parallelism"] = (1 + chance.below(3)).into();
            spec["completions"] = (1 + chance.below(4)).into();
            spec["backoffLimit"] = chance.below(3).into();
            if chance.percent(40) {
                spec["completionMode"] = "Indexed".into();
            }
            return object;
        }
        "ReplicationController" => spec["selector"] = labels,
        _ => spec["selector"] = json!({ "matchLabels": labels }),
    }
    match thing.kind {
        "DaemonSet" => return object,
        "StatefulSet" => {
            spec["serviceName"] = thing.name.into();
            if chance.percent(40) {
                spec["podManagementPolicy"] = "Parallel".into();
            }
            if with_volumes {
                spec["volumeClaimTemplates"] = json!([{
                    "metadata": { "name": "data" },
                    "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
                }]);
            }
        }
        "Deployment" if chance.percent(25) => spec["strategy"] = json!({ "type": "Recreate" }),
        _ => {}
    }
    spec["replicas"] = chance.below(4).into();
    object
}
