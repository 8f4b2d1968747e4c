//! The conditions that a node answers for: whether a pod can start, has started, and is ready.

use k8s_openapi::api::core::v1::{ContainerStatus, PodCondition, PodSpec};

use super::whole_second;
use crate::plan::{Situation, all_again, is_sidecar, may_all_restart};

/// Ours in the place of what was said before; what others say stays.
pub(super) fn conditions(
    situation: Situation<'_>,
    spec: &PodSpec,
    phase: &str,
    init: &[ContainerStatus],
    main: &[ContainerStatus],
) -> Vec<PodCondition> {
    let before = situation.pod.status.as_ref().and_then(|status| status.conditions.clone());
    let mut all = before.unwrap_or_default();
    let containers = containers_ready(spec, phase, init, main);
    let gates = gates(&all, spec);
    let ready = match (&containers, gates) {
        (Said { holds: true, .. }, Some(missing)) => Said::no("ReadinessGatesNotReady", missing),
        _ => containers.clone(),
    };
    let can_start = situation.view.ready_sandbox().is_some();
    let scheduled = ("PodScheduled", Said::yes(None));
    let known = all.iter().any(|condition| condition.type_ == scheduled.0);
    let own = [
        ("PodReadyToStartContainers", if can_start { Said::yes(None) } else { Said::bare() }),
        ("Initialized", initialized(situation, spec, phase, init)),
        ("Ready", ready),
        ("ContainersReady", containers),
    ];
    let restarting =
        may_all_restart(spec).then(|| ("AllContainersRestarting", restarting(situation, spec, phase)));
    // Whoever was turned away was never there to be disturbed.
    let condemned = situation.memory.verdict.as_ref().filter(|verdict| verdict.grace.is_some());
    let target = condemned.map(|verdict| {
        let message = Some(verdict.message.clone());
        ("DisruptionTarget", Said { holds: true, reason: Some("TerminationByKubelet".to_owned()), message })
    });
    resizes(situation, &mut all);
    let own = own.into_iter().chain((!known).then_some(scheduled)).chain(restarting).chain(target);
    for (type_, said) in own {
        let new = PodCondition {
            type_: type_.to_owned(),
            status: if said.holds { "True" } else { "False" }.to_owned(),
            reason: said.reason,
            message: said.message,
            last_transition_time: whole_second(situation.now),
            observed_generation: situation.pod.metadata.generation,
            ..PodCondition::default()
        };
        match all.iter_mut().find(|condition| condition.type_ == type_) {
            Some(old) => {
                let since = (old.status == new.status).then(|| old.last_transition_time.clone()).flatten();
                let moment = since.or_else(|| new.last_transition_time.clone());
                *old = PodCondition { last_transition_time: moment, ..new };
            }
            None => all.push(new),
        }
    }
    all
}

/// What the pod asked for and does not have yet: each condition stands only for as long as there is something to say.
fn resizes(situation: Situation<'_>, all: &mut Vec<PodCondition>) {
    let memory = situation.memory;
    let pending = memory.pending.as_ref().map(|pending| {
        let said = (Some(pending.reason.to_owned()), Some(pending.message.clone()));
        ("PodResizePending", said, pending.generation)
    });
    let under_way = memory.resizing.map(|generation| {
        let trouble = memory.unapplied.as_ref();
        let said = (trouble.map(|_| "Error".to_owned()), trouble.map(|trouble| trouble.message.clone()));
        ("PodResizeInProgress", said, generation)
    });
    let new: Vec<_> = [pending, under_way].into_iter().flatten().collect();
    let own = ["PodResizePending", "PodResizeInProgress"];
    all.retain(|condition| {
        !own.contains(&&*condition.type_) || new.iter().any(|(type_, ..)| *type_ == condition.type_)
    });
    for (type_, (reason, message), observed_generation) in new {
        let old = all.iter().position(|condition| condition.type_ == type_);
        let since = old.and_then(|at| all.get(at)).and_then(|old| old.last_transition_time.clone());
        let condition = PodCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            reason,
            message,
            last_transition_time: since.or_else(|| whole_second(situation.now)),
            observed_generation,
            ..PodCondition::default()
        };
        match old.and_then(|at| all.get_mut(at)) {
            Some(old) => *old = condition,
            None => all.push(condition),
        }
    }
}

fn restarting(situation: Situation<'_>, spec: &PodSpec, phase: &str) -> Said {
    match phase {
        "Succeeded" => Said::no("PodCompleted", String::new()),
        "Failed" => Said::no("PodFailed", String::new()),
        _ if all_again(situation, spec).is_none() => Said::bare(),
        _ => Said {
            holds: true,
            reason: Some("RestartAllContainersStarted".to_owned()),
            message: Some("container exited with restart policy rule".to_owned()),
        },
    }
}

/// Whether something holds, and why not.
#[derive(Clone, Debug)]
struct Said {
    holds: bool,
    reason: Option<String>,
    message: Option<String>,
}

impl Said {
    fn yes(reason: Option<&str>) -> Self {
        Self { holds: true, reason: reason.map(str::to_owned), message: None }
    }

    fn no(reason: &str, message: String) -> Self {
        let message = Some(message).filter(|message| !message.is_empty());
        Self { holds: false, reason: Some(reason.to_owned()), message }
    }

    fn bare() -> Self {
        Self { holds: false, reason: None, message: None }
    }
}

fn initialized(situation: Situation<'_>, spec: &PodSpec, phase: &str, init: &[ContainerStatus]) -> Said {
    if phase == "Succeeded" {
        return Said::yes(Some("PodCompleted"));
    }
    let past = situation
        .view
        .containers
        .iter()
        .any(|made| spec.containers.iter().any(|container| container.name == made.name));
    let open = init.iter().zip(spec.init_containers.iter().flatten()).filter(|(status, container)| {
        let done =
            if is_sidecar(container) { status.started == Some(true) || past } else { status.ready || past };
        !done
    });
    let open: Vec<&str> = open.map(|(status, _)| &*status.name).collect();
    if open.is_empty() {
        return Said::yes(None);
    }
    Said::no("ContainersNotInitialized", format!("containers with incomplete status: [{}]", open.join(" ")))
}

fn containers_ready(spec: &PodSpec, phase: &str, init: &[ContainerStatus], main: &[ContainerStatus]) -> Said {
    match phase {
        "Succeeded" => return Said::no("PodCompleted", String::new()),
        "Failed" => return Said::no("PodFailed", String::new()),
        _ => {}
    }
    let sidecars = init.iter().zip(spec.init_containers.iter().flatten());
    let sidecars = sidecars.filter(|(_, container)| is_sidecar(container)).map(|(status, _)| status);
    let open: Vec<&str> =
        sidecars.chain(main).filter(|status| !status.ready).map(|status| &*status.name).collect();
    if open.is_empty() {
        return Said::yes(None);
    }
    Said::no("ContainersNotReady", format!("containers with unready status: [{}]", open.join(" ")))
}

/// What stands between ready containers and a ready pod.
fn gates(conditions: &[PodCondition], spec: &PodSpec) -> Option<String> {
    let missing = spec.readiness_gates.iter().flatten().filter_map(|gate| {
        let wanted = &gate.condition_type;
        match conditions.iter().find(|condition| condition.type_ == *wanted) {
            None => {
                Some(format!("corresponding condition of pod readiness gate \"{wanted}\" does not exist."))
            }
            Some(condition) if condition.status == "True" => None,
            Some(condition) => Some(format!(
                "the status of pod readiness gate \"{wanted}\" is not \"True\", but {}",
                condition.status
            )),
        }
    });
    let missing: Vec<String> = missing.collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}
