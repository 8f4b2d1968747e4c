//! A container whose end takes all the others with it: they are ended and forgotten, and the pod begins again in its sandbox.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::{Again, Plan, Situation, Step, Why, again, containers, is_free, kill};
use crate::view::Made;

/// Whether that can happen at all.
pub(crate) fn may_all_restart(spec: &PodSpec) -> bool {
    let mut rules = containers(spec).flat_map(|container| container.restart_policy_rules.iter().flatten());
    rules.any(|rule| rule.action == "RestartAllContainers")
}

/// The container whose end does, if there is one.
pub(crate) fn all_again<'a>(situation: Situation<'a>, spec: &'a PodSpec) -> Option<&'a Made> {
    let ended = |container: &'a Container| {
        let made = super::in_sandbox(situation, &container.name)?;
        (again(spec, container, made.exit()?.code) == Again::All).then_some(made)
    };
    containers(spec).find_map(ended)
}

pub(super) fn plan(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    let Situation { view, memory, steady: now, .. } = situation;
    let Some(source) = all_again(situation, spec) else { return };
    if let Some(pause) = memory.pauses.get(&source.name).filter(|pause| pause.until > now) {
        return plan.wait(pause.until);
    }
    for made in view.running().filter(|made| is_free(memory, &made.name)) {
        plan.steps.push(kill(situation, made, Why::All));
    }
    if view.running().next().is_none() && memory.busy.is_empty() {
        let listed = view.containers.iter().filter(|made| containers(spec).any(|one| one.name == made.name));
        let ids = listed.map(|made| made.id.clone()).collect();
        plan.steps.push(Step::Discard { ids, name: source.name.clone(), logs: Vec::new() });
    }
}
