//! Removes sandboxes that ended and that their pods have replaced, once nothing is in them. What is gone with its pod is not
//! its business, nor are containers: a pod's life sweeps those.

use kedge_runtime::wire::{ContainerFilter, PodSandbox, PodSandboxFilter, PodSandboxState};

use crate::spec::sandbox::POD_UID;
use crate::tools::Tools;

pub(crate) async fn tidy(tools: &Tools) {
    let Ok(sandboxes) = tools.runtime.sandboxes(PodSandboxFilter::default()).await else { return };
    if replaced(&sandboxes).is_empty() {
        return;
    }
    // Asked after the sandboxes: what is put into one meanwhile is seen.
    let Ok(containers) = tools.runtime.containers(ContainerFilter::default()).await else { return };
    for id in replaced(&sandboxes) {
        if containers.iter().any(|container| container.pod_sandbox_id == id) {
            continue;
        }
        if let Err(error) = tools.runtime.remove_sandbox(id).await {
            tracing::debug!(id, %error, "cannot remove an old sandbox");
        }
    }
}

/// Those that ended and are not their pod's last.
fn replaced(sandboxes: &[PodSandbox]) -> Vec<&str> {
    let pod = |sandbox: &PodSandbox| sandbox.labels.get(POD_UID).cloned();
    let has_newer = |one: &PodSandbox| {
        sandboxes.iter().any(|other| pod(other) == pod(one) && other.created_at > one.created_at)
    };
    let over = sandboxes.iter().filter(|one| one.state() != PodSandboxState::Ready && pod(one).is_some());
    over.filter(|one| has_newer(one)).map(|one| &*one.id).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn of_each_pod_the_last_sandbox_stays() {
        let sandbox = |pod: &str, number: i64, state: PodSandboxState| PodSandbox {
            id: format!("{pod}{number}"),
            state: state.into(),
            created_at: number,
            labels: HashMap::from([(POD_UID.to_owned(), pod.to_owned())]),
            ..PodSandbox::default()
        };
        let (over, ready) = (PodSandboxState::NotReady, PodSandboxState::Ready);
        let mut all = vec![
            sandbox("a", 1, over),
            sandbox("a", 2, ready),
            sandbox("a", 3, ready),
            sandbox("b", 1, over),
        ];
        assert_eq!(replaced(&all), ["a1"]);
        // What is nobody's pod is not ours.
        all.iter_mut().for_each(|one| one.labels.clear());
        assert!(replaced(&all).is_empty());
    }
}
