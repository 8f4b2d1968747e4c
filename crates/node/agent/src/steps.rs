//! Carries out one step of a plan. A step fails with a reason that stands in the pod's status and in an event; when to try
//! again is the caller's to say.

mod class;
mod credentials;
mod ending;
mod image;
mod image_volumes;
mod mounts;
mod seen;

use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use kedge_engine::Severity;
use kedge_runtime::wire::PodSandboxConfig;
use tokio::sync::watch;

use self::class::Way;
pub(crate) use self::seen::Seen;
use crate::hooks::run_hook;
use crate::plan::{as_container, containers};
use crate::registry::Registry;
use crate::sources::WithVolumes;
use crate::spec::container::{self, Found};
use crate::spec::env::{self, Place};
use crate::spec::security::has_own_users;
use crate::spec::{names, sandbox};
use crate::tools::{Tools, part};
use crate::users::{self, Users, UsersError};
use crate::view::Sandbox;
use crate::volumes::{Images, PodVolumes};

/// A hook at a container's start may take its time.
const LONGEST_GREETING: Duration = Duration::from_secs(3600);
/// So long is waited for a machine that has a pod's files when the pod is to end.
const MOUNTING: Duration = Duration::from_secs(10);

/// Why a step came to nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    /// As it stands in a container's status; none for a sandbox.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The image that could not be had, if it was that.
    pub(crate) image: Option<String>,
}

impl Failure {
    pub(crate) fn of(reason: &'static str, error: impl ToString) -> Self {
        Self { reason, message: error.to_string(), image: None }
    }
}

/// One pod with what was made for it.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) tools: Arc<Tools>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) pod: Arc<Pod>,
    /// Turns true when the pod is to end: whatever only prepares something stops then.
    pub(crate) over: watch::Receiver<bool>,
    /// What was last known of the objects that the pod refers to.
    pub(crate) seen: Arc<Seen>,
    pub(crate) volumes: Arc<PodVolumes>,
}

impl Work {
    fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Which of the node's users stand for the pod's, if those are its own. Never the node's own in their place.
    fn users(&self) -> Result<Option<Users>, UsersError> {
        if !has_own_users(&self.pod) {
            return Ok(None);
        }
        users::of(&self.tools.folders, self.uid()).map(Some).ok_or(UsersError::Lost)
    }

    fn sandbox_config(&self, attempt: u32, users: Option<Users>) -> PodSandboxConfig {
        let logs = self.tools.folders.logs(&self.pod).display().to_string();
        let parent = self.tools.cgroups.parent(&self.pod);
        sandbox::config(&self.pod, attempt, logs, parent, &self.tools.common(), users)
    }

