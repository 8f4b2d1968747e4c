//! What is behind each path. One function per path; each looks, asks the runtime, and answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::core::v1::Pod;
use kedge_client::Written;
use kedge_clock::Clock;
use kedge_runtime::Runtime;
use kedge_runtime::wire::{ContainerFilter, ContainerState};
use serde_json::{Value, json};

use crate::access::{Judge, User, admit};
use crate::answer::{Answer, Refusal, figures, json as in_json, text};
use crate::call::{Call, Query};
use crate::figures::Figures;
use crate::files;
use crate::logs;
use crate::pods::{CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, Pods, has_terminal, running, uid};
use crate::route::{Metrics, NoRoute, Place, Route, route};
use crate::streams::{self, Said};

/// A command that is run without a stream may take this long.
const RUN: Duration = Duration::from_secs(120);

/// What a door leads to.
#[derive(Clone)]
pub struct Settings {
    pub runtime: Runtime,
    pub pods: Arc<dyn Pods>,
    pub judge: Arc<dyn Judge>,
    pub figures: Arc<dyn Figures>,
    pub clock: Clock,
    /// Where the machine keeps its own logs.
    pub machine_logs: PathBuf,
    /// How the node is set up, for whoever asks at `/configz`.
    pub config: Value,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Door(Arc<Settings>);

impl Door {
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Answers one request of somebody who has shown this certificate, or none.
    pub(crate) async fn answer(&self, certified: Option<&User>, call: Call) -> Answer {
        match self.pass(certified, call).await {
            Ok(answer) => answer,
            Err(refusal) => refusal.into(),
        }
    }

    async fn pass(&self, certified: Option<&User>, call: Call) -> Result<Answer, Refusal> {
        let (method, path) = (call.method().clone(), call.uri().path().to_owned());
        // Who is not let in learns nothing of what is here.
        admit(&*self.0.judge, certified, &method, &path, call.headers()).await?;
        let route = route(&method, &path).map_err(|wrong| match wrong {
            NoRoute::Path => Refusal::absent("404 page not found\n"),
            NoRoute::Method => Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "405: Method Not Allowed"),
        })?;
        let query = Query::of(call.uri());
        match route {
            Route::Health => Ok(text("ok")),
            Route::Pods => self.pods(),
            Route::RunningPods => self.running_pods().await,
            Route::Config => Ok(in_json(&self.0.config)),
            Route::Summary => Ok(in_json(&self.0.figures.summary(query.is_set("only_cpu_and_memory")).await)),
            Route::Metrics(which) => Ok(self.metrics(which).await),
            Route::Logs(place) => self.logs(call, &place, &query).await,
            Route::Exec(place) => self.exec(call, &place, &query).await,
            Route::Attach(place) => self.attach(call, &place, &query).await,
            Route::Run(place) => self.run(&place, &query).await,
            Route::Files(path) => files::answer(&self.0.machine_logs, &path).await,
            Route::PortForward(place) => self.port_forward(call, &place, &query).await,
        }
    }

    fn pods(&self) -> Result<Answer, Refusal> {
        list(self.0.pods.all().iter().map(|pod| pod.write().into()).collect())
    }

