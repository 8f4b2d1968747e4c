//! Tells what runs which CPUs it has, whenever those change that everybody shares.

use std::time::Duration;

use kedge_runtime::RuntimeError;
use kedge_runtime::wire::{ContainerFilter, ContainerState, LinuxContainerResources};

use super::{CpuSet, Cpus};
use crate::spec::container::CONTAINER_NAME;
use crate::spec::sandbox::POD_UID;
use crate::tools::Tools;

/// A container that is being made during a change has what was shared before; so is looked once more, a while later.
const LOOKS: u8 = 2;
const AGAIN: Duration = Duration::from_secs(10);

impl Cpus {
    /// Until it is dropped.
    pub(crate) async fn keep(&self, tools: &Tools) {
        let Some(inner) = &self.inner else { return };
        let mut shared = inner.shared.subscribe();
        let mut looks = LOOKS;
        loop {
            if looks > 0 {
                looks -= 1;
                if let Err(error) = self.tell(tools).await {
                    tracing::warn!(%error, "cannot tell containers which CPUs they have");
                    looks = LOOKS;
                }
            }
            let again = async {
                match looks {
                    0 => std::future::pending().await,
                    _ => tools.clock.sleep(AGAIN).await,
                }
            };
            tokio::select! {
                changed = shared.changed() => match changed {
                    Ok(()) => looks = LOOKS,
                    Err(_) => return,
                },
                () = again => {}
            }
        }
    }

    async fn tell(&self, tools: &Tools) -> Result<(), RuntimeError> {
        for container in tools.runtime.containers(ContainerFilter::default()).await? {
            let labels = (container.labels.get(POD_UID), container.labels.get(CONTAINER_NAME));
            let (Some(uid), Some(name)) = labels else { continue };
            let Some(set) = self.of(uid, name).filter(|_| container.state() == ContainerState::Running)
            else {
                continue;
            };
            match tools.runtime.update_container(&container.id, bound(&set)).await {
                Err(error) if !error.is_absent() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Nothing but the CPUs: what is not said stays.
fn bound(set: &CpuSet) -> LinuxContainerResources {
    LinuxContainerResources { cpuset_cpus: set.to_string(), ..LinuxContainerResources::default() }
}
