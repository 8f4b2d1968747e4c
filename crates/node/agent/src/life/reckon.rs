//! What has to be known before a plan is made: ends that make the next start later, time that is over, room on the node, and
//! other amounts that were asked for.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use kedge_engine::Severity;

use super::{Failure, Life, later, name};
use crate::admission::{Ground, judge};
use crate::admit::Weight;
use crate::memory::{Pause, Trouble, Verdict};
use crate::plan::{containers, is_late, is_over, restarts};
use crate::resize;
use crate::statics::is_static;
use crate::tools::part;
use crate::view::View;

/// So long a failure is told as such before it is told as a wait.
const SHOWN: SignedDuration = SignedDuration::from_secs(2);
/// How often is asked whether there is room by now.
const ROOM: SignedDuration = SignedDuration::from_secs(5);

impl Life {
    /// Reckons with everything that is new. Answers when something will be that nobody tells of.
    pub(super) fn reckon(&mut self, view: &View) -> Option<Timestamp> {
        let now = self.tools.steady.now();
        let uid = self.pod.metadata.uid.clone().unwrap_or_default();
        if let Some(verdict) = self.registry.verdict(&uid) {
            self.memory.verdict.get_or_insert(verdict);
        }
        self.admit(&uid, view);
        self.ends(view);
        self.deadline(view);
        self.note_leaving(view);
        let again = [self.resize(&uid, view, now), self.show(now)];
        let before = self.memory.clone();
        let situation = self.tools.situation(&self.pod, view, &before);
        self.courses.align(situation, &mut self.memory);
        again.into_iter().flatten().min()
    }

