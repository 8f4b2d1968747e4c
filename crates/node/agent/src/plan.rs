//! What to do next about one pod. Decides and does nothing else: the pod as it is wanted, what the runtime shows, what is
//! remembered and the time go in; steps come out. A pod that is as it should be gives none.

mod ending;
mod restarts;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod, PodSpec};

pub(crate) use self::ending::{is_late, is_over};
pub(crate) use self::restarts::restarts;
use crate::memory::Memory;
use crate::spec::container::hash;
use crate::view::{Made, State, View};

/// One thing to do. What concerns different containers may be done at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Makes the sandbox, as the pod's `attempt`th.
    MakeSandbox { attempt: u32 },
    /// Ends whatever is in a sandbox.
    StopSandbox { id: String },
    /// Makes and starts a container.
    Start { name: String, attempt: u32 },
    /// Ends a container: asked first, made to after the grace.
    Kill { id: String, name: String, grace: SignedDuration, why: Why },
    /// Forgets a container that was never started.
    Discard { id: String, name: String },
    /// All processes have ended: gives back volumes and whatever else the pod holds.
    Clear,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The pod is to go, or is done.
    Leaving,
    /// Its sandbox is gone or another is to be made.
    Sandbox,
    /// It is no longer what the pod asks for.
    Changed,
    /// A probe found it dead.
    Unhealthy(String),
    /// Nobody asked for it.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) look_again: Option<Timestamp>,
}

impl Plan {
    fn wait(&mut self, until: Timestamp) {
        self.look_again = [self.look_again, Some(until)].into_iter().flatten().min();
    }
}

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub(crate) struct Situation<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) view: &'a View,
    pub(crate) memory: &'a Memory,
    pub(crate) now: Timestamp,
}

pub(crate) fn plan(situation: Situation<'_>) -> Plan {
    let Some(spec) = &situation.pod.spec else { return Plan::default() };
    if is_over(situation) {
        return ending::plan(situation, spec);
    }
    let mut plan = Plan::default();
    if let Some(deadline) = ending::deadline(situation, spec) {
        plan.wait(deadline);
    }
    match situation.view.ready_sandbox() {
        Some(_) => {
            kill_strangers(situation, spec, &mut plan);
            if init(situation, spec, &mut plan) {
                mains(situation, spec, &mut plan);
            }
            ephemerals(situation, spec, &mut plan);
        }
        None => sandbox(situation, &mut plan),
    }
    plan
}

/// A sandbox that is gone takes its containers with it; they are ended before there is another.
fn sandbox(situation: Situation<'_>, plan: &mut Plan) {
    let Situation { view, memory, now, .. } = situation;
    for made in view.running().filter(|made| is_free(memory, &made.name)) {
        plan.steps.push(kill(situation, made, Why::Sandbox));
    }
    if view.running().next().is_some() || !is_free(memory, "") {
        return;
    }
    match &memory.sandbox_trouble {
        Some(trouble) if trouble.again_at > now => plan.wait(trouble.again_at),
        _ => {
            let attempt = view.sandboxes.iter().map(|sandbox| sandbox.attempt + 1).max().unwrap_or(0);
            plan.steps.push(Step::MakeSandbox { attempt });
        }
    }
}

/// Runs the init containers one after the other. True once the main containers may run.
fn init(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) -> bool {
    // Once a main container was made in this sandbox, the ordinary ones are done, whatever is left of them.
    let past = spec.containers.iter().any(|container| in_sandbox(situation, &container.name).is_some());
    for container in spec.init_containers.iter().flatten() {
        let sidecar = is_sidecar(container);
        if past && !sidecar {
            continue;
        }
        let stays = match in_sandbox(situation, &container.name) {
            Some(made) if sidecar => {
                keep(situation, spec, container, made, plan);
                made.is_running() && has_started(situation, container, made)
            }
            Some(Made { state: State::Exited(exit), .. }) if exit.code == 0 => true,
            Some(made) => {
                keep(situation, spec, container, made, plan);
                false
            }
            None => {
                start(situation, container, plan);
                false
            }
        };
        if !stays && !past {
            return false;
        }
    }
    true
}

