//! When a pod is over, and how it ends: main containers first, sidecars behind them in the opposite order of their start, then
//! the sandbox, then what it holds.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::restarts::restarts;
use super::{Plan, Situation, Step, Why, is_sidecar, kill};
use crate::memory::Doing;
use crate::probes::Kind;
use crate::view::{Made, State};

const USUAL_GRACE: i64 = 30;
/// A grace that is shorter by less than this is the same.
const MARGIN: SignedDuration = SignedDuration::from_secs(1);

/// Nothing of the pod runs again: it was deleted, ended by itself, or has to go.
pub(crate) fn is_over(situation: Situation<'_>) -> bool {
    let Situation { pod, memory, .. } = situation;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_some()
        || memory.verdict.is_some()
        || matches!(phase, Some("Succeeded" | "Failed"))
        || pod.spec.as_ref().is_some_and(|spec| is_done(situation, spec) || is_late(situation, spec))
}

/// Every main container has ended and none is made again, or an init container has failed for good.
pub(crate) fn is_done(situation: Situation<'_>, spec: &PodSpec) -> bool {
    let ended = |container: &Container| {
        let exit = situation.view.latest(&container.name).and_then(|made| made.exit());
        exit.map(|exit| (exit.code, restarts(spec, container, exit.code)))
    };
    let init = spec.init_containers.iter().flatten().filter(|container| !is_sidecar(container));
    let failed =
        init.into_iter().any(|container| matches!(ended(container), Some((code, false)) if code != 0));
    failed
        || !spec.containers.is_empty()
            && spec.containers.iter().all(|container| matches!(ended(container), Some((_, false))))
}

/// When a pod that may not run for ever has to end.
pub(crate) fn deadline(situation: Situation<'_>, spec: &PodSpec) -> Option<Timestamp> {
    let allowed = SignedDuration::from_secs(spec.active_deadline_seconds?);
    let started = situation.pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    let begun = started.map(|time| time.0).or(situation.memory.begun)?;
    begun.saturating_add(allowed).ok()
}

pub(crate) fn is_late(situation: Situation<'_>, spec: &PodSpec) -> bool {
    deadline(situation, spec).is_some_and(|deadline| deadline <= situation.now)
}

pub(super) fn plan(situation: Situation<'_>, spec: &PodSpec) -> Plan {
    let Situation { view, memory, .. } = situation;
    let mut plan = Plan::default();
    let alive = |name: &str| {
        let made = view.containers.iter().filter(|made| made.name == name);
        made.filter(|made| matches!(made.state, State::Running | State::Unknown)).collect::<Vec<_>>()
    };
    let sidecars: Vec<&Container> =
        spec.init_containers.iter().flatten().filter(|container| is_sidecar(container)).collect();
    let is_one = |name: &str| sidecars.iter().any(|container| container.name == name);
    let mut others = view.running().filter(|made| !is_one(&made.name)).peekable();
    if others.peek().is_some() {
        others.for_each(|made| plan.steps.extend(end(situation, made)));
        return plan;
    }
    for sidecar in sidecars.iter().rev() {
        let alive = alive(&sidecar.name);
        if alive.is_empty() {
            continue;
        }
        plan.steps.extend(alive.into_iter().filter_map(|made| end(situation, made)));
        return plan;
    }
    // What is being made cannot be ended yet.
    if !memory.busy.is_empty() {
        return plan;
    }
    let ready = view.sandboxes.iter().filter(|sandbox| sandbox.is_ready);
    plan.steps.extend(ready.map(|sandbox| Step::StopSandbox { id: sandbox.id.clone() }));
    if plan.steps.is_empty() {
        plan.steps.push(Step::Clear);
    }
    plan
}

/// Ends a container, unless that is under way. Somebody may have given it less time meanwhile.
fn end(situation: Situation<'_>, made: &Made) -> Option<Step> {
    let grace = grace(situation, &made.name, &Why::Leaving);
    match situation.memory.busy.get(&made.name) {
        None => {}
        Some(Doing::Ending { until }) => {
            let sooner = situation.steady.saturating_add(grace.saturating_add(MARGIN)).ok()?;
            if sooner >= *until {
                return None;
            }
        }
        Some(Doing::Starting | Doing::Else) => return None,
    }
    Some(kill(situation, made, Why::Leaving))
}

/// How long a container may take to end. All that end with the pod share its grace.
pub(super) fn grace(situation: Situation<'_>, name: &str, why: &Why) -> SignedDuration {
    let Situation { pod, memory, steady: now, .. } = situation;
    let (meta, spec) = (&pod.metadata, pod.spec.as_ref());
    let seconds = SignedDuration::from_secs;
    let asked = seconds(spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(USUAL_GRACE));
    let grace = match why {
        Why::Leaving => {
            let deleted = meta.deletion_grace_period_seconds.map(seconds);
            let condemned = memory.verdict.as_ref().and_then(|verdict| verdict.grace);
            let all = deleted.or(condemned).unwrap_or(asked);
            let used = memory.leaving.map_or(SignedDuration::ZERO, |since| now.duration_since(since));
            all.saturating_sub(used)
        }
        Why::Unhealthy { probe, .. } => {
            let container = spec.and_then(|spec| super::containers(spec).find(|one| one.name == name));
            let probe = container.and_then(|container| match probe {
                Kind::Startup => container.startup_probe.as_ref(),
                Kind::Liveness | Kind::Readiness => container.liveness_probe.as_ref(),
            });
            probe.and_then(|probe| probe.termination_grace_period_seconds).map_or(asked, seconds)
        }
        Why::Sandbox | Why::Changed | Why::Resized | Why::All | Why::Unknown => asked,
    };
    grace.max(SignedDuration::ZERO)
}
