//! The scheduler's turns: whoever waits gets a decision, and what was decided is carried out while the next ones are made. Bindings,
//! conditions and events go through the API like anybody's.

mod voice;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use http::Request;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Key, Next, Outcome, Seen, Severity, Wait, Wake, Worker, World};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::amounts::{Amounts, List};
use crate::config::{Config, ConfigError};
use crate::metrics::Metrics;
use crate::plan::{self, Job};
use crate::pod::PodView;
use crate::state::State;
use voice::Voice;

/// What events say they come from, as Kubernetes' own scheduler does.
const NAME: &str = "default-scheduler";
/// How many pods are decided about before what was decided is sent off.
const BATCH: usize = 64;
/// How many batches are being carried out while the next is decided.
const UNDER_WAY: usize = 4;
const MEASURE_EVERY: Duration = Duration::from_secs(30);

pub struct Scheduler {
    desk: Arc<Desk>,
    measures: bool,
    measuring: Mutex<JoinSet<()>>,
}

/// What a batch that is carried out shares with the decisions.
struct Desk {
    state: Mutex<State>,
    world: World,
    clock: Clock,
    carrier: Carrier,
    voice: Mutex<Voice>,
    metrics: Metrics,
    seed: u64,
}

/// A scheduler as a worker of an engine.
pub fn worker(
    world: World,
    client: Client,
    clock: Clock,
    config: &Config,
) -> Result<Arc<dyn Worker>, ConfigError> {
    Ok(Scheduler::new(world, client, clock, config, Metrics::default())?)
}

impl Scheduler {
    pub fn new(
        world: World,
        client: Client,
        clock: Clock,
        config: &Config,
        metrics: Metrics,
    ) -> Result<Arc<Self>, ConfigError> {
        let state = State::new(world.clone(), config, config.made()?);
        let desk = Desk {
            state: Mutex::new(state),
            world,
            carrier: Carrier::new(NAME, client, clock.clone()),
            voice: Mutex::default(),
            clock,
            metrics,
            seed: config.seed,
        };
        let (desk, measuring) = (Arc::new(desk), Mutex::default());
        Ok(Arc::new(Self { desk, measures: config.measures(), measuring }))
    }

    async fn one_turn(&self) -> Outcome {
        let mut waits = Vec::new();
        let mut under_way: JoinSet<Vec<Wait>> = JoinSet::new();
        loop {
            let (jobs, more) = self.desk.plan();
            if !jobs.is_empty() {
                let desk = self.desk.clone();
                under_way.spawn(async move { desk.carry_out(jobs).await });
            }
            // Decisions don't wait for what was decided before, but they don't run away from it either.
            if (!more || under_way.len() >= UNDER_WAY)
                && let Some(ended) = under_way.join_next().await
            {
                waits.extend(ended.unwrap_or_default());
            } else if !more {
                break;
            }
        }
        let state = self.desk.state.lock();
        self.desk.metrics.pending(state.queue.lengths());
        let next = state.queue.next_moment().map_or(Next::Rest, Next::At);
        Outcome { waits, next }
    }
}

impl Desk {
    /// Decides about the next pods; says whether there are more.
    fn plan(&self) -> (Vec<Job>, bool) {
        let mut jobs = Vec::new();
        for _ in 0..BATCH {
            let mut state = self.state.lock();
            let next = plan::next(&mut state, self.seed, &self.metrics, &self.clock);
            // Whoever waits here holds up a watch, and with it a thread.
            MutexGuard::unlock_fair(state);
            match next {
                Some(job) => jobs.extend(job),
                None => return (jobs, false),
            }
        }
        (jobs, self.state.lock().queue.has_active())
    }

    async fn carry_out(self: &Arc<Self>, jobs: Vec<Job>) -> Vec<Wait> {
        let waits = join_all(jobs.into_iter().map(|job| self.one(job))).await;
        waits.into_iter().flatten().collect()
    }

    async fn one(self: &Arc<Self>, job: Job) -> Vec<Wait> {
        match job {
            Job::Bind { pod, node, since } => {
                match self.bind(&pod, &node).await {
                    Ok(()) => self.bound(&pod, &node, since),
                    Err(error) => self.not_bound(&pod, &node, &error).await,
                }
                Vec::new()
            }
            Job::Act { pod, actions } => {
                for action in &actions {
                    tracing::debug!(controller = NAME, pod = %pod.key, %action);
                }
                let done = self.carrier.carry_out(&actions).await;
                if let Some(error) = done.error {
                    tracing::debug!(controller = NAME, pod = %pod.key, %error, "once more");
                    let shown = self.world.get::<Pod>(&pod.key).ok().flatten();
                    self.state.lock().forget(&pod, shown.as_deref(), self.clock.now());
                }
                done.waits
            }
        }
    }

