//! One pod's life on this node, from its first sight to its last trace. Woken by a change of the pod, of its containers, of
//! what its probes say, or by the clock; looks, plans, reports, and sets the steps going. Steps for different containers are
//! under way at the same time, and nothing here waits for the API.

mod leave;
mod reckon;
mod report;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};

pub(crate) use self::leave::remove_all;
use self::report::Reports;
use crate::memory::{Doing, Memory, Trouble};
use crate::observe::{Known, observe};
use crate::plan::{Plan, Step, is_over, plan};
use crate::probes::{Courses, Kind, Tried, attempt};
use crate::registry::Registry;
use crate::status::status;
use crate::steps::{Failure, Seen, Work};
use crate::tools::{Tools, part};
use crate::view::View;
use crate::volumes::PodVolumes;

/// Between two looks at a runtime that does not answer.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// The first wait after what failed, by what it was, and the longest.
const SOON: SignedDuration = SignedDuration::from_secs(1);
const LATER: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_SOON: SignedDuration = SignedDuration::from_secs(15);
const LONGEST: SignedDuration = SignedDuration::from_secs(300);

/// A pod, and how its life is told of changes.
pub(crate) struct Life {
    tools: Arc<Tools>,
    registry: Arc<Registry>,
    wanted: watch::Receiver<Arc<Pod>>,
    woken: Arc<Notify>,
    /// As it was last told.
    told: Arc<Pod>,
    /// The same with what we know of it by now.
    pod: Arc<Pod>,
    memory: Memory,
    known: Known,
    /// Ends that were reckoned with already, by the container's id.
    reckoned: HashSet<String>,
    /// Whether there is room for it was asked.
    admitted: bool,
    volumes: Arc<PodVolumes>,
    seen: Arc<Seen>,
    over: watch::Sender<bool>,
    courses: Courses,
    attempts: JoinSet<Tried>,
    reports: Reports,
    cleared: bool,
    steps: JoinSet<Outcome>,
    /// Ends that are under way, by the container's name.
    ending: HashMap<String, AbortHandle>,
    /// Until when an end that failed is not tried again, by the container's name; the sandbox has none.
    held: HashMap<String, Timestamp>,
    /// Where probes find the pod.
    ip: String,
}

/// What became of a step that was set going.
struct Outcome {
    /// Of the container; empty for the sandbox.
    name: String,
    step: Step,
    failure: Option<Failure>,
}

impl Life {
    pub(crate) fn new(
        tools: Arc<Tools>,
        registry: Arc<Registry>,
        wanted: watch::Receiver<Arc<Pod>>,
        woken: Arc<Notify>,
    ) -> Self {
        let memory = Memory { begun: Some(tools.now()), ..Memory::default() };
        let volumes = PodVolumes::new(tools.clone(), wanted.clone());
        let pod = wanted.borrow().clone();
        Self {
            reports: Reports::new(tools.clone()),
            tools,
            registry,
            wanted,
            woken,
            told: pod.clone(),
            pod,
            memory,
            known: Known::default(),
            reckoned: HashSet::new(),
            admitted: false,
            volumes,
            seen: Arc::default(),
            over: watch::Sender::new(false),
            courses: Courses::default(),
            attempts: JoinSet::new(),
            cleared: false,
            steps: JoinSet::new(),
            ending: HashMap::new(),
            held: HashMap::new(),
            ip: String::new(),
        }
    }

    /// Until the pod is gone. Answers whether nothing of it is left on this node but its folders.
    pub(crate) async fn live(mut self) -> bool {
        let uid = self.pod.metadata.uid.clone().unwrap_or_default();
        loop {
            self.told = self.wanted.borrow_and_update().clone();
            self.pod = self.reports.newest(self.told.clone());
            // There is one of these lives for each pod, and it mostly waits: what is only needed meanwhile is not held.
            let seen = observe(&self.tools.runtime, &uid, &self.tools.folders, &mut self.known);
            let seen = Box::pin(seen).await;
            let view = match seen {
                Ok(view) => view,
                Err(error) => {
                    tracing::debug!(pod = %name(&self.pod), %error, "cannot look at the runtime");
                    let again = later(self.tools.steady.now(), PAUSE);
                    self.wait(Some(again)).await;
                    continue;
                }
            };
            self.registry.note(&uid, &view);
            self.tools.roster.note(&self.pod, &view);
            if view.ready_sandbox().is_some() && !self.cleared {
                self.volumes.adopt();
            }
            let again = self.reckon(&view);
            let pod = self.pod.clone();
            let situation = self.tools.situation(&pod, &view, &self.memory);
            let Plan { steps, look_again } = plan(situation);
            let status = status(situation, &self.tools.place);
            let is_last = steps == [Step::Clear];
            self.reports.want(&self.told, status);
            if is_last {
                self.registry.release(&uid);
                self.tools.cpus.release(&uid);
                Box::pin(self.clear(&pod)).await;
                if pod.metadata.deletion_timestamp.is_some() && Box::pin(self.leave(&pod)).await {
                    let is_gone = Box::pin(self.remove_traces(&pod)).await;
                    self.registry.forget(&uid);
                    self.tools.roster.forget(&uid);
                    self.tools.tally.forget(&uid);
                    return is_gone;
                }
            }
            if let Some(sandbox) = view.ready_sandbox() {
                self.ip = self.work().ip(sandbox);
            }
            let held = self.begin_all(&view, steps);
            let unfinished = is_last && pod.metadata.deletion_timestamp.is_some();
            let retry = unfinished.then(|| later(self.tools.steady.now(), PAUSE));
            drop((pod, view));
            self.wait([look_again, again, retry, held].into_iter().flatten().min()).await;
        }
    }