    /// Does something until the pod is to end.
    async fn while_wanted<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.while_wanted_and(Duration::ZERO, work).await
    }

    /// And for so long after: some things should not be left half done if they can be finished.
    async fn while_wanted_and<T>(
        &self,
        after: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut over = self.over.clone();
        let ends = async {
            // Whoever would tell is gone with the pod's life.
            if over.wait_for(|over| *over).await.is_err() {
                std::future::pending::<()>().await;
            }
            self.tools.steady.sleep(after).await;
        };
        tokio::select! {
            done = work => Ok(done),
            () = ends => Err(Failure::of("Leaving", "the pod is to end")),
        }
    }

    pub(crate) async fn make_sandbox(&self, attempt: u32) -> Result<(), Failure> {
        if let Err(error) = self.while_wanted(self.volumes.ensure(&self.pod)).await? {
            for failure in &error.0 {
                self.tools.tell(&self.pod, Severity::Warning, "FailedMount", failure.to_string());
            }
            return Err(Failure::of("FailedMount", error));
        }
        if let Err(error) = names::hostname(&self.pod, &self.tools.common) {
            let message = format!("Failed to create pod sandbox: {error}");
            self.tools.tell(&self.pod, Severity::Warning, "FailedCreatePodSandBox", message.clone());
            return Err(Failure::of("FailedCreatePodSandBox", message));
        }
        for left_out in names::dns(&self.pod, &self.tools.common()).1 {
            self.tools.tell(&self.pod, Severity::Warning, "DNSConfigForming", left_out);
        }
        let logs = self.tools.folders.logs(&self.pod);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o750).create(&logs);
        made.map_err(|error| Failure::of("FailedCreatePodSandBox", error))?;
        if let Err(error) = crate::cgroups::prepare(&self.tools, &self.pod) {
            let message = format!("Failed to create pod sandbox: {error}");
            self.tools.tell(&self.pod, Severity::Warning, "FailedCreatePodSandBox", message.clone());
            return Err(Failure::of("FailedCreatePodSandBox", message));
        }
        if attempt > 0
            && let Err(error) = self.stop_former_sandboxes().await
        {
            // Whatever cannot be given back now is when the pod goes.
            tracing::warn!(%error, uid = self.uid(), "cannot stop a sandbox that ended");
        }
        let made = match self.while_wanted(class::way(self)).await? {
            // Never given up half way: a runtime that is left alone with it may forget what it has started.
            Ok(Way { handler, users }) => {
                let config = self.sandbox_config(attempt, users);
                self.tools.runtime.run_sandbox(config, &handler).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match made {
            Ok(id) => {
                self.registry.own(self.uid(), &id);
                Ok(())
            }
            Err(error) => {
                let message = format!("Failed to create pod sandbox: {error}");
                self.tools.tell(&self.pod, Severity::Warning, "FailedCreatePodSandBox", message.clone());
                Err(Failure::of("FailedCreatePodSandBox", message))
            }
        }
    }

    /// Makes and starts a container in the sandbox.
    pub(crate) async fn start(&self, name: &str, attempt: u32, into: &Sandbox) -> Result<(), Failure> {
        let Some(container) = self.container(name) else {
            return Err(Failure::of("CreateContainerConfigError", format!("there is no container {name}")));
        };
        let read_only = self.while_wanted(image_volumes::ensure(self, &container)).await??;
        let image = self.while_wanted(image::ensure(self, &container)).await??;
        let id = match self.make(&container, attempt, into, image, read_only).await {
            Ok(id) => id,
            Err(failure) => {
                let message = format!("Error: {}", failure.message);
                self.tell(name, Severity::Warning, "Failed", message);
                return Err(failure);
            }
        };
        self.greet(&id, &container, into).await
    }

    /// Tells a container that it has started, if it wants to be told. One that does not take it well is ended.
    async fn greet(&self, id: &str, container: &Container, into: &Sandbox) -> Result<(), Failure> {
        let Some(hook) = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.as_ref())
        else {
            return Ok(());
        };
        let ip = self.ip(into);
        let greeted = run_hook(&self.tools, id, container, hook, &ip, LONGEST_GREETING);
        match self.while_wanted(greeted).await? {
            Ok(fallback) => {
                if let Some(fallback) = fallback {
                    let words = fallback.0;
                    self.tools.tell(&self.pod, Severity::Warning, "LifecycleHTTPFallback", words);
                }
                Ok(())
            }
            Err(error) => {
                let words = "PostStartHook failed".to_owned();
                self.tell(&container.name, Severity::Warning, "FailedPostStartHook", words);
                let message = self.hook_message(hook, container, &error);
                let ended =
                    self.end(id, container, &ip, self.grace(), "FailedPostStartHook".to_owned()).await;
                if let Err(error) = ended {
                    tracing::debug!(%error, container = %container.name, "cannot end a container");
                }
                Err(Failure::of("PostStartHookError", message))
            }
        }
    }

    /// Where the pod is reached from this node.
    pub(crate) fn ip(&self, into: &Sandbox) -> String {
        let shares = self.pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let ips = if shares { &self.tools.place.node_ips } else { &into.ips };
        ips.first().cloned().unwrap_or_default()
    }

    async fn make(
        &self,
        container: &Container,
        attempt: u32,
        into: &Sandbox,
        image: image::Present,
        images: Images,
    ) -> Result<String, Failure> {
        let (tools, pod) = (&*self.tools, &*self.pod);
        let wrong =
            |error: &dyn std::fmt::Display| Failure::of("CreateContainerConfigError", error.to_string());
        let sources = self.while_wanted(self.seen.sources(tools, pod)).await?;
        let sources = sources.map_err(|error| wrong(&error))?;
        let shares = pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let pod_ips = if shares { tools.place.node_ips.clone() } else { into.ips.clone() };
        let place = Place { pod_ips, ..tools.place.clone() };
        let volumes = self.volumes.ensure(pod).await.map_err(|error| wrong(&error))?;
        let lookup = WithVolumes { sources: &sources, volumes: &volumes };
        let environment = env::environment(pod, container, &place, &lookup).map_err(|error| wrong(&error))?;
        let (work, own) = (self.clone(), container.clone());
        let mounting = tokio::task::spawn_blocking(move || {
            let made = mounts::Made { volumes: &volumes, images: &images };
            mounts::of(&work, &own, attempt, made, &environment, &place).map(|mounts| (mounts, environment))
        });
        // A part of a volume is looked for in it, and the machine that has it may be gone.
        let mounts = self.while_wanted_and(MOUNTING, mounting).await?.map_err(|error| wrong(&error))?;
        let (mounts, environment) = mounts.map_err(|error| wrong(&error))?;
        let target = self.target(container.name.as_str()).await;
        let machine = tools.machine.clone();
        let cpus = tools.cpus.of(self.uid(), &container.name);
        let users = self.users().map_err(|error| wrong(&error))?;
        let found = Found {
            image: image.id,
            user: image.user,
            environment,
            mounts,
            attempt,
            target,
            machine,
            cpus,
            users,
        };
        let config = container::config(pod, container, found).map_err(|error| wrong(&error))?;
        let sandbox = self.sandbox_config(into.attempt, users);
        let guarded = async {
            if let Some(guard) = &tools.guard {
                guard.admit(pod, &into.ips).await;
            }
        };
        let (made, ()) = tokio::join!(tools.runtime.create_container(&into.id, config, sandbox), guarded);
        let id = made.map_err(|error| Failure::of("CreateContainerError", error))?;
        self.registry.own(self.uid(), &id);
        self.tell(&container.name, Severity::Normal, "Created", "Container created".to_owned());
        tools.runtime.start_container(&id).await.map_err(|error| Failure::of("RunContainerError", error))?;
        self.tell(&container.name, Severity::Normal, "Started", "Container started".to_owned());
        Ok(id)
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

    pub(crate) fn container(&self, name: &str) -> Option<Container> {
        let spec = self.pod.spec.as_ref()?;
        let listed = containers(spec).find(|container| container.name == name).cloned();
        let debugging = || spec.ephemeral_containers.iter().flatten().find(|wanted| wanted.name == name);
        listed.or_else(|| debugging().map(as_container))
    }

    pub(crate) fn tell(&self, name: &str, severity: Severity, reason: &'static str, message: String) {
        self.tools.tell_of(&self.pod, part(&self.pod, name), severity, reason, message);
    }
}
