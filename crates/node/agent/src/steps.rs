//! Carries out one step of a plan. A step fails with a reason that stands in the pod's status and in an event; when to try
//! again is the caller's to say.

mod image;
mod mounts;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Container, Pod};
use kedge_engine::Severity;
use kedge_runtime::RuntimeError;
use kedge_runtime::wire::PodSandboxConfig;
use tokio::sync::Mutex;

use crate::plan::{Why, as_container, containers};
use crate::sources::Sources;
use crate::spec::container::{self, Found};
use crate::spec::env::{self, Place};
use crate::spec::sandbox;
use crate::tools::{Tools, part};
use crate::view::Sandbox;
use crate::volumes::{self, VolumeError};

/// Why a step came to nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    /// As it stands in a container's status; none for a sandbox.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Failure {
    fn of(reason: &'static str, error: impl ToString) -> Self {
        Self { reason, message: error.to_string() }
    }
}

/// One pod with what was made for it.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) tools: Arc<Tools>,
    pub(crate) pod: Arc<Pod>,
    /// Made once in a pod's life here: a token that is asked for again is another one.
    pub(crate) volumes: Arc<Mutex<Option<HashMap<String, PathBuf>>>>,
}

impl Work {
    fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    fn sandbox_config(&self, attempt: u32) -> PodSandboxConfig {
        let logs = self.tools.folders.logs(&self.pod).display().to_string();
        sandbox::config(&self.pod, attempt, logs, &self.tools.common)
    }

