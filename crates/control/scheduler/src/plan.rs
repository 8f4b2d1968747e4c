//! One pod's turn: decides where it goes and says what has to be done for that. Everything decided is assumed at once, so that
//! the next pod's turn sees it. Does nothing outside the state that it is given.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kedge_children::conditions;
use kedge_clock::Clock;
use kedge_engine::{Action, Severity};

use crate::decide::{Decision, Nowhere, decide};
use crate::metrics::Metrics;
use crate::plugin::Before;
use crate::pod::PodView;
use crate::preempt::{Budget, Candidate, Refusal, preempt};
use crate::queue::Turn;
use crate::reasons::shortened;
use crate::state::State;

/// What is to be done for a pod.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    Bind {
        pod: Arc<PodView>,
        node: Arc<str>,
        since: Timestamp,
    },
    /// If one of them fails, the pod is tried again.
    Act {
        pod: Arc<PodView>,
        actions: Vec<Action>,
    },
}

/// The next pod's turn. `None` when it is nobody's.
pub(crate) fn next(state: &mut State, seed: u64, metrics: &Metrics, clock: &Clock) -> Option<Option<Job>> {
    let turn = state.queue.take(clock.now())?;
    Some(one(state, &turn, seed, metrics, clock))
}

fn one(state: &mut State, turn: &Turn, seed: u64, metrics: &Metrics, clock: &Clock) -> Option<Job> {
    let (pod, now) = (&turn.pod, clock.now());
    let State { profiles, cluster, start, .. } = &mut *state;
    let Some(profile) = profiles.iter().find(|profile| profile.scheduler == pod.scheduler) else {
        state.queue.remove(&pod.uid);
        return None;
    };
    let decision = decide(profile, pod, cluster, start, seed);
    let counted = |result| {
        let took = clock.now().duration_since(now).as_secs_f64();
        metrics.attempted(&profile.scheduler, result, took);
    };
    match decision {
        Decision::Place(slot) => {
            let Some(node) = cluster.at(slot) else {
                state.queue.rest(&pod.uid);
                return None;
            };
            let name = node.name.clone();
            for plugin in &profile.pre_binds {
                match plugin.look(pod, node, cluster) {
                    Ok(Before::Bind) => {}
                    Ok(Before::Await(actions)) => {
                        let plugin = plugin.name();
                        return await_steps(state, pod, &name, plugin, actions, now);
                    }
                    Err(error) => {
                        tracing::debug!(pod = %pod.key, %error, "not bound yet");
                        state.queue.rest(&pod.uid);
                        return None;
                    }
                }
            }
            counted("scheduled");
            state.assume(pod, &name, now);
            Some(Job::Bind { pod: pod.clone(), node: name, since: turn.since })
        }
        Decision::Nowhere(nowhere) => {
            counted("unschedulable");
            Some(no_place(state, pod, &nowhere, seed, metrics, now))
        }
        Decision::NotReady(error) => {
            counted("error");
            tracing::debug!(pod = %pod.key, %error, "not decided yet");
            state.queue.rest(&pod.uid);
            None
        }
    }
}

/// Its node is chosen, but something must come true before it is bound. Until then room is kept for it there.
fn await_steps(
    state: &mut State,
    pod: &Arc<PodView>,
    node: &Arc<str>,
    plugin: &'static str,
    mut actions: Vec<Action>,
    now: Timestamp,
) -> Option<Job> {
    if pod.nominated.as_ref() != Some(node)
        && let Some(shown) = shown(state, pod)
    {
        actions.extend(status(&shown, Some(node), None));
    }
    state.nominate(pod, Some(node));
    state.queue.wait(&pod.uid, [plugin].into(), now);
    (!actions.is_empty()).then(|| Job::Act { pod: pod.clone(), actions })
}

