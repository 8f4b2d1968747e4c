//! The status of each container: what it does now, what it did before, and why it isn't there yet.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, ContainerUser, PodSpec, VolumeMountStatus,
};
use kedge_runtime::wire::LinuxContainerUser;

use super::whole_second;
use crate::memory::Pause;
use crate::plan::{Situation, is_greeting, is_over, is_sidecar, restarts};
use crate::view::{Exit, Made, State};

/// All last words of a pod together may be so long.
const LAST_WORDS: usize = 12 << 10;

/// Where a container is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Init,
    Main,
    Debugging,
}

pub(super) fn statuses(
    situation: Situation<'_>,
    spec: &PodSpec,
    containers: &[&Container],
    part: Part,
) -> Vec<ContainerStatus> {
    containers.iter().map(|container| status(situation, spec, container, part)).collect()
}

fn status(situation: Situation<'_>, spec: &PodSpec, container: &Container, part: Part) -> ContainerStatus {
    let (view, memory) = (situation.view, situation.memory);
    let before = told(situation, &container.name, part);
    let latest = view.latest(&container.name);
    let state = state(situation, spec, container, latest, part);
    let ran_before = match (&state.waiting, latest) {
        // What waits to be made again was the newest.
        (Some(_), Some(made)) if made.exit().is_some() => Some(made),
        _ => view.previous(&container.name),
    };
    let words = words_each(spec);
    let last_state = ran_before.and_then(|made| Some(terminated(made, made.exit()?, words)));
    let last_state = last_state.or_else(|| remembered(before, latest));
    let running = latest.filter(|made| made.is_running() && state.running.is_some());
    let probed = running.and_then(|made| memory.probed.get(&made.id));
    let started = running
        .map(|_| probed.and_then(|probed| probed.started).unwrap_or(container.startup_probe.is_none()));
    let does_work = part == Part::Init && !is_sidecar(container);
    let ready = match (running, part) {
        // An init container is ready when it is done, and only then.
        (_, Part::Init) if does_work => state.terminated.as_ref().is_some_and(|ended| ended.exit_code == 0),
        (_, Part::Debugging) | (None, _) => false,
        (Some(_), _) => {
            let probed = probed.and_then(|probed| probed.ready);
            started == Some(true)
                && probed
                    .filter(|_| container.readiness_probe.is_some())
                    .unwrap_or(container.readiness_probe.is_none())
        }
    };
    let granted = memory.granted.get(&container.name);
    let applied = running.and_then(|made| memory.applied.get(&made.id)).or(granted);
    ContainerStatus {
        name: container.name.clone(),
        image: latest
            .map(|made| made.image.clone())
            .filter(|image| !image.is_empty())
            .or_else(|| container.image.clone())
            .unwrap_or_default(),
        image_id: latest.map(|made| made.image_id.clone()).unwrap_or_default(),
        container_id: latest.map(|made| format!("containerd://{}", made.id)),
        restart_count: latest.map_or_else(
            || before.map_or(0, |before| before.restart_count),
            |made| i32::try_from(made.attempt).unwrap_or(i32::MAX),
        ),
        ready,
        started: (part != Part::Debugging).then_some(started.unwrap_or(false)),
        // The API has it always.
        last_state: Some(last_state.unwrap_or_default()),
        state: Some(state),
        allocated_resources: granted
            .filter(|_| latest.is_some())
            .and_then(|granted| granted.requests.clone()),
        resources: applied.filter(|_| latest.is_some()).cloned(),
        volume_mounts: mounts(container),
        user: latest
            .and_then(|made| made.user.as_deref())
            .map(user)
            .or_else(|| before.and_then(|before| before.user.clone())),
        ..ContainerStatus::default()
    }
}

fn user(found: &LinuxContainerUser) -> ContainerUser {
    let groups = found.supplemental_groups.clone();
    let linux = k8s_openapi::api::core::v1::LinuxContainerUser {
        uid: found.uid,
        gid: found.gid,
        supplemental_groups: Some(groups).filter(|groups| !groups.is_empty()),
    };
    ContainerUser { linux: Some(linux) }
}

/// What was last said of a container.
fn told<'a>(situation: Situation<'a>, name: &str, part: Part) -> Option<&'a ContainerStatus> {
    let status = situation.pod.status.as_ref()?;
    let list = match part {
        Part::Init => &status.init_container_statuses,
        Part::Main => &status.container_statuses,
        Part::Debugging => &status.ephemeral_container_statuses,
    };
    list.iter().flatten().find(|told| told.name == name)
}

