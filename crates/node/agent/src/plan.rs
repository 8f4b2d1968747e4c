//! What to do next about one pod. Decides and does nothing else: the pod as it is wanted, what the runtime shows, what is
//! remembered and the time go in; steps come out. A pod that is as it should be gives none.

mod again;
mod ending;
mod keeping;
mod restarts;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod, PodSpec, ResourceRequirements};

pub(crate) use self::again::{all_again, may_all_restart};
pub(crate) use self::ending::{is_late, is_over};
use self::keeping::{keep, start};
pub(crate) use self::restarts::{Again, again, restarts};
use crate::memory::{Doing, Memory};
use crate::probes::Kind;
use crate::view::{Made, State, View};

/// So many containers of one pod are started at the same time: the node has others.
const STARTS_AT_ONCE: usize = 8;

/// One thing to do. What concerns different containers may be done at the same time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Makes the sandbox, as the pod's `attempt`th.
    MakeSandbox { attempt: u32 },
    /// Ends whatever is in a sandbox.
    StopSandbox { id: String },
    /// Makes and starts a container.
    Start { name: String, attempt: u32 },
    /// Ends a container: asked first, made to after the grace.
    Kill { id: String, name: String, grace: SignedDuration, why: Why },
    /// Tells a running container that it may have more or less from now on.
    Resize { id: String, name: String, to: ResourceRequirements },
    /// Tells a pod as a whole that it may have more or less from now on.
    ResizeAll { to: ResourceRequirements },
    /// Forgets containers that are of no use any more: never started, or too old; of some the logs as well.
    Discard { ids: Vec<String>, name: String, logs: Vec<u32> },
    /// All processes have ended: gives back volumes and whatever else the pod holds.
    Clear,
}

impl Step {
    /// The container that it concerns.
    pub(crate) fn container(&self) -> Option<&str> {
        match self {
            Self::Start { name, .. }
            | Self::Kill { name, .. }
            | Self::Resize { name, .. }
            | Self::Discard { name, .. } => Some(name),
            Self::MakeSandbox { .. } | Self::StopSandbox { .. } | Self::ResizeAll { .. } | Self::Clear => {
                None
            }
        }
    }

    /// It takes something away.
    pub(crate) fn ends(&self) -> bool {
        matches!(self, Self::Kill { .. } | Self::StopSandbox { .. } | Self::Discard { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The pod is to go, or is done.
    Leaving,
    /// Its sandbox is gone or another is to be made.
    Sandbox,
    /// It is no longer what the pod asks for.
    Changed,
    /// What it may have changes, and it wants to be started anew for that.
    Resized,
    /// A probe found it dead; it may be that it comes back.
    Unhealthy { probe: Kind, restarts: bool },
    /// Another container has ended that takes them all with it.
    All,
    /// Nobody asked for it.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) look_again: Option<Timestamp>,
}

impl Plan {
    fn wait(&mut self, until: Timestamp) {
        self.look_again = [self.look_again, Some(until)].into_iter().flatten().min();
    }

    fn starts(&self, name: &str) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Start { name: started, .. } if started == name))
    }
}

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub(crate) struct Situation<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) view: &'a View,
    pub(crate) memory: &'a Memory,
    /// What people's clock shows, for what they read. It may be set.
    pub(crate) now: Timestamp,
    /// The same moment on a clock that only counts, for everything that is waited for.
    pub(crate) steady: Timestamp,
}

impl Situation<'_> {
    /// When something is due that stands written down, on the clock that only counts.
    fn due(&self, written: Timestamp) -> Timestamp {
        self.steady.saturating_add(written.duration_since(self.now)).unwrap_or(Timestamp::MAX)
    }

    /// When something was that stands written down. A clock that was set back since then does not make it come yet.
    pub(crate) fn past(&self, written: Timestamp) -> Timestamp {
        self.due(written).min(self.steady)
    }
}

pub(crate) fn plan(situation: Situation<'_>) -> Plan {
    let Some(spec) = &situation.pod.spec else { return Plan::default() };
    if is_over(situation) {
        return ending::plan(situation, spec);
    }
    let mut plan = Plan::default();
    if let Some(deadline) = ending::deadline(situation, spec) {
        plan.wait(situation.due(deadline));
    }
    match situation.view.ready_sandbox() {
        Some(_) if all_again(situation, spec).is_some() => again::plan(situation, spec, &mut plan),
        Some(_) => {
            kill_strangers(situation, spec, &mut plan);
            if init(situation, spec, &mut plan) {
                mains(situation, spec, &mut plan);
            }
            ephemerals(situation, spec, &mut plan);
            keeping::resize_all(situation, &mut plan);
            keeping::sweep(situation, &mut plan);
        }
        None => sandbox(situation, spec, &mut plan),
    }
    plan
}

/// A sandbox that is gone takes its containers with it; they are ended before there is another.
fn sandbox(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    let Situation { view, memory, steady: now, .. } = situation;
    for made in view.running().filter(|made| is_free(memory, &made.name)) {
        plan.steps.push(kill(situation, made, Why::Sandbox));
    }
    if view.running().next().is_some() || !is_free(memory, "") || !needs_sandbox(situation, spec) {
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

/// A pod whose containers are not made again once they ran needs no other sandbox to be over.
fn needs_sandbox(situation: Situation<'_>, spec: &PodSpec) -> bool {
    let exit = |container: &Container| situation.view.latest(&container.name).and_then(|made| made.exit());
    let comes =
        |container: &Container| exit(container).is_none_or(|exit| restarts(spec, container, exit.code));
    let never = spec.restart_policy.as_deref() == Some("Never");
    let ran = containers(spec).any(|container| exit(container).is_some());
    !(never && ran && !situation.view.sandboxes.is_empty()) && spec.containers.iter().any(comes)
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
                let greeted = !is_greeting(situation.memory, container);
                made.is_running() && greeted && has_started(situation, container, made)
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

/// Starts the main containers together, except that those behind one with a hook at its start wait until that is over.
fn mains(situation: Situation<'_>, spec: &PodSpec, plan: &mut Plan) {
    for container in &spec.containers {
        match in_sandbox(situation, &container.name) {
            Some(made) => keep(situation, spec, container, made, plan),
            None => start(situation, container, plan),
        }
        if is_greeting(situation.memory, container) || has_greeting(container) && plan.starts(&container.name)
        {
            return;
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
    !memory.busy.contains_key(name)
}

/// Whether the containers behind it may go on.
fn has_started(situation: Situation<'_>, container: &Container, made: &Made) -> bool {
    let probed = situation.memory.probed.get(&made.id).and_then(|probed| probed.started);
    probed.unwrap_or(container.startup_probe.is_none())
}

fn has_greeting(container: &Container) -> bool {
    container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.post_start.is_some())
}

/// It has a hook at its start, which may be under way.
pub(crate) fn is_greeting(memory: &Memory, container: &Container) -> bool {
    has_greeting(container) && memory.busy.get(&container.name) == Some(&Doing::Starting)
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
