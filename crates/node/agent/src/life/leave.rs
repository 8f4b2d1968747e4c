//! The end of a pod's life: what it held is given back, its last status stands in the API, and then it is gone.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kedge_client::Objects;
use kedge_runtime::RuntimeError;
use kedge_runtime::wire::{PodSandboxFilter, PodSandboxState};
use kube::api::{DeleteParams, Preconditions};

use super::{Life, later, name};
use crate::tools::Tools;

/// Between two tries to remove what is left of a pod that nobody knows any more, and how often it is tried. What is left then
/// is removed by whoever looks for strangers.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
const TRIES: usize = 30;

impl Life {
    /// Gives back what the pod held; its containers stay, for their logs.
    pub(super) async fn clear(&mut self, pod: &Pod) {
        if self.cleared {
            return;
        }
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        match self.volumes.release(uid).await {
            Ok(()) => self.cleared = true,
            Err(error) => tracing::warn!(pod = %name(pod), %error, "cannot give back a volume"),
        }
        self.tools.cgroups.remove(uid).await;
    }

    /// Tells the API that nothing of the pod runs any more. False if it has to be tried again.
    pub(super) async fn leave(&mut self, pod: &Pod) -> bool {
        self.cleared && self.reports.flush().await && self.delete(pod).await
    }

    /// Takes away the last traces but the pod's folders. False if something is left.
    pub(super) async fn remove_traces(&self, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        for _ in 0..TRIES {
            match remove_all(&self.tools, uid).await {
                Ok(()) => return true,
                Err(error) => {
                    tracing::debug!(pod = %name(pod), %error, "cannot remove what is left of a pod")
                }
            }
            self.tools.steady.until(later(self.tools.steady.now(), PAUSE)).await;
        }
        false
    }

    async fn delete(&self, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let pods = Objects::<Pod>::within(&self.tools.client, namespace);
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let deleted = pods.delete(pod.metadata.name.as_deref().unwrap_or_default(), &params).await;
        match deleted {
            Ok(()) => true,
            // It is gone already, or another one has its name.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => true,
            Err(error) => {
                tracing::debug!(pod = %name(pod), %error, "cannot tell that a pod is gone");
                false
            }
        }
    }
}

/// Everything that the runtime has of a pod.
pub(crate) async fn remove_all(tools: &Tools, uid: &str) -> Result<(), RuntimeError> {
    let label_selector = [(crate::spec::sandbox::POD_UID.to_owned(), uid.to_owned())].into();
    let filter = PodSandboxFilter { label_selector, ..PodSandboxFilter::default() };
    let fine = |outcome: Result<(), RuntimeError>| match outcome {
        Err(error) if !error.is_absent() => Err(error),
        _ => Ok(()),
    };
    for sandbox in tools.runtime.sandboxes(filter).await? {
        if sandbox.state() == PodSandboxState::Ready {
            fine(tools.runtime.stop_sandbox(&sandbox.id).await)?;
        }
        fine(tools.runtime.remove_sandbox(&sandbox.id).await)?;
    }
    tools.cgroups.remove(uid).await;
    Ok(())
}
