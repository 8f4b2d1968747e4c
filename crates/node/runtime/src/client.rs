//! The calls of the Container Runtime Interface. Each has a time limit; none is tried twice.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use kedge_grpc::{CallError, Caller, Code};

use crate::error::RuntimeError;
use crate::wire::{
    AuthConfig, CgroupDriver, Container, ContainerConfig, ContainerFilter, ContainerId, ContainerStats,
    ContainerStatsFilter, ContainerStatus, ContainerStatusRequest, ContainerStatusResponse,
    CreateContainerRequest, Done, ExecSyncRequest, ExecSyncResponse, FilesystemUsage, Image,
    ImageFsInfoResponse, ImageSpec, ImageStatusRequest, ImageStatusResponse, LinuxContainerResources,
    ListContainerStatsRequest, ListContainerStatsResponse, ListContainersRequest, ListContainersResponse,
    ListImagesRequest, ListImagesResponse, ListPodSandboxRequest, ListPodSandboxResponse, PodSandbox,
    PodSandboxConfig, PodSandboxFilter, PodSandboxStatus, PodSandboxStatusRequest, PodSandboxStatusResponse,
    PullImageRequest, PullImageResponse, RemoveImageRequest, RunPodSandboxRequest, RuntimeConfigResponse,
    SandboxId, StatusRequest, StatusResponse, StopContainerRequest, UpdateContainerResourcesRequest,
    VersionRequest, VersionResponse,
};

const USUAL: Duration = Duration::from_secs(120);
/// What is only looked up is known at once, or the runtime hangs.
const QUICK: Duration = Duration::from_secs(10);
/// A runtime that does not say how it is within this is not well.
const STATUS: Duration = Duration::from_secs(10);
/// A sandbox waits for its network.
const SANDBOX: Duration = Duration::from_secs(240);
/// An image may be large and far away; a pull that stands still is the runtime's to end.
const PULL: Duration = Duration::from_secs(3600);

/// What is known of a container or a sandbox, and what the runtime says about it beyond the interface.
pub struct Told<S> {
    pub status: S,
    pub info: HashMap<String, String>,
}

/// Cheap to clone; clones share the connection.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) caller: Caller,
}

impl Runtime {
    /// Connects when it is first used. Needs a running tokio runtime.
    pub fn at(socket: &Path) -> Self {
        Self { caller: Caller::at(socket) }
    }

    pub async fn version(&self) -> Result<VersionResponse, RuntimeError> {
        self.caller
            .ask("/runtime.v1.RuntimeService/Version", VersionRequest { version: "v1".to_owned() }, USUAL)
            .await
            .map_err(RuntimeError::from)
    }

    pub async fn status(&self) -> Result<StatusResponse, RuntimeError> {
        self.caller
            .ask("/runtime.v1.RuntimeService/Status", StatusRequest { verbose: false }, STATUS)
            .await
            .map_err(RuntimeError::from)
    }

