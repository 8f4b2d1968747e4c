//! Which of a container's lives is meant: the one that runs or ran last, or the one before. Says in the words that people know
//! why there is none. Pure.

use k8s_openapi::api::core::v1::{ContainerStatus, PodStatus};
use kedge_runtime::wire::{Container, ContainerState};

/// The container's id. `made` are those that the runtime has, the newest first.
pub(super) fn choose(
    pod: &str,
    status: &PodStatus,
    container: &str,
    made: &[Container],
    previous: bool,
) -> Result<String, String> {
    let told = find(status, container);
    let last = told.and_then(|told| told.last_state.as_ref()?.terminated.as_ref());
    let last = last.and_then(|ended| ended.container_id.clone()).filter(|id| !id.is_empty());
    if previous {
        let absent = || format!("previous terminated container {container:?} in pod {pod:?} not found");
        // While one runs, the one before it is whichever ended last, whatever the status has heard of.
        let runs = made.first().is_some_and(|made| made.state() == ContainerState::Running);
        let ended = made.iter().find(|made| made.state() == ContainerState::Exited).filter(|_| runs);
        return ended.map(|ended| ended.id.clone()).or(last).ok_or_else(absent);
    }
    // The runtime knows first what became of a container; the status follows.
    let started = made.iter().find(|made| {
        matches!(made.state(), ContainerState::Running | ContainerState::Exited | ContainerState::Unknown)
    });
    if let Some(started) = started {
        return Ok(started.id.clone());
    }
    let Some(told) = told else {
        return Err(format!("container {container:?} in pod {pod:?} is not available"));
    };
    let state = told.state.clone().unwrap_or_default();
    let named = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
    if state.running.is_some()
        && let Some(id) = named(&told.container_id)
    {
        return Ok(id);
    }
    if let Some(ended) = &state.terminated {
        let ended_as = || format!("container {container:?} in pod {pod:?} is terminated");
        return named(&ended.container_id).or(last).ok_or_else(ended_as);
    }
    if let Some(last) = last {
        return Ok(last);
    }
    let waits = |why: &str| format!("container {container:?} in pod {pod:?} is waiting to start{why}");
    Err(match state.waiting.map(|waiting| waiting.reason.unwrap_or_default()) {
        Some(reason) => match reason.as_str() {
            "ErrImagePull" => waits(": image can't be pulled"),
            "ImagePullBackOff" => waits(": trying and failing to pull image"),
            reason => waits(&format!(": {reason}")),
        },
        None => waits(" - no logs yet"),
    })
}

fn find<'a>(status: &'a PodStatus, container: &str) -> Option<&'a ContainerStatus> {
    let lists =
        [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses];
    lists.into_iter().flatten().flatten().find(|told| told.name == container)
}
