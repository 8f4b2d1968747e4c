//! A cluster for a test: made, told what to want, watched until it is so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_client::World;
use kedge_clock::Clock;
use kedge_engine::Engine;
use kedge_registry::Options;
use kedge_scheduler::Config;
use kedge_scripted_nodes::{Machine, Node, Nodes, Script};
use kube::Client;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::api::{Api, admin};
use crate::hands::Hands;
use crate::look::Look;
use crate::measures::{Measures, Metered};

const NOON: &str = "2030-01-01T12:00:00Z";
const PATIENCE: Duration = Duration::from_secs(20);
/// While somebody waits, time goes on, slowly: whoever failed wants to try again.
const TICK: Duration = Duration::from_millis(10);

/// Kinds that lie in no namespace.
const WITHOUT_NAMESPACE: [&str; 13] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CSIDriver",
    "CSINode",
    "CustomResourceDefinition",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// What a cluster is made of.
#[derive(Default)]
pub struct Setup {
    pub machines: Vec<Machine>,
    pub script: Script,
    /// Nobody looks after silent nodes, so the clock may be turned by days at once.
    pub without_node_lifecycle: bool,
}

pub struct Cluster {
    pub clock: Hands,
    pub client: Client,
    pub api: Api,
    pub measures: Measures,
    world: World,
    nodes: Arc<Nodes>,
    engine: AbortHandle,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.engine.abort();
        self.api.router.stop();
    }
}

impl Cluster {
    pub async fn with_nodes<const N: usize>(names: [&str; N]) -> Self {
        let machines = (0..).zip(names).map(|(index, name)| Machine::new(name, index)).collect();
        Self::of(Setup { machines, ..Setup::default() }).await
    }

    pub async fn of(setup: Setup) -> Self {
        let clock = Clock::manual(NOON.parse().expect("a time"));
        let options =
            Options { gates: vec![Arc::new(kedge_admission::Policies::default())], ..Options::default() };
        let api = Api::start(clock.clone(), options).await;
        let measures = Measures::new(api.store.clone(), clock.clone());
        let router = api.router.acting_as(admin("system:kube-controller-manager"));
        let client = kedge_client::in_process(Metered { router, measures: measures.clone() });
        let world = World::new(client.clone(), clock.clone());
        let engine = Engine::new(world.clone(), client, clock.clone());
        let mut joins =
            vec![kedge_controllers::join, kedge_jobs::join, kedge_volumes::join, kedge_autoscale::join];
        if !setup.without_node_lifecycle {
            joins.push(kedge_nodes::join);
        }
        let engine = joins.into_iter().fold(engine, |engine, join| join(engine));
        let scheduling = api.client(admin("system:kube-scheduler"));
        let scheduler = kedge_scheduler::worker(world, scheduling, clock.clone(), &Config::default());
        let engine = engine.with_worker(scheduler.expect("the usual scheduler works"));
        let engine = tokio::spawn(engine.run()).abort_handle();
        let heartbeat = setup.script.heartbeat;
        let kubelets = api.client(admin("system:nodes"));
        let nodes = Arc::new(Nodes::start(kubelets, clock.clone(), setup.script, setup.machines));
        nodes.beaten_since(clock.now()).await;
        let client = api.client(admin("somebody"));
        let world = World::new(client.clone(), clock.clone());
        let clock = Hands { clock, nodes: nodes.clone(), heartbeat };
        let cluster = Self { clock, client, api, measures, world, nodes, engine };
        if setup.without_node_lifecycle {
            // New nodes take no pods until somebody has looked at them, which nobody will.
            for name in cluster.nodes.names() {
                cluster.patch("Node", &name, serde_json::json!({ "spec": { "taints": null } })).await;
            }
        }
        cluster
    }