    /// Until something changes that has to be looked at, a step ends, or the moment comes. Probes are tried and reports
    /// are written meanwhile.
    async fn wait(&mut self, until: Option<Timestamp>) {
        loop {
            let probes = self.courses.next(&self.memory);
            let due = [until, probes, self.reports.due()].into_iter().flatten().min();
            let clock = self.tools.steady.clone();
            let due = async {
                match due {
                    Some(moment) => clock.until(moment).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // A pod that nobody tells of any more is as it was last told.
                Ok(()) = self.wanted.changed() => {
                    let told = self.wanted.borrow_and_update().clone();
                    if !self.reports.is_echo(&self.told, &told) {
                        return;
                    }
                    self.reports.came_back();
                    self.pod = self.reports.newest(told.clone());
                    self.tools.roster.renew(&self.pod);
                    self.told = told;
                }
                () = self.woken.notified() => return,
                Some(ended) = self.steps.join_next() => {
                    if let Ok(outcome) = ended {
                        self.settle(outcome);
                        return;
                    }
                }
                Some(tried) = self.attempts.join_next() => {
                    if tried.is_ok_and(|tried| self.heard(tried)) {
                        return;
                    }
                }
                () = self.reports.written() => {}
                () = due => {}
            }
            let now = self.tools.steady.now();
            if until.is_some_and(|until| until <= now) {
                return;
            }
            self.reports.begin();
            self.probe(now);
        }
    }

    /// Sets the probes going that are due.
    fn probe(&mut self, now: Timestamp) {
        let Some(spec) = &self.pod.spec else { return };
        for (key, name) in self.courses.due(&self.memory, now) {
            let container = crate::plan::containers(spec).find(|container| container.name == name).cloned();
            let probe = container.as_ref().and_then(|container| key.kind.of(container).cloned());
            let (Some(container), Some(probe)) = (container, probe) else { continue };
            let (tools, ip) = (self.tools.clone(), self.ip.clone());
            self.attempts.spawn(async move {
                let outcome = attempt(&tools.runtime, &key.id, &container, &probe, &ip).await;
                Tried { key, begun: now, outcome }
            });
        }
    }

    /// Takes what a probe says. True if it changes something.
    fn heard(&mut self, tried: Tried) -> bool {
        let now = self.tools.steady.now();
        if let Some((container, result)) = self.courses.counts(&tried) {
            self.tools.tally.note(&self.pod, container, tried.key.kind, result);
        }
        // A container that is being ended fails its probes, which is nobody's news.
        let heard = self.courses.took(tried, &mut self.memory, now);
        if let Some((container, reason, message)) = heard.tell {
            let ends = matches!(self.memory.busy.get(&container), Some(Doing::Ending { .. }));
            if !(ends && reason == "Unhealthy" && message.starts_with(Kind::Liveness.title())) {
                let part = part(&self.pod, &container);
                self.tools.tell_of(&self.pod, part, kedge_engine::Severity::Warning, reason, message);
            }
        }
        heard.news
    }

    fn work(&self) -> Work {
        let pod =
            crate::resize::effective(&self.pod, &self.memory).map_or_else(|| self.pod.clone(), Arc::new);
        Work {
            tools: self.tools.clone(),
            registry: self.registry.clone(),
            pod,
            over: self.over.subscribe(),
            seen: self.seen.clone(),
            volumes: self.volumes.clone(),
        }
    }

    /// Sets steps going. Ends that have just failed wait; answers until when.
    fn begin_all(&mut self, view: &View, steps: Vec<Step>) -> Option<Timestamp> {
        let now = self.tools.steady.now();
        self.held.retain(|_, until| *until > now);
        let mut again = None;
        for step in steps {
            match self.held.get(step.container().unwrap_or_default()) {
                Some(until) if step.ends() => again = [again, Some(*until)].into_iter().flatten().min(),
                _ if step == Step::Clear => {}
                _ => self.begin(view, step),
            }
        }
        again
    }

    fn begin(&mut self, view: &View, step: Step) {
        let (work, sandbox) = (self.work(), view.ready_sandbox().cloned());
        let name = step.container().unwrap_or_default().to_owned();
        let doing = match &step {
            Step::Start { .. } => {
                if let Some(granted) = self.memory.granted.get(&name) {
                    self.memory.given.insert(name.clone(), granted.clone());
                }
                Doing::Starting
            }
            Step::Kill { grace, .. } => Doing::Ending { until: later(self.tools.steady.now(), *grace) },
            _ => Doing::Else,
        };
        self.memory.busy.insert(name.clone(), doing);
        // A second end of the same container is one with less time, in the place of the first.
        if let Some(before) = self.ending.remove(&name) {
            before.abort();
        }
        let key = name.clone();
        let handle = self.steps.spawn(async move {
            let failure = carry_out(&work, sandbox, step.clone()).await.err();
            Outcome { name, step, failure }
        });
        if matches!(doing, Doing::Ending { .. }) {
            self.ending.insert(key, handle);
        }
    }

    fn settle(&mut self, outcome: Outcome) {
        let Outcome { name, step, failure } = outcome;
        self.memory.busy.remove(&name);
        self.ending.remove(&name);
        let now = self.tools.steady.now();
        match step {
            Step::Resize { id, to, .. } => return self.resized(Some(id), to, failure),
            Step::ResizeAll { to } => return self.resized(None, to, failure),
            _ => {}
        }
        let Some(failure) = failure else {
            self.memory.troubles.remove(&name);
            self.memory.waits.remove(&name);
            if name.is_empty() {
                self.memory.sandbox_trouble = None;
            }
            return;
        };
        let (first, longest) = match failure.reason {
            "Leaving" => return,
            "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed" => (LATER, LONGEST),
            // It counts as an end, and each end makes the next start later.
            "RunContainerError" | "PostStartHookError" => (SignedDuration::ZERO, SignedDuration::ZERO),
            _ => (SOON, LONGEST_SOON),
        };
        let before = self.memory.waits.get(&name).copied();
        let wait = before.map_or(first, |before| before.saturating_mul(2).clamp(first, longest));
        self.memory.waits.insert(name.clone(), wait);
        let trouble = Trouble {
            reason: failure.reason.to_owned(),
            message: failure.message,
            image: failure.image,
            since: now,
            again_at: later(now, wait),
        };
        if step.ends() {
            tracing::debug!(pod = %self::name(&self.pod), error = %trouble.message, ?step, "cannot end");
            self.held.insert(name, trouble.again_at);
        } else if name.is_empty() {
            self.memory.sandbox_trouble = Some(trouble);
        } else {
            self.memory.troubles.insert(name, trouble);
        }
    }

    /// Whether the pod is to end, and since when.
    fn note_leaving(&mut self, view: &View) {
        let situation = self.tools.situation(&self.pod, view, &self.memory);
        if is_over(situation) && self.memory.leaving.is_none() {
            self.memory.leaving = Some(situation.steady);
            self.over.send_replace(true);
        }
    }
}

async fn carry_out(work: &Work, sandbox: Option<crate::view::Sandbox>, step: Step) -> Result<(), Failure> {
    let failed = |error: kedge_runtime::RuntimeError| Failure::of("RuntimeError", error);
    match step {
        Step::MakeSandbox { attempt } => work.make_sandbox(attempt).await,
        Step::StopSandbox { id } => work.stop_sandbox(&id).await.map_err(failed),
        Step::Start { name, attempt } => match sandbox {
            Some(sandbox) => work.start(&name, attempt, &sandbox).await,
            None => Ok(()),
        },
        Step::Kill { id, name, grace, why } => {
            work.kill(&id, &name, grace, &why, sandbox.as_ref()).await.map_err(failed)
        }
        Step::Resize { id, name, to } => {
            work.resize(&id, &name, to).await.map_err(|error| Failure::of("RuntimeError", error))
        }
        Step::ResizeAll { .. } => work.resize_all().await.map_err(|error| Failure::of("RuntimeError", error)),
        Step::Discard { ids, name, logs } => work.discard(&ids, &name, &logs).await.map_err(failed),
        Step::Clear => Ok(()),
    }
}

fn later(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

pub(crate) fn name(pod: &Pod) -> String {
    let meta = &pod.metadata;
    format!("{}_{}", meta.name.as_deref().unwrap_or_default(), meta.namespace.as_deref().unwrap_or_default())
}
