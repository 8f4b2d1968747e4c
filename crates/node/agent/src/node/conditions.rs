//! How the node is, in the words of its object. Decides and does nothing else.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_runtime::wire::{RuntimeCondition, RuntimeStatus};

use crate::board::{Notes, Pressure};

/// What the runtime last said of itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Runtime {
    Silent(String),
    Says(RuntimeStatus),
}

/// A condition, and the event that tells of its coming.
#[derive(Debug, PartialEq)]
struct Finding {
    type_: &'static str,
    status: bool,
    reason: &'static str,
    message: String,
    event: &'static str,
}

/// The conditions after what is found now, and what is new in them. With `remind` they are told although nothing is.
pub(super) fn conditions(
    before: &[NodeCondition],
    runtime: &Runtime,
    notes: &Notes,
    now: Timestamp,
    remind: bool,
) -> (Vec<NodeCondition>, Vec<&'static str>) {
    let mut conditions = before.to_vec();
    let mut events = Vec::new();
    let findings = pressure(notes.pressure).into_iter().chain([ready(runtime, notes)]);
    for found in findings {
        let status = if found.status { "True" } else { "False" };
        let mut new = NodeCondition {
            type_: found.type_.to_owned(),
            status: status.to_owned(),
            reason: Some(found.reason.to_owned()),
            message: Some(found.message),
            last_heartbeat_time: second(now),
            last_transition_time: second(now),
        };
        match conditions.iter_mut().find(|condition| condition.type_ == found.type_) {
            Some(old) if old.status == new.status => {
                new.last_transition_time.clone_from(&old.last_transition_time);
                if !remind && old.reason == new.reason && old.message == new.message {
                    new.last_heartbeat_time.clone_from(&old.last_heartbeat_time);
                }
                *old = new;
            }
            Some(old) => {
                *old = new;
                events.push(found.event);
            }
            None => {
                conditions.push(new);
                events.push(found.event);
            }
        }
    }
    (conditions, events)
}

/// What is wrong with the runtime. Some tell more of themselves than whether they are ready, which is not asked here.
pub(super) fn wrong(status: &RuntimeStatus) -> impl Iterator<Item = &RuntimeCondition> {
    let asked = |condition: &&RuntimeCondition| matches!(&*condition.r#type, "RuntimeReady" | "NetworkReady");
    status.conditions.iter().filter(asked).filter(|condition| !condition.status)
}

pub(super) fn is_ready(conditions: &[NodeCondition]) -> bool {
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn pressure(found: Pressure) -> [Finding; 3] {
    let finding = |type_, status, [yes, no]: [(&'static str, &'static str, &str); 2]| {
        let (reason, event, what) = if status { yes } else { no };
        Finding { type_, status, reason, message: format!("kubelet has {what}"), event }
    };
    [
        finding(
            "MemoryPressure",
            found.memory,
            [
                (
                    "KubeletHasInsufficientMemory",
                    "NodeHasInsufficientMemory",
                    "insufficient memory available",
                ),
                ("KubeletHasSufficientMemory", "NodeHasSufficientMemory", "sufficient memory available"),
            ],
        ),
        finding(
            "DiskPressure",
            found.disk,
            [
                ("KubeletHasDiskPressure", "NodeHasDiskPressure", "disk pressure"),
                ("KubeletHasNoDiskPressure", "NodeHasNoDiskPressure", "no disk pressure"),
            ],
        ),
        finding(
            "PIDPressure",
            found.pids,
            [
                ("KubeletHasInsufficientPID", "NodeHasInsufficientPID", "insufficient PID available"),
                ("KubeletHasSufficientPID", "NodeHasSufficientPID", "sufficient PID available"),
            ],
        ),
    ]
}

fn ready(runtime: &Runtime, notes: &Notes) -> Finding {
    let mut missing: Vec<String> = match runtime {
        Runtime::Silent(error) => vec![format!("container runtime is down: {error}")],
        Runtime::Says(status) => {
            let told = wrong(status).map(|condition| {
                let what = match &*condition.r#type {
                    "NetworkReady" => "container runtime network not ready: NetworkReady=false",
                    _ => "container runtime not ready: RuntimeReady=false",
                };
                format!("{what} reason:{} message:{}", condition.reason, condition.message)
            });
            told.collect()
        }
    };
    missing.extend(notes.troubles.values().cloned());
    match missing.is_empty() {
        true => Finding {
            type_: "Ready",
            status: true,
            reason: "KubeletReady",
            message: "kubelet is posting ready status".to_owned(),
            event: "NodeReady",
        },
        false => Finding {
            type_: "Ready",
            status: false,
            reason: "KubeletNotReady",
            // As lists of errors are written everywhere in Kubernetes.
            message: if missing.len() == 1 { missing.concat() } else { format!("[{}]", missing.join(", ")) },
            event: "NodeNotReady",
        },
    }
}

/// Kubernetes' times have whole seconds; what is read back must equal what was written.
fn second(moment: Timestamp) -> Option<Time> {
    Timestamp::from_second(moment.as_second()).ok().map(Time)
}

#[cfg(test)]
mod tests;