    pub fn node(&self, name: &str) -> Node<'_> {
        self.nodes.node(name)
    }

    /// Another machine joins.
    pub async fn join(&self, machine: Machine) {
        self.nodes.join(machine);
        self.clock.advance(Duration::from_secs(1)).await;
    }

    /// Applies every document of a text, as `kubectl apply --server-side` does.
    pub async fn apply(&self, yaml: &str) {
        for document in yaml.split("\n---") {
            let object: Value = serde_saphyr::from_str(document)
                .unwrap_or_else(|error| panic!("not YAML: {error}\n{document}"));
            let (api, name) = self.place(&object);
            let params = PatchParams::apply("somebody").force();
            let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
            applied.unwrap_or_else(|error| panic!("cannot apply: {error}\n{document}"));
        }
    }

    /// A merge patch of `Deployment default/web`, or of its `Deployment/scale`.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let (kind, subresource) = kind.split_once('/').map_or((kind, None), |(kind, sub)| (kind, Some(sub)));
        let api = self.of_kind(kind);
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = match subresource {
            None => api.patch(name, &params, &patch).await.map(drop),
            Some(subresource) => api.patch_subresource(subresource, name, &params, &patch).await.map(drop),
        };
        patched.unwrap_or_else(|error| panic!("cannot patch {kind} {name}: {error}"));
    }

    /// Deletes an object of namespace `default` or of none.
    pub async fn delete(&self, kind: &str, name: &str, propagation: PropagationPolicy) {
        let params = DeleteParams { propagation_policy: Some(propagation), ..DeleteParams::default() };
        let deleted = self.of_kind(kind).delete(name, &params).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete {kind} {name}: {error}"));
    }

    /// Evicts a pod of namespace `default`; whether that was allowed.
    pub async fn evict(&self, pod: &str) -> bool {
        let eviction = serde_json::json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod, "namespace": "default" },
        });
        let api = self.of_kind("Pod");
        match api.create_subresource::<Value, Value>("eviction", pod, &PostParams::default(), &eviction).await
        {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 429 => false,
            Err(error) => panic!("cannot evict {pod}: {error}"),
        }
    }

    /// Objects of a kind in namespace `default`, or of a kind that has none.
    pub fn of_kind(&self, kind: &str) -> kube::Api<DynamicObject> {
        let groups = BTreeMap::from([
            ("Deployment", "apps/v1"),
            ("ReplicaSet", "apps/v1"),
            ("StatefulSet", "apps/v1"),
            ("DaemonSet", "apps/v1"),
            ("EndpointSlice", "discovery.k8s.io/v1"),
            ("Job", "batch/v1"),
            ("CronJob", "batch/v1"),
            ("HorizontalPodAutoscaler", "autoscaling/v2"),
            ("PodDisruptionBudget", "policy/v1"),
            ("StorageClass", "storage.k8s.io/v1"),
            ("PriorityClass", "scheduling.k8s.io/v1"),
        ]);
        let object = serde_json::json!({
            "apiVersion": groups.get(kind).unwrap_or(&"v1"), "kind": kind, "metadata": {},
        });
        self.place(&object).0
    }

    fn place(&self, object: &Value) -> (kube::Api<DynamicObject>, String) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let meta = &object["metadata"];
        let namespace = meta["namespace"].as_str().unwrap_or("default");
        let api = if WITHOUT_NAMESPACE.contains(&kind.as_str()) {
            kube::Api::all_with(self.client.clone(), &resource)
        } else {
            kube::Api::namespaced_with(self.client.clone(), namespace, &resource)
        };
        (api, text(&meta["name"]))
    }

    fn look(&self) -> Look {
        Look::new(self.world.clone(), self.clock.clock.clone())
    }

    /// Waits until something holds, bounded, and says what was still untrue if it never does.
    pub async fn until(&self, what: &str, holds: impl Fn(&Look) -> bool) {
        let look = self.look();
        let started = Instant::now();
        while !look.agrees(&holds) {
            assert!(started.elapsed() < PATIENCE, "still untrue: {what}\n{look}");
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.clock.clock.advance(TICK);
        }
    }

    /// Lets everything happen that is going to happen by itself now, and says whether something held all the while.
    pub async fn meanwhile(&self, what: &str, holds: impl Fn(&Look) -> bool) {
        let look = self.look();
        self.until(what, &holds).await;
        let mut quiet_since = (self.api.store.revision(), Instant::now());
        while quiet_since.1.elapsed() < Duration::from_millis(100) {
            assert!(look.agrees(&holds), "no longer true: {what}\n{look}");
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.clock.clock.advance(TICK);
            if self.api.store.revision() != quiet_since.0 {
                quiet_since = (self.api.store.revision(), Instant::now());
            }
        }
    }
}