    /// Who makes the cgroups of containers, if the runtime is one that says so.
    pub async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        let path = "/runtime.v1.RuntimeService/RuntimeConfig";
        match self.caller.ask::<_, RuntimeConfigResponse>(path, Done {}, QUICK).await {
            Ok(told) => Ok(told.linux.map(|linux| linux.cgroup_driver())),
            // Older ones were never asked that.
            Err(CallError::Refused { code: Code::Unimplemented, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn run_sandbox(
        &self,
        config: PodSandboxConfig,
        runtime_handler: &str,
    ) -> Result<String, RuntimeError> {
        let request =
            RunPodSandboxRequest { config: Some(config), runtime_handler: runtime_handler.to_owned() };
        let made: SandboxId =
            self.caller.ask("/runtime.v1.RuntimeService/RunPodSandbox", request, SANDBOX).await?;
        Ok(made.pod_sandbox_id)
    }

    /// Ends everything in a sandbox and gives back its network. Doing it twice is doing it once.
    pub async fn stop_sandbox(&self, id: &str) -> Result<(), RuntimeError> {
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/StopPodSandbox", sandbox(id), SANDBOX).await?;
        Ok(())
    }

    pub async fn remove_sandbox(&self, id: &str) -> Result<(), RuntimeError> {
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/RemovePodSandbox", sandbox(id), USUAL).await?;
        Ok(())
    }

    pub async fn sandbox_status(
        &self,
        id: &str,
        verbose: bool,
    ) -> Result<Told<PodSandboxStatus>, RuntimeError> {
        let call = "PodSandboxStatus";
        let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), verbose };
        let answer: PodSandboxStatusResponse =
            self.caller.ask("/runtime.v1.RuntimeService/PodSandboxStatus", request, QUICK).await?;
        let status = answer.status.ok_or(RuntimeError::Incomplete { call, what: "a status" })?;
        Ok(Told { status, info: answer.info })
    }

    pub async fn sandboxes(&self, filter: PodSandboxFilter) -> Result<Vec<PodSandbox>, RuntimeError> {
        let request = ListPodSandboxRequest { filter: Some(filter) };
        let answer: ListPodSandboxResponse =
            self.caller.ask("/runtime.v1.RuntimeService/ListPodSandbox", request, QUICK).await?;
        Ok(answer.items)
    }

    /// `sandbox_config` must be the one that the sandbox was run with.
    pub async fn create_container(
        &self,
        sandbox: &str,
        config: ContainerConfig,
        sandbox_config: PodSandboxConfig,
    ) -> Result<String, RuntimeError> {
        let request = CreateContainerRequest {
            pod_sandbox_id: sandbox.to_owned(),
            config: Some(config),
            sandbox_config: Some(sandbox_config),
        };
        let made: ContainerId =
            self.caller.ask("/runtime.v1.RuntimeService/CreateContainer", request, USUAL).await?;
        Ok(made.container_id)
    }

    pub async fn start_container(&self, id: &str) -> Result<(), RuntimeError> {
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/StartContainer", container(id), USUAL).await?;
        Ok(())
    }

    /// Asks a container to end, and ends it when the grace is over.
    pub async fn stop_container(&self, id: &str, grace: Duration) -> Result<(), RuntimeError> {
        let timeout = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
        let request = StopContainerRequest { container_id: id.to_owned(), timeout };
        let Done {} = self
            .caller
            .ask("/runtime.v1.RuntimeService/StopContainer", request, grace.saturating_add(USUAL))
            .await?;
        Ok(())
    }

    pub async fn remove_container(&self, id: &str) -> Result<(), RuntimeError> {
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/RemoveContainer", container(id), USUAL).await?;
        Ok(())
    }

    pub async fn containers(&self, filter: ContainerFilter) -> Result<Vec<Container>, RuntimeError> {
        let request = ListContainersRequest { filter: Some(filter) };
        let answer: ListContainersResponse =
            self.caller.ask("/runtime.v1.RuntimeService/ListContainers", request, QUICK).await?;
        Ok(answer.containers)
    }

    pub async fn container_status(
        &self,
        id: &str,
        verbose: bool,
    ) -> Result<Told<ContainerStatus>, RuntimeError> {
        let call = "ContainerStatus";
        let request = ContainerStatusRequest { container_id: id.to_owned(), verbose };
        let answer: ContainerStatusResponse =
            self.caller.ask("/runtime.v1.RuntimeService/ContainerStatus", request, QUICK).await?;
        let status = answer.status.ok_or(RuntimeError::Incomplete { call, what: "a status" })?;
        Ok(Told { status, info: answer.info })
    }

    pub async fn update_container(
        &self,
        id: &str,
        resources: LinuxContainerResources,
    ) -> Result<(), RuntimeError> {
        let request = UpdateContainerResourcesRequest { container_id: id.to_owned(), linux: Some(resources) };
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/UpdateContainerResources", request, USUAL).await?;
        Ok(())
    }

    /// Makes the runtime write a container's log to its path anew, after the file was put aside.
    pub async fn reopen_log(&self, id: &str) -> Result<(), RuntimeError> {
        let Done {} =
            self.caller.ask("/runtime.v1.RuntimeService/ReopenContainerLog", container(id), USUAL).await?;
        Ok(())
    }

    /// Runs a command in a container and waits for it.
    pub async fn exec(
        &self,
        id: &str,
        command: Vec<String>,
        limit: Duration,
    ) -> Result<ExecSyncResponse, RuntimeError> {
        let timeout = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        let request = ExecSyncRequest { container_id: id.to_owned(), cmd: command, timeout };
        // The runtime ends the command; this limit is for a runtime that doesn't.
        self.caller
            .ask("/runtime.v1.RuntimeService/ExecSync", request, limit.saturating_add(Duration::from_secs(5)))
            .await
            .map_err(RuntimeError::from)
    }

    pub async fn stats(&self, filter: ContainerStatsFilter) -> Result<Vec<ContainerStats>, RuntimeError> {
        let request = ListContainerStatsRequest { filter: Some(filter) };
        let answer: ListContainerStatsResponse =
            self.caller.ask("/runtime.v1.RuntimeService/ListContainerStats", request, QUICK).await?;
        Ok(answer.stats)
    }

    pub async fn images(&self) -> Result<Vec<Image>, RuntimeError> {
        let answer: ListImagesResponse = self
            .caller
            .ask("/runtime.v1.ImageService/ListImages", ListImagesRequest { filter: None }, USUAL)
            .await?;
        Ok(answer.images)
    }

    /// An image that is on this node, or none.
    pub async fn image_status(&self, image: &str) -> Result<Option<Image>, RuntimeError> {
        let request = ImageStatusRequest { image: Some(ImageSpec::named(image)), verbose: false };
        let answer: ImageStatusResponse =
            self.caller.ask("/runtime.v1.ImageService/ImageStatus", request, QUICK).await?;
        Ok(answer.image)
    }

    /// Fetches an image and answers under what name it is kept.
    pub async fn pull(&self, image: &str, auth: Option<AuthConfig>) -> Result<String, RuntimeError> {
        let request = PullImageRequest { image: Some(ImageSpec::named(image)), auth, sandbox_config: None };
        let answer: PullImageResponse =
            self.caller.ask("/runtime.v1.ImageService/PullImage", request, PULL).await?;
        Ok(answer.image_ref)
    }

    pub async fn remove_image(&self, image: &str) -> Result<(), RuntimeError> {
        let request = RemoveImageRequest { image: Some(ImageSpec::named(image)) };
        let Done {} = self.caller.ask("/runtime.v1.ImageService/RemoveImage", request, USUAL).await?;
        Ok(())
    }

    pub async fn image_filesystems(&self) -> Result<Vec<FilesystemUsage>, RuntimeError> {
        let answer: ImageFsInfoResponse =
            self.caller.ask("/runtime.v1.ImageService/ImageFsInfo", Done {}, USUAL).await?;
        Ok(answer.image_filesystems)
    }
}

fn sandbox(id: &str) -> SandboxId {
    SandboxId { pod_sandbox_id: id.to_owned() }
}

fn container(id: &str) -> ContainerId {
    ContainerId { container_id: id.to_owned() }
}
