//! The status of each container: what it does now, what it did before, and why it isn't there yet.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, PodSpec,
};

use super::whole_second;
use crate::memory::Pause;
use crate::plan::{Situation, is_over, is_sidecar, restarts};
use crate::view::{Exit, Made, State};

pub(super) fn statuses(
    situation: Situation<'_>,
    spec: &PodSpec,
    containers: &[&Container],
) -> Vec<ContainerStatus> {
    containers.iter().map(|container| status(situation, spec, container)).collect()
}

fn status(situation: Situation<'_>, spec: &PodSpec, container: &Container) -> ContainerStatus {
    let view = situation.view;
    let latest = view.latest(&container.name);
    let state = state(situation, spec, container, latest);
    let ran_before = match (&state.waiting, latest) {
        // What waits to be made again was the newest.
        (Some(_), Some(made)) => Some(made),
        _ => view.previous(&container.name),
    };
    let running = latest.filter(|made| made.is_running());
    let probed = running.and_then(|made| situation.memory.probed.get(&made.id));
    let started = running
        .map(|_| probed.and_then(|probed| probed.started).unwrap_or(container.startup_probe.is_none()));
    let is_init = spec.init_containers.iter().flatten().any(|init| init.name == container.name);
    let ready = match running {
        // An init container is ready when it is done, and only then.
        Some(_) if is_init && !is_sidecar(container) => false,
        Some(_) => {
            let probed = probed.and_then(|probed| probed.ready);
            started == Some(true) && probed.unwrap_or(container.readiness_probe.is_none())
        }
        None => {
            is_init
                && !is_sidecar(container)
                && state.terminated.as_ref().is_some_and(|ended| ended.exit_code == 0)
        }
    };
    ContainerStatus {
        name: container.name.clone(),
        image: latest
            .map(|made| made.image.clone())
            .filter(|image| !image.is_empty())
            .or_else(|| container.image.clone())
            .unwrap_or_default(),
        image_id: latest.map(|made| made.image_id.clone()).unwrap_or_default(),
        container_id: latest.map(|made| format!("containerd://{}", made.id)),
        restart_count: latest.map_or(0, |made| i32::try_from(made.attempt).unwrap_or(i32::MAX)),
        ready: ready && (is_init || !is_over(situation)),
        started: Some(started.unwrap_or(false)),
        last_state: ran_before.and_then(|made| Some(terminated(made, made.exit()?))),
        state: Some(state),
        ..ContainerStatus::default()
    }
}

fn state(
    situation: Situation<'_>,
    spec: &PodSpec,
    container: &Container,
    latest: Option<&Made>,
) -> ContainerState {
    let memory = situation.memory;
    if let Some(made) = latest {
        match &made.state {
            State::Running => {
                let started_at = made.started_at.and_then(whole_second);
                return ContainerState {
                    running: Some(ContainerStateRunning { started_at }),
                    ..ContainerState::default()
                };
            }
            State::Exited(exit) => {
                let again = !is_over(situation) && restarts(spec, container, exit.code);
                let pause = memory.pauses.get(&container.name).filter(|pause| pause.until > situation.now);
                return match (again, pause) {
                    (true, Some(pause)) => {
                        waiting("CrashLoopBackOff", Some(looping(situation, container, pause)))
                    }
                    _ => terminated(made, exit),
                };
            }
            State::Created | State::Unknown => {}
        }
    }
    if is_over(situation) && latest.is_none() && situation.pod.metadata.deletion_timestamp.is_none() {
        return waiting("PodInitializing", None);
    }
    if let Some(trouble) = memory.troubles.get(&container.name) {
        return waiting(&trouble.reason, Some(trouble.message.clone()));
    }
    let is_init = spec.init_containers.iter().flatten().any(|init| init.name == container.name);
    let has_init = spec.init_containers.as_ref().is_some_and(|init| !init.is_empty());
    waiting(if has_init || is_init { "PodInitializing" } else { "ContainerCreating" }, None)
}

fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn terminated(made: &Made, exit: &Exit) -> ContainerState {
    let usual = if exit.code == 0 { "Completed" } else { "Error" };
    let reason = if exit.reason.is_empty() { usual } else { &exit.reason };
    let terminated = ContainerStateTerminated {
        exit_code: exit.code,
        reason: Some(reason.to_owned()),
        message: Some(exit.message.clone()).filter(|message| !message.is_empty()),
        started_at: made.started_at.and_then(whole_second),
        finished_at: exit.at.and_then(whole_second),
        container_id: Some(format!("containerd://{}", made.id)),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

/// In the words that people search for.
fn looping(situation: Situation<'_>, container: &Container, pause: &Pause) -> String {
    let meta = &situation.pod.metadata;
    let seconds = pause.length.as_secs();
    let length = match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    };
    format!(
        "back-off {length} restarting failed container={} pod={}_{}({})",
        container.name,
        meta.name.as_deref().unwrap_or_default(),
        meta.namespace.as_deref().unwrap_or_default(),
        meta.uid.as_deref().unwrap_or_default(),
    )
}
