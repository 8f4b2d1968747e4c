//! Looks after the containers of a sandbox: what runs wrongly is ended, what ended comes back, what is of no use goes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::{Plan, STARTS_AT_ONCE, Situation, Step, Why, is_free, kill, restarts};
use crate::memory::Doing;
use crate::resize::{Change, change, change_of_all};
use crate::spec::container::hash;
use crate::view::{Made, State};

/// Looks after a container that was made in this sandbox.
pub(super) fn keep(
    situation: Situation<'_>,
    spec: &PodSpec,
    container: &Container,
    made: &Made,
    plan: &mut Plan,
) {
    let Situation { memory, steady: now, .. } = situation;
    if !is_free(memory, &container.name) {
        return;
    }
    match &made.state {
        State::Running => {
            let dead = memory.probed.get(&made.id).and_then(|probed| probed.dead);
            if made.hash != hash(container) {
                plan.steps.push(kill(situation, made, Why::Changed));
            } else if let Some(probe) = dead {
                let restarts = comes_back(spec, container);
                plan.steps.push(kill(situation, made, Why::Unhealthy { probe, restarts }));
            } else {
                resize(situation, container, made, plan);
            }
        }
        State::Exited(exit) if restarts(spec, container, exit.code) => {
            match memory.pauses.get(&container.name) {
                Some(pause) if pause.until > now => plan.wait(pause.until),
                _ => start(situation, container, plan),
            }
        }
        State::Exited(_) => {}
        // It was made by an agent that did not live to start it, or nobody knows what became of it.
        State::Created => {
            let (ids, name) = (vec![made.id.clone()], container.name.clone());
            plan.steps.push(Step::Discard { ids, name, logs: Vec::new() });
        }
        State::Unknown => plan.steps.push(kill(situation, made, Why::Unknown)),
    }
}

/// Whether a container that is ended by us is made again: its exit code is not its own.
fn comes_back(spec: &PodSpec, container: &Container) -> bool {
    let own = container.restart_policy.as_deref();
    own.or(spec.restart_policy.as_deref()) != Some("Never")
}

fn resize(situation: Situation<'_>, container: &Container, made: &Made, plan: &mut Plan) {
    let Situation { memory, steady: now, .. } = situation;
    match change(memory, container, made) {
        Change::None => {}
        Change::Restart => plan.steps.push(kill(situation, made, Why::Resized)),
        Change::To(to) => match &memory.unapplied {
            Some(trouble) if trouble.again_at > now => plan.wait(trouble.again_at),
            _ => plan.steps.push(Step::Resize { id: made.id.clone(), name: made.name.clone(), to }),
        },
    }
}

/// The pod as a whole is given what it was granted.
pub(super) fn resize_all(situation: Situation<'_>, plan: &mut Plan) {
    let Situation { memory, steady: now, .. } = situation;
    let Some(to) = change_of_all(memory).filter(|_| is_free(memory, "")) else { return };
    match &memory.unapplied {
        Some(trouble) if trouble.again_at > now => plan.wait(trouble.again_at),
        _ => plan.steps.push(Step::ResizeAll { to }),
    }
}

/// Starts a container, unless it is being done or has just failed.
pub(super) fn start(situation: Situation<'_>, container: &Container, plan: &mut Plan) {
    let Situation { memory, steady: now, .. } = situation;
    if !is_free(memory, &container.name) {
        return;
    }
    if let Some(trouble) = memory.troubles.get(&container.name).filter(|trouble| trouble.again_at > now) {
        return plan.wait(trouble.again_at);
    }
    let under_way = memory.busy.values().filter(|doing| **doing == Doing::Starting).count();
    let planned = plan.steps.iter().filter(|step| matches!(step, Step::Start { .. })).count();
    if under_way + planned < STARTS_AT_ONCE {
        plan.steps.push(Step::Start { name: container.name.clone(), attempt: attempt(situation, container) });
    }
}

/// Counts on from the newest one that is left, or from what was told of one of which nothing is.
fn attempt(situation: Situation<'_>, container: &Container) -> u32 {
    let Situation { pod, view, .. } = situation;
    let newest = view.latest(&container.name).map(|made| made.attempt + 1);
    let told = pod.status.as_ref().and_then(|status| {
        let lists = [&status.container_statuses, &status.init_container_statuses];
        let mut told = lists.into_iter().flatten().flatten();
        let told = told.find(|told| told.name == container.name && told.container_id.is_some())?;
        u32::try_from(told.restart_count).ok()?.checked_add(1)
    });
    newest.or(told).unwrap_or(0)
}

/// Of what has ended, the newest and the one before it are kept: for what they say, and for their logs.
pub(super) fn sweep(situation: Situation<'_>, plan: &mut Plan) {
    let mut old: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
    for made in situation.view.containers.iter().filter(|made| made.exit().is_some()) {
        let newer = situation.view.containers.iter();
        let newer = newer.filter(|other| other.name == made.name && other.attempt > made.attempt).count();
        if newer > 1 && is_free(situation.memory, &made.name) {
            old.entry(&made.name).or_default().push(made);
        }
    }
    for (name, old) in old {
        let is_planned = plan.steps.iter().any(|step| step.container() == Some(name));
        if !is_planned {
            let ids = old.iter().map(|made| made.id.clone()).collect();
            let logs = old.iter().map(|made| made.attempt).collect();
            plan.steps.push(Step::Discard { ids, name: name.to_owned(), logs });
        }
    }
}