    /// What the runtime runs, whoever may have asked for it.
    async fn running_pods(&self) -> Result<Answer, Refusal> {
        let found = self.0.runtime.containers(ContainerFilter::default()).await.map_err(Refusal::failed)?;
        let mut pods: BTreeMap<String, Value> = BTreeMap::new();
        for container in found.iter().filter(|container| container.state() == ContainerState::Running) {
            let label = |name: &str| container.labels.get(name).cloned().unwrap_or_default();
            let pod = pods.entry(label(POD_UID)).or_insert_with(|| {
                let meta =
                    json!({"name": label(POD_NAME), "namespace": label(POD_NAMESPACE), "uid": label(POD_UID)});
                json!({"metadata": meta, "spec": {"containers": []}, "status": {}})
            });
            if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
                let image = container.image.as_ref().map(|image| image.image.clone()).unwrap_or_default();
                containers.push(json!({"name": label(CONTAINER_NAME), "image": image, "resources": {}}));
            }
        }
        list(pods.into_values().collect())
    }

    async fn metrics(&self, which: Metrics) -> Answer {
        let from = &self.0.figures;
        figures(match which {
            Metrics::Agent => from.agent().await,
            Metrics::Resource => from.resource().await,
            Metrics::Containers => from.containers().await,
            Metrics::Probes => from.probes().await,
        })
    }

    async fn logs(&self, call: Call, place: &Place, query: &Query) -> Result<Answer, Refusal> {
        let wanted = logs::Wanted::of(query, self.0.clock.now())?;
        let pod = self.0.pods.named(&place.namespace, &place.pod);
        let pod = pod.ok_or_else(|| Refusal::absent(format!("pod {:?} does not exist", place.pod)))?;
        if has_terminal(&pod, &place.container).is_none() {
            let text = format!("container {:?} not found in pod {:?}", place.container, place.pod);
            return Err(Refusal::absent(text));
        }
        logs::serve(&self.0.runtime, &self.0.clock, call, &pod, &place.container, wanted).await
    }

    async fn exec(&self, call: Call, place: &Place, query: &Query) -> Result<Answer, Refusal> {
        let said = Said::of(query)?;
        let pod = self.pod(place)?;
        let id = self.container(&pod, &place.container).await?;
        let id = id.ok_or_else(|| Refusal::failed(format!("container not found ({:?})", place.container)))?;
        let command = query.all("command").to_vec();
        streams::exec(&self.0.runtime, call, id, command, said).await
    }

    async fn attach(&self, call: Call, place: &Place, query: &Query) -> Result<Answer, Refusal> {
        let said = Said::of(query)?;
        let pod = self.pod(place)?;
        let absent = || {
            let name = format!("{}_{}", place.pod, place.namespace);
            Refusal::failed(format!("container {} not found in pod {name}", place.container))
        };
        let id = self.container(&pod, &place.container).await?.ok_or_else(absent)?;
        // Whether a process has a terminal was settled when it started.
        let tty = has_terminal(&pod, &place.container).ok_or_else(absent)?;
        streams::attach(&self.0.runtime, call, id, tty, said).await
    }

    async fn run(&self, place: &Place, query: &Query) -> Result<Answer, Refusal> {
        let pod = self.pod(place)?;
        let id = self.container(&pod, &place.container).await?;
        let id = id.ok_or_else(|| Refusal::failed(format!("container not found ({:?})", place.container)))?;
        let command = query.get("cmd").unwrap_or_default().split(' ').map(str::to_owned).collect();
        let done = self.0.runtime.exec(&id, command, RUN).await.map_err(Refusal::failed)?;
        let said = [done.stdout, done.stderr].concat();
        if done.exit_code != 0 {
            let said = String::from_utf8_lossy(&said);
            return Err(Refusal::failed(format!("command exited with {}: {said}", done.exit_code)));
        }
        Ok(text(said))
    }

    async fn port_forward(&self, call: Call, place: &Place, query: &Query) -> Result<Answer, Refusal> {
        let pod = self.pod(place)?;
        streams::port_forward(&self.0.runtime, call, &pod, query).await
    }

    fn pod(&self, place: &Place) -> Result<Arc<Pod>, Refusal> {
        let pod = self.0.pods.named(&place.namespace, &place.pod);
        let pod = pod.filter(|pod| place.uid.as_deref().is_none_or(|wanted| wanted == uid(pod)));
        pod.ok_or_else(|| Refusal::absent("pod does not exist"))
    }

    async fn container(&self, pod: &Pod, name: &str) -> Result<Option<String>, Refusal> {
        running(&self.0.runtime, uid(pod), name).await.map_err(Refusal::failed)
    }
}

fn list(items: Vec<Value>) -> Result<Answer, Refusal> {
    Ok(in_json(&json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})))
}