fn no_place(
    state: &mut State,
    pod: &Arc<PodView>,
    nowhere: &Nowhere,
    seed: u64,
    metrics: &Metrics,
    now: Timestamp,
) -> Job {
    let mut text = nowhere.text();
    let mut nominated = pod.nominated.clone();
    let mut actions = Vec::new();
    match make_room(state, pod, nowhere, seed) {
        Some(Ok(candidate)) => {
            metrics.preempted(candidate.victims.len());
            actions = removal(state, pod, &candidate, now);
            nominated = Some(candidate.node);
        }
        Some(Err(refusal)) => {
            text = format!("{text} {}", refusal.text());
            if matches!(refusal, Refusal::NoCandidate(_)) {
                nominated = None;
            }
        }
        None => {}
    }
    state.nominate(pod, nominated.as_ref());
    state.queue.wait(&pod.uid, nowhere.plugins(), now);
    let mut all = Vec::new();
    if let Some(shown) = shown(state, pod) {
        let condition = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some("Unschedulable".to_owned()),
            message: Some(text.clone()),
            observed_generation: shown.metadata.generation,
            last_transition_time: conditions::at(now),
            ..PodCondition::default()
        };
        all.push(Action::tell(&*shown, Severity::Warning, "FailedScheduling", shortened(&text)));
        // The nomination comes first: whoever sees the victims go must know for whom.
        all.extend(status(&shown, nominated.as_ref(), Some(condition)));
    }
    all.extend(actions);
    Job::Act { pod: pod.clone(), actions: all }
}

fn make_room(
    state: &State,
    pod: &PodView,
    nowhere: &Nowhere,
    seed: u64,
) -> Option<Result<Candidate, Refusal>> {
    let profile = state.profile(pod).filter(|profile| profile.preempts && nowhere.total > 0)?;
    let cluster = &state.cluster;
    // Budgets that can't be read yet protect nobody from us only if we don't begin.
    let budgets = cluster.world.cache::<PodDisruptionBudget>().ok()?.all();
    let budgets: Vec<Budget> = budgets.iter().map(|budget| Budget::of(budget)).collect();
    Some(preempt(profile, pod, cluster, nowhere, &budgets, seed))
}

/// Victims go, and those of less priority who hoped for the same room look for another.
fn removal(state: &mut State, pod: &PodView, candidate: &Candidate, now: Timestamp) -> Vec<Action> {
    let mut actions = Vec::new();
    let hopeful: Vec<_> = state.cluster.nominated_to(&candidate.node).to_vec();
    for other in hopeful.iter().filter(|other| other.priority < pod.priority && other.uid != pod.uid) {
        if let Some(shown) = shown(state, other) {
            actions.extend(status(&shown, None, None));
        }
        state.nominate(other, None);
    }
    for victim in candidate.victims.iter().filter(|victim| !victim.leaving) {
        let Some(shown) = shown(state, victim) else { continue };
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: Some("PreemptionByScheduler".to_owned()),
            message: Some(format!("{}: preempting to accommodate a higher priority pod", pod.scheduler)),
            observed_generation: shown.metadata.generation,
            last_transition_time: conditions::at(now),
            ..PodCondition::default()
        };
        actions.extend(status(&shown, victim.nominated.as_ref(), Some(condition)));
        actions.push(Action::delete(&*shown));
        let said = format!("Preempted by pod {} on node {}", pod.uid, candidate.node);
        actions.push(Action::tell(&*shown, Severity::Normal, "Preempted", said));
    }
    actions
}

/// The pod as the world shows it, if it is still the same one.
fn shown(state: &State, pod: &PodView) -> Option<Arc<Pod>> {
    let shown = state.cluster.world.get::<Pod>(&pod.key).ok()??;
    (shown.metadata.uid.as_deref() == Some(&pod.uid)).then_some(shown)
}

/// What has to be written so that the pod's status says this. Nothing if it does.
fn status(pod: &Pod, nominated: Option<&Arc<str>>, condition: Option<PodCondition>) -> Option<Action> {
    let mut to = pod.clone();
    let status = to.status.get_or_insert_default();
    status.nominated_node_name = nominated.map(|node| node.to_string());
    if let Some(condition) = condition {
        conditions::set(&mut status.conditions, condition);
    }
    Action::status(pod, &to)
}