/// How a container of which nothing is left ended, as far as anybody knows.
fn remembered(before: Option<&ContainerStatus>, latest: Option<&Made>) -> Option<ContainerState> {
    let before = before?;
    let id = latest.map(|made| format!("containerd://{}", made.id));
    let state = before.state.as_ref().filter(|state| state.terminated.is_some() && before.container_id != id);
    let last = before.last_state.as_ref().filter(|state| state.terminated.is_some());
    if let Some(state) = state.or(last) {
        return Some(state.clone());
    }
    let ran = before.state.as_ref().is_some_and(|state| state.running.is_some());
    (ran && latest.is_none()).then(|| ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: 137,
            reason: Some("ContainerStatusUnknown".to_owned()),
            message: Some("The container could not be located when the pod was terminated".to_owned()),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    })
}

fn state(
    situation: Situation<'_>,
    spec: &PodSpec,
    container: &Container,
    latest: Option<&Made>,
    part: Part,
) -> ContainerState {
    let memory = situation.memory;
    let trouble = memory.troubles.get(&container.name).filter(|_| !is_over(situation));
    let trouble = trouble.map(|trouble| waiting(&trouble.reason, Some(trouble.message.clone())));
    let has_init = spec.init_containers.as_ref().is_some_and(|init| !init.is_empty());
    let usual = || {
        waiting(
            if has_init && part != Part::Debugging { "PodInitializing" } else { "ContainerCreating" },
            None,
        )
    };
    let Some(made) = latest else { return trouble.unwrap_or_else(usual) };
    match &made.state {
        // Nobody sees it run before its first hook is over.
        State::Running if is_greeting(memory, container) => usual(),
        State::Running => {
            let started_at = made.started_at.and_then(whole_second);
            ContainerState {
                running: Some(ContainerStateRunning { started_at }),
                ..ContainerState::default()
            }
        }
        State::Exited(exit) => {
            let again =
                part != Part::Debugging && !is_over(situation) && restarts(spec, container, exit.code);
            let pause = memory.pauses.get(&container.name).filter(|pause| pause.until > situation.steady);
            match (again, trouble, pause) {
                (true, Some(trouble), _) => trouble,
                (true, None, Some(pause)) => {
                    waiting("CrashLoopBackOff", Some(looping(situation, container, pause)))
                }
                _ => terminated(made, exit, words_each(spec)),
            }
        }
        State::Created | State::Unknown => trouble.unwrap_or_else(usual),
    }
}

fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn terminated(made: &Made, exit: &Exit, words: usize) -> ContainerState {
    let usual = if exit.code == 0 { "Completed" } else { "Error" };
    let reason = if exit.reason.is_empty() { usual } else { &exit.reason };
    let mut message = exit.message.clone();
    message.truncate(message.floor_char_boundary(words));
    let terminated = ContainerStateTerminated {
        exit_code: exit.code,
        reason: Some(reason.to_owned()),
        message: Some(message).filter(|message| !message.is_empty()),
        started_at: made.started_at.and_then(whole_second),
        finished_at: exit.at.and_then(whole_second),
        container_id: Some(format!("containerd://{}", made.id)),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

/// How much each container may leave behind in words.
fn words_each(spec: &PodSpec) -> usize {
    let init = spec.init_containers.as_ref().map_or(0, Vec::len);
    let debugging = spec.ephemeral_containers.as_ref().map_or(0, Vec::len);
    LAST_WORDS / (spec.containers.len() + init + debugging).max(1)
}

fn mounts(container: &Container) -> Option<Vec<VolumeMountStatus>> {
    let listed = container.volume_mounts.iter().flatten().map(|mount| {
        let wants = mount.recursive_read_only.as_deref();
        let whole = if matches!(wants, Some("Enabled" | "IfPossible")) { "Enabled" } else { "Disabled" };
        VolumeMountStatus {
            name: mount.name.clone(),
            mount_path: mount.mount_path.clone(),
            read_only: mount.read_only,
            recursive_read_only: (mount.read_only == Some(true)).then(|| whole.to_owned()),
            ..VolumeMountStatus::default()
        }
    });
    Some(listed.collect()).filter(|list: &Vec<_>| !list.is_empty())
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