fn mains(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    for container in &spec.containers {
        match in_sandbox(situation, &container.name) {
            Some(made) => keep(situation, spec, container, made, plan),
            None => start(situation, container, plan),
        }
    }
}

/// Made once, never again.
fn ephemerals(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    for wanted in spec.ephemeral_containers.iter().flatten() {
        if situation.view.latest(&wanted.name).is_none() {
            start(situation, &as_container(wanted), plan);
        }
    }
}

/// Looks after a container that was made in this sandbox.
fn keep(situation: Situation<'_>, spec: &PodSpec, container: &Container, made: &Made, plan: &mut Plan) {
    let Situation { memory, now, .. } = situation;
    if !is_free(memory, &container.name) {
        return;
    }
    match &made.state {
        State::Running => {
            let dead = memory.probed.get(&made.id).and_then(|probed| probed.dead.clone());
            if made.hash != hash(container) {
                plan.steps.push(kill(situation, made, Why::Changed));
            } else if let Some(message) = dead {
                plan.steps.push(kill(situation, made, Why::Unhealthy(message)));
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
            plan.steps.push(Step::Discard { id: made.id.clone(), name: container.name.clone() })
        }
        State::Unknown => plan.steps.push(kill(situation, made, Why::Unknown)),
    }
}

/// Starts a container, unless it is being done or has just failed.
fn start(situation: Situation<'_>, container: &Container, plan: &mut Plan) {
    let Situation { view, memory, now, .. } = situation;
    if !is_free(memory, &container.name) {
        return;
    }
    if let Some(trouble) = memory.troubles.get(&container.name).filter(|trouble| trouble.again_at > now) {
        return plan.wait(trouble.again_at);
    }
    let attempt = view.latest(&container.name).map_or(0, |made| made.attempt + 1);
    plan.steps.push(Step::Start { name: container.name.clone(), attempt });
}

/// Containers of the pod's sandbox that the pod does not list.
fn kill_strangers(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    for made in situation.view.running() {
        let known = containers(spec).any(|container| container.name == made.name)
            || spec.ephemeral_containers.iter().flatten().any(|wanted| wanted.name == made.name);
        if !known && is_free(situation.memory, &made.name) {
            plan.steps.push(kill(situation, made, Why::Unknown));
        }
    }
}

fn kill(situation: Situation<'_>, made: &Made, why: Why) -> Step {
    let grace = ending::grace(situation, &made.name, &why);
    Step::Kill { id: made.id.clone(), name: made.name.clone(), grace, why }
}

fn in_sandbox<'a>(situation: Situation<'a>, name: &str) -> Option<&'a Made> {
    let sandbox = situation.view.ready_sandbox()?;
    situation.view.latest(name).filter(|made| made.sandbox == sandbox.id)
}

fn is_free(memory: &Memory, name: &str) -> bool {
    !memory.busy.contains(name)
}

/// Whether the containers behind it may go on.
fn has_started(situation: Situation<'_>, container: &Container, made: &Made) -> bool {
    let probed = situation.memory.probed.get(&made.id).and_then(|probed| probed.started);
    probed.unwrap_or(container.startup_probe.is_none())
}

pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// In the order in which they are started.
pub(crate) fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// A debugging container has everything that a container has but its own resources and doors.
pub(crate) fn as_container(wanted: &EphemeralContainer) -> Container {
    Container {
        name: wanted.name.clone(),
        image: wanted.image.clone(),
        image_pull_policy: wanted.image_pull_policy.clone(),
        command: wanted.command.clone(),
        args: wanted.args.clone(),
        env: wanted.env.clone(),
        env_from: wanted.env_from.clone(),
        working_dir: wanted.working_dir.clone(),
        volume_mounts: wanted.volume_mounts.clone(),
        volume_devices: wanted.volume_devices.clone(),
        security_context: wanted.security_context.clone(),
        stdin: wanted.stdin,
        stdin_once: wanted.stdin_once,
        tty: wanted.tty,
        termination_message_path: wanted.termination_message_path.clone(),
        termination_message_policy: wanted.termination_message_policy.clone(),
        ..Container::default()
    }
}

#[cfg(test)]
mod tests;
