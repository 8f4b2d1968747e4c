//! A pod's containers from one moment to the next: who runs, who has ended, who starts again and when. Writes nothing.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::script::{EXIT_CODE, RUN_FOR, number};
use crate::shell::{Marks, Program, Run, run};

const FIRST_BACK_OFF: i64 = 10;
const LONGEST_BACK_OFF: i64 = 300;

/// A container that has just begun.
pub(crate) fn begun(container: &Container, restarts: i32, now: Timestamp) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: format!("scripted/{}", container.image.as_deref().unwrap_or_default()),
        container_id: Some(format!("scripted://{}-{restarts}", container.name)),
        ready: true,
        started: Some(true),
        restart_count: restarts,
        state: Some(ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(now)) }),
            ..ContainerState::default()
        }),
        ..ContainerStatus::default()
    }
}

/// A container that never begins, and why.
pub(crate) fn waiting(container: &Container, reason: &str, message: &str) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        ready: false,
        started: Some(false),
        state: Some(waits(reason, message)),
        ..ContainerStatus::default()
    }
}

fn waits(reason: &str, message: &str) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
        }),
        ..ContainerState::default()
    }
}

pub(crate) fn ended(status: &ContainerStatus, code: i32, now: Timestamp) -> ContainerStatus {
    let running = status.state.as_ref().and_then(|state| state.running.as_ref());
    let reason = if code == 0 { "Completed" } else { "Error" };
    ContainerStatus {
        ready: false,
        started: Some(false),
        state: Some(ContainerState {
            terminated: Some(ContainerStateTerminated {
                exit_code: code,
                reason: Some(reason.to_owned()),
                started_at: running.and_then(|running| running.started_at.clone()),
                finished_at: Some(Time(now)),
                container_id: status.container_id.clone(),
                ..ContainerStateTerminated::default()
            }),
            ..ContainerState::default()
        }),
        ..status.clone()
    }
}

pub(crate) fn exit_code(status: &ContainerStatus) -> Option<i32> {
    Some(status.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// What a container is now and when it changes next.
pub(crate) fn next(
    pod: &Pod,
    container: &Container,
    status: &ContainerStatus,
    run: Run,
    now: Timestamp,
) -> (ContainerStatus, Option<Timestamp>) {
    let state = status.state.clone().unwrap_or_default();
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    if let Some(running) = &state.running {
        let begun = running.started_at.as_ref().map_or(now, |time| time.0);
        let Some(seconds) = run.seconds else { return (status.clone(), None) };
        let end = after(begun, seconds);
        if now < end {
            return (status.clone(), Some(end));
        }
        let over = ended(status, run.code, now);
        if !starts_again(pod, run.code) {
            return (over, None);
        }
        // The first time it starts again at once.
        if status.restart_count == 0 {
            let again = ContainerStatus { last_state: over.state, ..begun_again(container, status, now) };
            return (again, run.seconds.map(|seconds| after(now, seconds)));
        }
        let message = format!("back-off restarting failed container={}", container.name);
        let held = ContainerStatus {
            last_state: over.state.clone(),
            state: Some(waits("CrashLoopBackOff", &message)),
            ..over
        };
        return (held, Some(after(now, back_off(status.restart_count))));
    }
    if state.waiting.is_some()
        && let Some(last) = last
    {
        let from = last.finished_at.as_ref().map_or(now, |time| time.0);
        let moment = after(from, back_off(status.restart_count));
        if now < moment {
            return (status.clone(), Some(moment));
        }
        let again = begun_again(container, status, now);
        let again = ContainerStatus { last_state: status.last_state.clone(), ..again };
        return (again, run.seconds.map(|seconds| after(now, seconds)));
    }
    (status.clone(), None)
}

fn begun_again(container: &Container, status: &ContainerStatus, now: Timestamp) -> ContainerStatus {
    begun(container, status.restart_count + 1, now)
}

fn back_off(restarts: i32) -> i64 {
    let doubled = u32::try_from(restarts - 1).unwrap_or(0).min(5);
    (FIRST_BACK_OFF << doubled).min(LONGEST_BACK_OFF)
}

pub(crate) fn after(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

fn starts_again(pod: &Pod, code: i32) -> bool {
    match policy(pod) {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

pub(crate) fn policy(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always")
}

/// What the next run of a container will be: what the pod's annotations say, else what its program says.
pub(crate) fn plan_run(pod: &Pod, container: &Container, restarts: i32, marks: &mut Marks) -> Run {
    let (seconds, code) = (number::<i64>(pod, RUN_FOR), number::<i32>(pod, EXIT_CODE));
    if seconds.is_some() || code.is_some() {
        return Run { seconds: Some(seconds.unwrap_or(0)), code: code.unwrap_or(0) };
    }
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let shared = volumes.filter_map(|volume| volume.host_path.as_ref()).map(|path| path.path.as_str()).next();
    let variables: Vec<(String, String)> = container
        .env
        .iter()
        .flatten()
        .filter_map(|variable| {
            let value = variable.value.clone().or_else(|| from_annotation(pod, variable))?;
            Some((variable.name.clone(), value))
        })
        .collect();
    let program = Program {
        image: container.image.as_deref().unwrap_or_default(),
        words: words(container),
        variables: &variables,
        place: shared.unwrap_or(uid),
        dice: uid.bytes().fold(u64::try_from(restarts).unwrap_or(0), |sum, byte| sum + u64::from(byte)),
        restarts: policy(pod) == "Always",
    };
    run(&program, marks)
}

pub(crate) fn words(container: &Container) -> Vec<&str> {
    container.command.iter().flatten().chain(container.args.iter().flatten()).map(String::as_str).collect()
}

fn from_annotation(pod: &Pod, variable: &k8s_openapi::api::core::v1::EnvVar) -> Option<String> {
    let path = &variable.value_from.as_ref()?.field_ref.as_ref()?.field_path;
    let quoted = |list: &str| path.strip_prefix(list)?.strip_suffix("']").map(str::to_owned);
    if let Some(name) = quoted("metadata.annotations['") {
        return pod.metadata.annotations.as_ref()?.get(&name).cloned();
    }
    let name = quoted("metadata.labels['")?;
    pod.metadata.labels.as_ref()?.get(&name).cloned()
}
