//! What a pod costs at least: its sandbox and its container, by nobody but the runtime.

use std::time::{Duration, Instant};

use kedge_runtime::wire::{
    ContainerConfig, ContainerMetadata, ImageSpec, PodSandboxConfig, PodSandboxMetadata,
};
use kedge_runtime::{Runtime, RuntimeError};

/// The runtime without anybody who drives it, and an image that it has.
pub(super) struct Bare {
    pub(super) runtime: Runtime,
    pub(super) image: String,
}

impl Bare {
    /// One pod, until it runs.
    pub(super) async fn one(&self, number: usize) -> Result<Duration, RuntimeError> {
        let (name, runtime) = (format!("bare-{number}"), &self.runtime);
        let metadata = PodSandboxMetadata {
            name: name.clone(),
            uid: name.clone(),
            namespace: "bare".to_owned(),
            ..PodSandboxMetadata::default()
        };
        let sandbox = PodSandboxConfig { metadata: Some(metadata), ..PodSandboxConfig::default() };
        let container = ContainerConfig {
            metadata: Some(ContainerMetadata { name: "main".to_owned(), ..ContainerMetadata::default() }),
            image: Some(ImageSpec { image: self.image.clone(), ..ImageSpec::default() }),
            ..ContainerConfig::default()
        };
        let begin = Instant::now();
        let id = runtime.run_sandbox(sandbox.clone(), "").await?;
        let main = runtime.create_container(&id, container, sandbox).await?;
        runtime.start_container(&main).await?;
        let took = begin.elapsed();
        runtime.stop_sandbox(&id).await?;
        runtime.remove_sandbox(&id).await?;
        Ok(took)
    }

    /// Many at once, until the last one runs.
    pub(super) async fn many(&self, count: usize) -> Result<Duration, RuntimeError> {
        let mut made = tokio::task::JoinSet::new();
        let begin = Instant::now();
        for number in 0..count {
            let bare = Self { runtime: self.runtime.clone(), image: self.image.clone() };
            made.spawn(async move { bare.one(number).await.map(|_| begin.elapsed()) });
        }
        let mut last = Duration::ZERO;
        while let Some(one) = made.join_next().await {
            last = last.max(one.unwrap_or(Ok(Duration::ZERO))?);
        }
        Ok(last)
    }
}
