//! Which pods are here, and which of a runtime's containers are theirs.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kedge_runtime::wire::{
    Container, ContainerFilter, ContainerState, PodSandbox, PodSandboxFilter, PodSandboxState,
};
use kedge_runtime::{Runtime, RuntimeError};

pub(crate) const POD_NAME: &str = "io.kubernetes.pod.name";
pub(crate) const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
pub(crate) const POD_UID: &str = "io.kubernetes.pod.uid";
pub(crate) const CONTAINER_NAME: &str = "io.kubernetes.container.name";

/// The pods of this node, as they were last seen.
pub trait Pods: Send + Sync + 'static {
    fn all(&self) -> Vec<Arc<Pod>>;

    fn named(&self, namespace: &str, name: &str) -> Option<Arc<Pod>>;
}

pub(crate) fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

pub(crate) fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// The containers of one name in a pod that the runtime has, the newest first.
pub(crate) async fn containers(
    runtime: &Runtime,
    uid: &str,
    container: &str,
) -> Result<Vec<Container>, RuntimeError> {
    let label_selector = HashMap::from([
        (POD_UID.to_owned(), uid.to_owned()),
        (CONTAINER_NAME.to_owned(), container.to_owned()),
    ]);
    let filter = ContainerFilter { label_selector, ..ContainerFilter::default() };
    let mut found = runtime.containers(filter).await?;
    found.sort_by_key(|container| std::cmp::Reverse((attempt(container), container.created_at)));
    Ok(found)
}

pub(crate) fn attempt(container: &Container) -> u32 {
    container.metadata.as_ref().map_or(0, |metadata| metadata.attempt)
}

/// The one that runs.
pub(crate) async fn running(
    runtime: &Runtime,
    uid: &str,
    container: &str,
) -> Result<Option<String>, RuntimeError> {
    let found = containers(runtime, uid, container).await?;
    let running = found.into_iter().find(|container| container.state() == ContainerState::Running);
    Ok(running.map(|container| container.id))
}

/// The sandbox in which a pod's containers are now.
pub(crate) async fn sandbox(runtime: &Runtime, uid: &str) -> Result<Option<PodSandbox>, RuntimeError> {
    let label_selector = HashMap::from([(POD_UID.to_owned(), uid.to_owned())]);
    let filter = PodSandboxFilter { label_selector, ..PodSandboxFilter::default() };
    let found = runtime.sandboxes(filter).await?;
    let ready = found.into_iter().filter(|sandbox| sandbox.state() == PodSandboxState::Ready);
    Ok(ready.max_by_key(|sandbox| sandbox.created_at))
}

/// Whether the pod's spec names such a container, and whether that has a terminal.
pub(crate) fn has_terminal(pod: &Pod, container: &str) -> Option<bool> {
    let spec = pod.spec.as_ref()?;
    let listed = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let listed = listed.map(|one| (&one.name, one.tty));
    let debugging = spec.ephemeral_containers.iter().flatten().map(|one| (&one.name, one.tty));
    let found = listed.chain(debugging).find(|(name, _)| *name == container);
    found.map(|(_, tty)| tty == Some(true))
}