    /// Asks once whether there is room. What ran here before has it.
    fn admit(&mut self, uid: &str, view: &View) {
        if self.admitted {
            return;
        }
        self.admitted = true;
        let weight = Weight::of(&self.pod);
        let status = self.pod.status.as_ref();
        let ran = status.and_then(|status| status.container_statuses.as_ref());
        let ran = ran.is_some_and(|all| all.iter().any(|told| told.container_id.is_some()));
        let phase = status.and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) || self.pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        if ran || !view.sandboxes.is_empty() {
            self.registry.weigh(uid, weight);
            return;
        }
        let judged = self.judge();
        let judged = judged.and_then(|()| self.registry.admit(uid, weight, &self.tools.allocatable));
        let judged = judged.and_then(|()| self.tools.cpus.admit(&self.pod));
        if let Err(Verdict { reason, message, .. }) = judged {
            self.tools.tell(&self.pod, Severity::Warning, event(&reason), message.clone());
            self.memory.verdict = Some(Verdict::new(reason, format!("Pod was rejected: {message}")));
        }
    }

    /// Whether it may run here at all.
    fn judge(&self) -> Result<(), Verdict> {
        if self.tools.board.read().borrow().troubles.contains_key(crate::shutdown::TROUBLE) {
            let message = "Pod was rejected as the node is shutting down.";
            return Err(Verdict::new("NodeShutdown", message));
        }
        let pressure = self.tools.board.read().borrow().pressure;
        let pressures: Vec<&'static str> = [
            (pressure.memory, "MemoryPressure"),
            (pressure.disk, "DiskPressure"),
            (pressure.pids, "PIDPressure"),
        ]
        .into_iter()
        .filter_map(|(holds, name)| holds.then_some(name))
        .collect();
        let node = self.tools.node.borrow().clone();
        let unsafe_sysctls = &self.tools.unsafe_sysctls;
        let apparmor = self.tools.machine.apparmor;
        judge(&self.pod, &Ground { node: node.as_deref(), pressures: &pressures, unsafe_sysctls, apparmor })
    }

    /// Each end of a container makes the next start later.
    fn ends(&mut self, view: &View) {
        let mut news = Vec::new();
        let Some(spec) = self.pod.spec.as_ref() else { return };
        for made in view.containers.iter().rev() {
            let Some(exit) = made.exit() else { continue };
            if !self.reckoned.insert(made.id.clone()) {
                continue;
            }
            let situation = self.tools.situation(&self.pod, view, &self.memory);
            let ended = exit.at.unwrap_or(situation.now);
            let ran = made.started_at.map_or(SignedDuration::ZERO, |started| ended.duration_since(started));
            let before = self.memory.pauses.get(&made.name).copied();
            let pause = Pause::after(before, ran, situation.past(ended));
            self.memory.pauses.insert(made.name.clone(), pause);
            let listed = containers(spec).find(|container| container.name == made.name);
            if listed.is_some_and(|container| restarts(spec, container, exit.code)) {
                news.push(made.name.clone());
            }
        }
        self.reckoned.retain(|id| view.containers.iter().any(|made| made.id == *id));
        let situation = self.tools.situation(&self.pod, view, &self.memory);
        let (over, now) = (is_over(situation), situation.steady);
        for container in news.iter().filter(|_| !over) {
            if self.memory.pauses.get(container).is_some_and(|pause| pause.until > now) {
                let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
                let pod = format!("{}({uid})", name(&self.pod));
                let message = format!("Back-off restarting failed container {container} in pod {pod}");
                self.tools.tell_of(
                    &self.pod,
                    part(&self.pod, container),
                    Severity::Warning,
                    "BackOff",
                    message,
                );
            }
        }
    }

    fn deadline(&mut self, view: &View) {
        let situation = self.tools.situation(&self.pod, view, &self.memory);
        let late = self.pod.spec.as_ref().is_some_and(|spec| is_late(situation, spec));
        if late && !is_terminal(&self.pod) && self.memory.verdict.is_none() {
            let message = "Pod was active on the node longer than the specified deadline";
            self.tools.tell(&self.pod, Severity::Normal, "DeadlineExceeded", message.to_owned());
            self.memory.verdict = Some(Verdict::new("DeadlineExceeded", message));
        }
    }

    /// What was told as a failure is told as a wait after a while.
    fn show(&mut self, now: Timestamp) -> Option<Timestamp> {
        let mut again: Option<Timestamp> = None;
        let mut over = Vec::new();
        for (container, trouble) in &mut self.memory.troubles {
            let shown = later(trouble.since, SHOWN);
            match &*trouble.reason {
                "ErrImagePull" if shown <= now => {
                    let image = trouble.image.as_deref().unwrap_or_default();
                    let failed = std::mem::take(&mut trouble.message);
                    let words = format!("Back-off pulling image {image:?}");
                    trouble.reason = "ImagePullBackOff".to_owned();
                    trouble.message = format!("{words}: ErrImagePull: {failed}");
                    let part = part(&self.pod, container);
                    self.tools.tell_of(&self.pod, part, Severity::Normal, "BackOff", words);
                }
                "RunContainerError" | "PostStartHookError" if shown <= now => over.push(container.clone()),
                "ErrImagePull" | "RunContainerError" | "PostStartHookError" => {
                    again = [again, Some(shown)].into_iter().flatten().min();
                }
                _ => {}
            }
        }
        for container in over {
            self.memory.troubles.remove(&container);
        }
        again
    }

    /// Grants other amounts where there is room for them.
    fn resize(&mut self, uid: &str, view: &View, now: Timestamp) -> Option<Timestamp> {
        resize::learn(&self.pod, view, &mut self.memory);
        let Some(spec) = &self.pod.spec else { return None };
        if self.memory.leaving.is_some() {
            self.memory.pending = None;
            self.memory.resizing = None;
            return None;
        }
        if resize::is_asked_for(&self.pod, &self.memory) {
            let outcome = match is_static(&self.pod) {
                true => Err(resize::never(&self.pod, "In-place resize of static-pods is not supported")),
                false if self.tools.cpus.binds(uid) => {
                    let why =
                        "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"";
                    Err(resize::never(&self.pod, why))
                }
                false => {
                    let weight = Weight::of(&self.pod);
                    let asked = self.registry.reweigh(uid, weight, &self.tools.allocatable);
                    asked.map_err(|short| resize::defer(&self.pod, &short))
                }
            };
            match outcome {
                Ok(()) => {
                    resize::grant(&self.pod, &mut self.memory);
                    self.tell_resize(Severity::Normal, "ResizeStarted", "started", None);
                }
                Err(pending) => {
                    let is_new = self.memory.pending.as_ref() != Some(&pending);
                    let reason = pending.reason;
                    let event = if reason == "Deferred" { "ResizeDeferred" } else { "ResizeInfeasible" };
                    let message = pending.message.clone();
                    self.memory.pending = Some(pending);
                    if is_new {
                        self.tell_resize(Severity::Warning, event, reason, Some(&message));
                    }
                    return (reason == "Deferred").then(|| later(now, ROOM));
                }
            }
        } else {
            self.memory.pending = None;
        }
        if self.memory.resizing.is_some() && resize::is_done(spec, view, &self.memory) {
            self.tell_resize(Severity::Normal, "ResizeCompleted", "completed", None);
            self.memory.resizing = None;
            self.memory.unapplied = None;
        }
        None
    }

    fn tell_resize(&self, severity: Severity, reason: &'static str, what: &str, error: Option<&str>) {
        let message = resize::summary(&self.pod, what, self.pod.metadata.generation, error);
        self.tools.tell(&self.pod, severity, reason, message);
    }

    /// A running container was told of other amounts, or the pod as a whole was, or could not be.
    pub(super) fn resized(&mut self, id: Option<String>, to: ResourceRequirements, failure: Option<Failure>) {
        let now = self.tools.steady.now();
        match failure {
            None => {
                match id {
                    Some(id) => drop(self.memory.applied.insert(id, to)),
                    None => self.memory.applied_to_all = Some(to),
                }
                self.memory.unapplied = None;
            }
            Some(failure) => {
                if self.memory.unapplied.is_none() {
                    self.tell_resize(Severity::Warning, "ResizeError", "error", Some(&failure.message));
                }
                self.memory.unapplied = Some(Trouble {
                    reason: "Error".to_owned(),
                    message: failure.message,
                    image: None,
                    since: now,
                    again_at: later(now, ROOM),
                });
            }
        }
    }
}

/// The reasons for which pods are turned away, as events know them.
fn event(reason: &str) -> &'static str {
    let known = [
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "OutOfephemeral-storage",
        "NodePorts",
        "NodeAffinity",
        "TaintToleration",
        "Evicted",
        "SysctlForbidden",
        "AppArmor",
        "NodeShutdown",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SupplementalGroupsPolicyNotSupported",
    ];
    known.into_iter().find(|known| *known == reason).unwrap_or("UnexpectedAdmissionError")
}

fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}
