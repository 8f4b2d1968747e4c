//! Where a pod is in its life, in one word.

use k8s_openapi::api::core::v1::{Container, ContainerStateTerminated, ContainerStatus, PodSpec};

use crate::plan::{Situation, is_sidecar, restarts};

/// The phase, and a reason and message where there is more to say.
pub(super) fn phase(
    situation: Situation<'_>,
    spec: &PodSpec,
    init: &[ContainerStatus],
    main: &[ContainerStatus],
) -> (&'static str, Option<String>, Option<String>) {
    let before = situation.pod.status.as_ref();
    let told = |phase| {
        let reason = before.and_then(|status| status.reason.clone());
        let message = before.and_then(|status| status.message.clone());
        (phase, reason, message)
    };
    // What has ended stays ended.
    let known = before.and_then(|status| status.phase.as_deref());
    match known {
        Some("Succeeded") => return told("Succeeded"),
        Some("Failed") => return told("Failed"),
        _ => {}
    }
    // As long as something runs, nothing has ended: whoever waits for the end counts on that.
    let runs = situation.view.running().next().is_some();
    let still = if known == Some("Running") || runs { "Running" } else { "Pending" };
    if let Some(verdict) = &situation.memory.verdict {
        if runs {
            return (still, None, None);
        }
        return ("Failed", Some(verdict.reason.clone()), Some(verdict.message.clone()));
    }
    match by_containers(situation, spec, init, main) {
        "Succeeded" | "Failed" if runs => (still, None, None),
        phase => (phase, None, None),
    }
}

fn ended(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref()?.terminated.as_ref()
}

/// How it ended last, if it waits to be made again.
fn ended_before(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref()?.waiting.as_ref()?;
    status.last_state.as_ref()?.terminated.as_ref()
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

fn by_containers(
    situation: Situation<'_>,
    spec: &PodSpec,
    init: &[ContainerStatus],
    main: &[ContainerStatus],
) -> &'static str {
    let leaving = situation.pod.metadata.deletion_timestamp.is_some();
    let listed: Vec<(&ContainerStatus, &Container)> =
        init.iter().zip(spec.init_containers.iter().flatten()).collect();
    let (mut opening, mut waiting, mut running) = (false, 0, 0);
    for (status, container) in listed {
        let end = ended(status).or_else(|| ended_before(status));
        match end {
            _ if is_sidecar(container) => {
                if is_running(status) {
                    running += 1;
                    opening |= status.started != Some(true);
                } else if end.is_none() {
                    waiting += 1;
                }
            }
            Some(end) if end.exit_code != 0 => {
                if !restarts(spec, container, end.exit_code) {
                    return "Failed";
                }
                opening = true;
            }
            Some(_) => {}
            None => opening = true,
        }
    }
    let (mut stopped, mut final_, mut fine) = (0, 0, 0);
    for (status, container) in main.iter().zip(&spec.containers) {
        let now = ended(status);
        match now.or_else(|| ended_before(status)) {
            _ if is_running(status) => running += 1,
            Some(end) => {
                stopped += 1;
                final_ += usize::from(!restarts(spec, container, end.exit_code));
                fine += usize::from(now.is_some_and(|end| end.exit_code == 0));
            }
            None => waiting += 1,
        }
    }
    let has_begun = main.iter().any(|status| is_running(status) || ended(status).is_some());
    match (waiting, running, stopped) {
        _ if opening && !has_begun => "Pending",
        (1.., _, _) if !leaving || stopped == 0 => "Pending",
        (_, 1.., _) => "Running",
        (_, 0, 0) => "Pending",
        // Everything has ended. What comes back counts as running.
        _ if final_ < stopped && !leaving => "Running",
        _ if fine == main.len() => "Succeeded",
        _ => "Failed",
    }
}