    pub(crate) async fn make_sandbox(&self, attempt: u32) -> Result<(), Failure> {
        if let Err(error) = self.volumes().await {
            let message = error.to_string();
            self.tools.tell(&self.pod, Severity::Warning, "FailedMount", message.clone()).await;
            return Err(Failure { reason: "FailedMount", message });
        }
        let logs = self.tools.folders.logs(&self.pod);
        std::fs::create_dir_all(&logs).map_err(|error| Failure::of("FailedCreatePodSandBox", error))?;
        let config = self.sandbox_config(attempt);
        let handler = ""; // The runtime's own choice.
        match self.tools.runtime.run_sandbox(config, handler).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = format!("Failed to create pod sandbox: {error}");
                self.tools
                    .tell(&self.pod, Severity::Warning, "FailedCreatePodSandBox", message.clone())
                    .await;
                Err(Failure { reason: "FailedCreatePodSandBox", message })
            }
        }
    }

    pub(crate) async fn stop_sandbox(&self, id: &str) -> Result<(), RuntimeError> {
        self.tools.runtime.stop_sandbox(id).await
    }

    async fn volumes(&self) -> Result<HashMap<String, PathBuf>, VolumeError> {
        let mut volumes = self.volumes.lock().await;
        if let Some(made) = &*volumes {
            return Ok(made.clone());
        }
        let made = volumes::prepare(&self.tools, &self.pod).await?;
        *volumes = Some(made.clone());
        Ok(made)
    }

    /// Makes and starts a container in the sandbox.
    pub(crate) async fn start(&self, name: &str, attempt: u32, into: &Sandbox) -> Result<(), Failure> {
        let Some(container) = self.container(name) else {
            return Err(Failure::of("CreateContainerConfigError", format!("there is no container {name}")));
        };
        let image = image::ensure(self, &container).await?;
        let started = self.make(&container, attempt, into, image).await;
        if let Err(failure) = &started {
            let message = format!("Error: {}", failure.message);
            self.tell(name, Severity::Warning, "Failed", message).await;
        }
        started
    }

    async fn make(
        &self,
        container: &Container,
        attempt: u32,
        into: &Sandbox,
        image: image::Present,
    ) -> Result<(), Failure> {
        let (tools, pod) = (&*self.tools, &*self.pod);
        let wrong =
            |error: &dyn std::fmt::Display| Failure::of("CreateContainerConfigError", error.to_string());
        let sources = Sources::of(pod, &tools.client, &tools.world, tools.allocatable.clone()).await;
        let sources = sources.map_err(|error| wrong(&error))?;
        let shares = pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let pod_ips = if shares { tools.place.node_ips.clone() } else { into.ips.clone() };
        let place = Place { pod_ips, ..tools.place.clone() };
        let environment =
            env::environment(pod, container, &place, &sources).map_err(|error| wrong(&error))?;
        let volumes = self.volumes().await.map_err(|error| wrong(&error))?;
        let mounts = mounts::of(self, container, attempt, &volumes, &environment, &place)
            .map_err(|error| wrong(&error))?;
        let target = self.target(container.name.as_str()).await;
        let memory = tools.memory();
        let found = Found { image: image.id, user: image.user, environment, mounts, attempt, target, memory };
        let config = container::config(pod, container, found).map_err(|error| wrong(&error))?;
        let sandbox = self.sandbox_config(into.attempt);
        let made = tools.runtime.create_container(&into.id, config, sandbox).await;
        let id = made.map_err(|error| Failure::of("CreateContainerError", error))?;
        self.tell(&container.name, Severity::Normal, "Created", "Container created".to_owned()).await;
        tools.runtime.start_container(&id).await.map_err(|error| Failure::of("RunContainerError", error))?;
        self.tell(&container.name, Severity::Normal, "Started", "Container started".to_owned()).await;
        Ok(())
    }

    /// The container whose processes a debugging one was told to see.
    async fn target(&self, name: &str) -> Option<String> {
        let spec = self.pod.spec.as_ref()?;
        let debugging = spec.ephemeral_containers.iter().flatten().find(|wanted| wanted.name == name)?;
        let target = debugging.target_container_name.as_deref().filter(|name| !name.is_empty())?;
        let filter = kedge_runtime::wire::ContainerFilter {
            label_selector: HashMap::from([
                (sandbox::POD_UID.to_owned(), self.uid().to_owned()),
                (container::CONTAINER_NAME.to_owned(), target.to_owned()),
            ]),
            ..Default::default()
        };
        let mut found = self.tools.runtime.containers(filter).await.ok()?;
        found.sort_by_key(|container| std::cmp::Reverse(container.created_at));
        found.into_iter().next().map(|container| container.id)
    }

    /// Ends a container: asks it first.
    pub(crate) async fn kill(
        &self,
        id: &str,
        name: &str,
        grace: SignedDuration,
        why: &Why,
    ) -> Result<(), RuntimeError> {
        let message = match why {
            Why::Unhealthy(probe) => format!("Container {name} failed {probe}, will be restarted"),
            Why::Changed => format!("Container {name} definition changed, will be restarted"),
            Why::Leaving | Why::Sandbox | Why::Unknown => format!("Stopping container {name}"),
        };
        self.tell(name, Severity::Normal, "Killing", message).await;
        let grace = std::time::Duration::try_from(grace).unwrap_or_default();
        match self.tools.runtime.stop_container(id, grace).await {
            Err(error) if error.is_absent() => Ok(()),
            outcome => outcome,
        }
    }

    pub(crate) async fn discard(&self, id: &str) -> Result<(), RuntimeError> {
        match self.tools.runtime.remove_container(id).await {
            Err(error) if error.is_absent() => Ok(()),
            outcome => outcome,
        }
    }

    pub(crate) fn container(&self, name: &str) -> Option<Container> {
        let spec = self.pod.spec.as_ref()?;
        let listed = containers(spec).find(|container| container.name == name).cloned();
        let debugging = || spec.ephemeral_containers.iter().flatten().find(|wanted| wanted.name == name);
        listed.or_else(|| debugging().map(as_container))
    }

    pub(crate) async fn tell(&self, name: &str, severity: Severity, reason: &'static str, message: String) {
        self.tools.tell_of(&self.pod, part(&self.pod, name), severity, reason, message).await;
    }
}
