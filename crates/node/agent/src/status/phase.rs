//! Where a pod is in its life, in one word.

use k8s_openapi::api::core::v1::{ContainerStatus, PodSpec};

use crate::plan::{Situation, is_sidecar};

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
    match before.and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => return told("Succeeded"),
        Some("Failed") => return told("Failed"),
        _ => {}
    }
    if let Some(verdict) = &situation.memory.verdict {
        return ("Failed", Some(verdict.reason.clone()), Some(verdict.message.clone()));
    }
    (by_containers(situation, spec, init, main), None, None)
}

fn by_containers(
    situation: Situation<'_>,
    spec: &PodSpec,
    init: &[ContainerStatus],
    main: &[ContainerStatus],
) -> &'static str {
    let policy = spec.restart_policy.as_deref().unwrap_or("Always");
    let (mut pending, mut failed) = (false, false);
    for (status, container) in init.iter().zip(spec.init_containers.iter().flatten()) {
        let ended = status.state.as_ref().and_then(|state| state.terminated.as_ref());
        match ended {
            _ if is_sidecar(container) => pending |= status.started != Some(true) && ended.is_none(),
            Some(ended) if ended.exit_code == 0 => {}
            Some(_) => {
                failed = true;
                pending = true;
            }
            None => pending = true,
        }
    }
    if failed && policy == "Never" {
        return "Failed";
    }
    let state = |status: &ContainerStatus| status.state.clone().unwrap_or_default();
    let running = main.iter().filter(|status| state(status).running.is_some()).count();
    let ended = |status: &ContainerStatus| state(status).terminated;
    let stopped = main
        .iter()
        .filter(|status| {
            ended(status).is_some() || state(status).waiting.is_some() && status.last_state.is_some()
        })
        .count();
    let fine = main.iter().filter(|status| ended(status).is_some_and(|ended| ended.exit_code == 0)).count();
    let waiting = main.len() - running - stopped;
    if pending && running + stopped == 0 {
        return "Pending";
    }
    let leaving = situation.pod.metadata.deletion_timestamp.is_some();
    match (waiting, running, stopped) {
        (1.., _, _) if !leaving => "Pending",
        (_, 1.., _) => "Running",
        (_, 0, 0) => "Pending",
        // Everything has ended. What comes back counts as running.
        _ if fine == main.len() && (policy != "Always" || leaving) => "Succeeded",
        _ if policy == "Never" || leaving => "Failed",
        _ => "Running",
    }
}