    async fn bind(&self, pod: &PodView, node: &str) -> Result<(), kube::Error> {
        let Key { namespace, name } = &pod.key;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let request = Request::post(format!("/api/v1/namespaces/{namespace}/pods/{name}/binding"))
            .header(CONTENT_TYPE, "application/json")
            .body(binding.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        self.carrier.client().request_text(request).await.map(drop)
    }

    fn bound(self: &Arc<Self>, pod: &PodView, node: &str, since: Timestamp) {
        self.metrics.bound(self.clock.now().duration_since(since).as_secs_f64().max(0.0));
        let said = format!("Successfully assigned {} to {node}", pod.key);
        let told = Action::tell_of(pod.target(), Severity::Normal, "Scheduled", said);
        if self.voice.lock().add(told) {
            tokio::spawn(self.clone().speak());
        }
    }

    async fn speak(self: Arc<Self>) {
        loop {
            let some = self.voice.lock().next();
            if some.is_empty() {
                return;
            }
            join_all(some.iter().map(|told| self.carrier.carry_out(std::slice::from_ref(told)))).await;
        }
    }

    async fn not_bound(&self, pod: &PodView, node: &str, error: &kube::Error) {
        tracing::debug!(controller = NAME, pod = %pod.key, node, %error, "not bound");
        let shown = self.world.get::<Pod>(&pod.key).ok().flatten();
        self.state.lock().forget(pod, shown.as_deref(), self.clock.now());
        // Somebody else was faster; the watch is about to show it.
        if matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409)) {
            return;
        }
        let said = format!("binding rejected: {error}");
        let told = Action::tell_of(pod.target(), Severity::Warning, "FailedScheduling", said);
        self.carrier.carry_out(&[told]).await;
    }

    /// Follows how much nodes are used, for as long as somebody measures it.
    async fn measure(self: Arc<Self>) {
        loop {
            match self.measured().await {
                Ok(measured) => self.state.lock().cluster.measure(measured),
                Err(error) => tracing::debug!(controller = NAME, %error, "nothing is measured"),
            }
            self.clock.sleep(MEASURE_EVERY).await;
        }
    }

    async fn measured(&self) -> Result<HashMap<String, Amounts>, kube::Error> {
        let request = Request::get("/apis/metrics.k8s.io/v1beta1/nodes")
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        let list: Measurements = self.carrier.client().request(request).await?;
        let used = |one: Measurement| (one.metadata.name, Amounts::of_list(&one.usage));
        Ok(list.items.into_iter().map(used).collect())
    }
}

#[derive(Deserialize)]
struct Measurements {
    items: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Measurement {
    metadata: Named,
    usage: List,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// There is one turn for all pods: they compete.
fn everybody() -> Key {
    Key::new("", "pods")
}

impl Worker for Scheduler {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Pod>().watch::<Node>().watch::<Namespace>().watch::<PodDisruptionBudget>();
        world
            .watch::<Service>()
            .watch::<ReplicationController>()
            .watch::<ReplicaSet>()
            .watch::<StatefulSet>();
        world.watch::<PersistentVolume>().watch::<PersistentVolumeClaim>().watch::<StorageClass>();
        world
            .watch::<CSINode>()
            .watch::<CSIDriver>()
            .watch::<CSIStorageCapacity>()
            .watch::<VolumeAttachment>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let now = self.desk.clock.now();
        let mut state = self.desk.state.lock();
        // Others may have watched before us, so not everything was told. What was is only seen twice.
        for namespace in world.cache::<Namespace>().map(|all| all.all()).unwrap_or_default() {
            state.put_namespace(&Key::of(&*namespace).name, Some(&namespace), now);
        }
        for node in world.cache::<Node>().map(|all| all.all()).unwrap_or_default() {
            state.put_node(&node, now);
        }
        for pod in world.cache::<Pod>().map(|all| all.all()).unwrap_or_default() {
            state.put_pod(PodView::of(&pod), now);
        }
        vec![everybody()]
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let pod = seen.now::<Pod>().map(PodView::of);
        let woken = self.desk.state.lock().saw(seen, pod, self.desk.clock.now());
        if woken { vec![everybody()] } else { Vec::new() }
    }

    fn start(&self, _wake: Wake) {
        if self.measures {
            self.measuring.lock().spawn(self.desk.clone().measure());
        }
    }

    fn turn<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn().boxed()
    }
}

#[cfg(test)]
mod tests;
