//! Ends what a pod has: containers, told beforehand if they want to be, and what is left of them.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Container, LifecycleHandler, ResourceRequirements};
use kedge_engine::Severity;
use kedge_runtime::RuntimeError;
use kedge_runtime::wire::{ContainerFilter, ContainerState, PodSandboxFilter, PodSandboxState};
use kedge_usage::UsageError;

use super::Work;
use crate::cgroups::TooLittle;
use crate::hooks::{HookError, run_hook};
use crate::plan::Why;
use crate::spec::container::CONTAINER_NAME;
use crate::spec::resources;
use crate::spec::sandbox::POD_UID;
use crate::view::Sandbox;

/// However little time there was, a container that is asked to end has this much to do it.
const LEAST: Duration = Duration::from_secs(2);

/// Other amounts for a container, or a pod as a whole, could not be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResizeError {
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("{0}: {cause}", cause = std::error::Error::source(.0).map(ToString::to_string).unwrap_or_default())]
    Cgroup(#[from] UsageError),
    #[error(transparent)]
    TooLittle(#[from] TooLittle),
}

impl Work {
    /// Ends a container: asks it first.
    pub(crate) async fn kill(
        &self,
        id: &str,
        name: &str,
        grace: SignedDuration,
        why: &Why,
        sandbox: Option<&Sandbox>,
    ) -> Result<(), RuntimeError> {
        let message = match why {
            Why::Unhealthy { probe, restarts } => {
                let comes_back = if *restarts { ", will be restarted" } else { "" };
                format!("Container {name} failed {} probe{comes_back}", probe.word())
            }
            Why::Changed => format!("Container {name} definition changed, will be restarted"),
            Why::Resized => format!("Container {name} resize requires restart, will be restarted"),
            Why::All => format!("Container {name} is stopped because all containers restart"),
            Why::Leaving | Why::Sandbox | Why::Unknown => format!("Stopping container {name}"),
        };
        let grace = Duration::try_from(grace).unwrap_or_default();
        // One that the pod does not list has no hooks either.
        let container = self
            .container(name)
            .unwrap_or_else(|| Container { name: name.to_owned(), ..Container::default() });
        let ip = sandbox.map(|sandbox| self.ip(sandbox)).unwrap_or_default();
        self.end(id, &container, &ip, grace, message).await
    }

    /// What a container is told before it ends and the end itself share one grace.
    pub(super) async fn end(
        &self,
        id: &str,
        container: &Container,
        ip: &str,
        grace: Duration,
        message: String,
    ) -> Result<(), RuntimeError> {
        self.tell(&container.name, Severity::Normal, "Killing", message);
        let begun = Instant::now();
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.as_ref());
        if let Some(hook) = hook.filter(|_| !grace.is_zero()) {
            let told = run_hook(&self.tools, id, container, hook, ip, grace);
            match tokio::time::timeout(grace, told).await {
                Ok(Ok(Some(fallback))) => {
                    let words = fallback.0;
                    self.tools.tell(&self.pod, Severity::Warning, "LifecycleHTTPFallback", words);
                }
                Ok(Ok(None)) | Err(_) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, container = %container.name, "a hook failed");
                    let words = "PreStopHook failed".to_owned();
                    self.tell(&container.name, Severity::Warning, "FailedPreStopHook", words);
                }
            }
        }
        let left = Duration::from_secs(grace.saturating_sub(begun.elapsed()).as_secs_f64().round() as u64);
        match self.tools.runtime.stop_container(id, left.max(LEAST)).await {
            Err(error) if error.is_absent() => Ok(()),
            outcome => outcome,
        }
    }

    /// As long as the pod gives its containers.
    pub(super) fn grace(&self) -> Duration {
        let seconds = self.pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        Duration::from_secs(seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(30))
    }

    pub(super) fn hook_message(
        &self,
        hook: &LifecycleHandler,
        container: &Container,
        error: &HookError,
    ) -> String {
        let pod = crate::life::name(&self.pod);
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        let rest =
            format!("for Container {:?} in Pod \"{pod}({uid})\" failed - error: {error}", container.name);
        if let Some(action) = &hook.exec {
            let command = action.command.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
            let said = match error {
                HookError::Exited { output, .. } => output.as_str(),
                _ => "",
            };
            return format!("Exec lifecycle hook ([{command}]) {rest}, message: {said:?}");
        }
        match &hook.http_get {
            Some(action) => {
                format!("HTTP lifecycle hook ({}) {rest}", action.path.as_deref().unwrap_or_default())
            }
            None => format!("Cannot run handler: {error}"),
        }
    }

    pub(crate) async fn stop_sandbox(&self, id: &str) -> Result<(), RuntimeError> {
        self.tools.runtime.stop_sandbox(id).await
    }

    /// A sandbox that ended by itself still has its network: a wire, an address, ports. It is kept for what its containers said, but these
    /// are given back before there is another.
    pub(crate) async fn stop_former_sandboxes(&self) -> Result<(), RuntimeError> {
        let label_selector = [(POD_UID.to_owned(), self.uid().to_owned())].into();
        let filter = PodSandboxFilter { label_selector, ..PodSandboxFilter::default() };
        for sandbox in self.tools.runtime.sandboxes(filter).await? {
            if sandbox.state() != PodSandboxState::Ready {
                self.stop_sandbox(&sandbox.id).await?;
            }
        }
        Ok(())
    }

    /// Tells a running container that it may have other amounts.
    pub(crate) async fn resize(
        &self,
        id: &str,
        name: &str,
        to: ResourceRequirements,
    ) -> Result<(), ResizeError> {
        let Some(container) = self.container(name) else { return Ok(()) };
        let container = Container { resources: Some(to), ..container };
        let resources = resources::of_container(&self.pod, &container, &self.tools.machine);
        self.check_room(id, resources.memory_limit_in_bytes)?;
        self.tools.cgroups.has_room_for_all(&self.pod)?;
        // The pod as a whole has to have room for more before, and can have less only afterwards.
        let before = self.tools.cgroups.make(&self.pod);
        self.tools.runtime.update_container(id, resources).await?;
        if let Err(error) = before.or_else(|_| self.tools.cgroups.make(&self.pod)) {
            tracing::debug!(%error, container = name, "cannot give a pod other limits");
        }
        Ok(())
    }

    /// Tells a pod as a whole that it may have other amounts, and with it those containers that have none of their own.
    pub(crate) async fn resize_all(&self) -> Result<(), ResizeError> {
        let (tools, pod) = (&self.tools, &self.pod);
        tools.cgroups.has_room_for_all(pod)?;
        // It has to have room for more before, and can have less only afterwards.
        let before = tools.cgroups.make(pod);
        let label_selector = [(POD_UID.to_owned(), self.uid().to_owned())].into();
        let mine = ContainerFilter { label_selector, ..ContainerFilter::default() };
        for made in tools.runtime.containers(mine).await? {
            let name = made.labels.get(CONTAINER_NAME).map(String::as_str).unwrap_or_default();
            let Some(container) = self.container(name) else { continue };
            if made.state() != ContainerState::Running {
                continue;
            }
            let resources = resources::of_container(pod, &container, &tools.machine);
            self.check_room(&made.id, resources.memory_limit_in_bytes)?;
            match tools.runtime.update_container(&made.id, resources).await {
                Err(error) if !error.is_absent() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(before.or_else(|_| tools.cgroups.make(pod))?)
    }

    /// Whether a container would live with this much memory; none is no limit.
    fn check_room(&self, id: &str, bytes: i64) -> Result<(), TooLittle> {
        let limit = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0);
        let path = self.tools.cgroups.container(&self.pod, id);
        limit.map_or(Ok(()), |bytes| self.tools.cgroups.has_room(&path, bytes))
    }

    /// Forgets containers, and those of their logs that nobody will ask for.
    pub(crate) async fn discard(&self, ids: &[String], name: &str, logs: &[u32]) -> Result<(), RuntimeError> {
        for id in ids {
            match self.tools.runtime.remove_container(id).await {
                Err(error) if !error.is_absent() => return Err(error),
                _ => {}
            }
        }
        for attempt in logs {
            self.tools.folders.remove_attempt(&self.pod, name, *attempt);
        }
        Ok(())
    }
}
