//! One pod's life on this node, from its first sight to its last trace. Woken by a change of the pod, of its containers or by
//! the clock; looks, plans, reports, and sets the steps going. Steps for different containers are under way at the same time.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kedge_engine::{Action, Severity};
use kedge_runtime::wire::PodSandboxFilter;
use kube::Api;
use kube::api::{DeleteParams, Preconditions};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinSet;

use crate::memory::{Memory, Pause, Trouble, Verdict};
use crate::observe::{Ended, observe};
use crate::plan::{Plan, Situation, Step, plan};
use crate::registry::Registry;
use crate::status::status;
use crate::steps::{Failure, Work};
use crate::tools::Tools;
use crate::view::View;

/// Between two looks at a runtime that does not answer, and two reports that nobody takes.
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
    memory: Memory,
    ended: Ended,
    /// Ends that were reckoned with already, by the container's id.
    reckoned: HashSet<String>,
    volumes: Arc<Mutex<Option<std::collections::HashMap<String, std::path::PathBuf>>>>,
    reported: Option<PodStatus>,
    cleared: bool,
    steps: JoinSet<Outcome>,
}

/// What became of a step that was set going.
struct Outcome {
    /// Of the container; empty for the sandbox.
    name: String,
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
        Self {
            tools,
            registry,
            wanted,
            woken,
            memory,
            ended: Ended::default(),
            reckoned: HashSet::new(),
            volumes: Arc::default(),
            reported: None,
            cleared: false,
            steps: JoinSet::new(),
        }
    }

    /// Until nothing of the pod is left on this node.
    pub(crate) async fn live(mut self) {
        loop {
            let pod = self.wanted.borrow_and_update().clone();
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            let seen = observe(&self.tools.runtime, &uid, &self.tools.folders, &mut self.ended).await;
            let view = match seen {
                Ok(view) => view,
                Err(error) => {
                    tracing::debug!(pod = %name(&pod), %error, "cannot look at the runtime");
                    self.wait(Some(self.soon())).await;
                    continue;
                }
            };
            self.registry.note(&uid, &view);
            self.reckon(&pod, &view).await;
            let situation = Situation { pod: &pod, view: &view, memory: &self.memory, now: self.tools.now() };
            let plan = plan(situation);
            let status = status(situation, &self.tools.place);
            let reported = self.report(&pod, status).await;
            self.troubles_were_shown(&pod);
            if plan.steps == [Step::Clear] {
                self.clear(&pod).await;
                if pod.metadata.deletion_timestamp.is_some() && self.forget(&pod).await {
                    self.registry.forget(&uid);
                    return;
                }
            }
            let Plan { steps, look_again } = plan;
            for step in steps {
                self.begin(&pod, &view, step);
            }
            let again = if reported { look_again } else { Some(self.soon()) };
            self.wait(again).await;
        }
    }

    fn soon(&self) -> Timestamp {
        later(self.tools.now(), PAUSE)
    }

    /// Until something changes, a step ends, or the moment comes.
    async fn wait(&mut self, until: Option<Timestamp>) {
        let due = async {
            match until {
                Some(moment) => self.tools.clock.until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A pod that nobody tells of any more is as it was last told.
            Ok(()) = self.wanted.changed() => {}
            () = self.woken.notified() => {}
            Some(ended) = self.steps.join_next() => {
                if let Ok(outcome) = ended {
                    self.settle(outcome);
                }
            }
            () = due => {}
        }
    }

    /// Each end of a container makes the next start later.
    async fn reckon(&mut self, pod: &Pod, view: &View) {
        let now = self.tools.now();
        let mut news = Vec::new();
        for made in view.containers.iter().rev() {
            let Some(exit) = made.exit() else { continue };
            if !self.reckoned.insert(made.id.clone()) {
                continue;
            }
            let ended = exit.at.unwrap_or(now);
            let ran = made.started_at.map_or(SignedDuration::ZERO, |started| ended.duration_since(started));
            let before = self.memory.pauses.get(&made.name).copied();
            self.memory.pauses.insert(made.name.clone(), Pause::after(before, ran, ended));
            let spec = pod.spec.as_ref();
            let comes_back = spec.is_some_and(|spec| {
                let listed = crate::plan::containers(spec).find(|container| container.name == made.name);
                listed.is_some_and(|container| crate::plan::restarts(spec, container, exit.code))
            });
            if comes_back {
                news.push(made.name.clone());
            }
        }
        self.reckoned.retain(|id| view.containers.iter().any(|made| made.id == *id));
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        for container in news {
            let waits = self.memory.pauses.get(&container).is_some_and(|pause| pause.until > now);
            if waits && !crate::plan::is_over(Situation { pod, view, memory: &self.memory, now }) {
                let message =
                    format!("Back-off restarting failed container {container} in pod {}({uid})", name(pod));
                let part = crate::tools::part(pod, &container);
                self.tools.tell_of(pod, part, Severity::Warning, "BackOff", message).await;
            }
        }
        let late = pod.spec.as_ref().is_some_and(|spec| {
            let situation = Situation { pod, view, memory: &self.memory, now };
            crate::plan::is_late(situation, spec)
        });
        if late && self.memory.verdict.is_none() {
            self.memory.verdict = Some(Verdict {
                reason: "DeadlineExceeded".to_owned(),
                message: "Pod was active on the node longer than the specified deadline".to_owned(),
            });
        }
    }

    /// Writes the status, unless it says what was said before. False if nobody took it.
    async fn report(&mut self, pod: &Pod, status: PodStatus) -> bool {
        if pod.status.as_ref() == Some(&status) || self.reported.as_ref() == Some(&status) {
            return true;
        }
        let to = Pod { status: Some(status.clone()), ..pod.clone() };
        let Some(action) = Action::status(pod, &to) else { return true };
        let done = self.tools.carrier.carry_out(&[action]).await;
        match done.error {
            None => {
                self.reported = Some(status);
                true
            }
            Some(error) => {
                tracing::debug!(pod = %name(pod), %error, "cannot report");
                false
            }
        }
    }

    /// What was told as a failure is told as a wait from now on.
    fn troubles_were_shown(&mut self, pod: &Pod) {
        for (container, trouble) in &mut self.memory.troubles {
            if trouble.reason == "ErrImagePull" {
                let spec = pod.spec.as_ref();
                let image = spec.and_then(|spec| {
                    let found = crate::plan::containers(spec).find(|one| one.name == *container)?;
                    found.image.clone()
                });
                let image = image.unwrap_or_default();
                let failed = std::mem::take(&mut trouble.message);
                trouble.reason = "ImagePullBackOff".to_owned();
                trouble.message = format!("Back-off pulling image {image:?}: ErrImagePull: {failed}");
            }
        }
    }

    fn begin(&mut self, pod: &Arc<Pod>, view: &View, step: Step) {
        let work = Work { tools: self.tools.clone(), pod: pod.clone(), volumes: self.volumes.clone() };
        let sandbox = view.ready_sandbox().cloned();
        let name = match &step {
            Step::Start { name, .. } | Step::Kill { name, .. } | Step::Discard { name, .. } => name.clone(),
            Step::MakeSandbox { .. } | Step::StopSandbox { .. } => String::new(),
            Step::Clear => return,
        };
        self.memory.busy.insert(name.clone());
        self.steps.spawn(async move {
            let failure = carry_out(&work, sandbox, step).await.err();
            Outcome { name, failure }
        });
    }

    fn settle(&mut self, outcome: Outcome) {
        let Outcome { name, failure } = outcome;
        self.memory.busy.remove(&name);
        let now = self.tools.now();
        let Some(failure) = failure else {
            self.memory.troubles.remove(&name);
            self.memory.waits.remove(&name);
            if name.is_empty() {
                self.memory.sandbox_trouble = None;
            }
            return;
        };
        let (first, longest) = match failure.reason {
            "ErrImagePull" | "ErrImageNeverPull" | "RunContainerError" => (LATER, LONGEST),
            _ => (SOON, LONGEST_SOON),
        };
        let before = self.memory.waits.get(&name).copied();
        let wait = before.map_or(first, |before| before.saturating_mul(2).clamp(first, longest));
        self.memory.waits.insert(name.clone(), wait);
        let trouble = Trouble {
            reason: failure.reason.to_owned(),
            message: failure.message,
            again_at: later(now, wait),
        };
        if name.is_empty() {
            self.memory.sandbox_trouble = Some(trouble);
        } else {
            self.memory.troubles.insert(name, trouble);
        }
    }

    /// Gives back what the pod held; its containers stay, for their logs.
    async fn clear(&mut self, pod: &Pod) {
        if self.cleared {
            return;
        }
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        match self.tools.mounts.release(uid) {
            Ok(()) => self.cleared = true,
            Err(error) => tracing::warn!(pod = %name(pod), %error, "cannot give back a volume"),
        }
        *self.volumes.lock().await = None;
    }

    /// Takes away the last traces, and tells the API that nothing is left. False if something is.
    async fn forget(&self, pod: &Pod) -> bool {
        if !self.cleared {
            return false;
        }
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if let Err(error) = remove_all(&self.tools, uid).await {
            tracing::debug!(pod = %name(pod), %error, "cannot remove what is left of a pod");
            return false;
        }
        self.tools.folders.remove(uid);
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let pods = Api::<Pod>::namespaced(self.tools.client.clone(), namespace);
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let deleted = pods.delete(pod.metadata.name.as_deref().unwrap_or_default(), &params).await;
        match deleted {
            Ok(_) => true,
            // It is gone already, or another one has its name.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => true,
            Err(error) => {
                tracing::debug!(pod = %name(pod), %error, "cannot tell that a pod is gone");
                false
            }
        }
    }
}

/// Everything that the runtime has of a pod.
pub(crate) async fn remove_all(tools: &Tools, uid: &str) -> Result<(), kedge_runtime::RuntimeError> {
    let label_selector = [(crate::spec::sandbox::POD_UID.to_owned(), uid.to_owned())].into();
    let filter = PodSandboxFilter { label_selector, ..PodSandboxFilter::default() };
    for sandbox in tools.runtime.sandboxes(filter).await? {
        for outcome in
            [tools.runtime.stop_sandbox(&sandbox.id).await, tools.runtime.remove_sandbox(&sandbox.id).await]
        {
            match outcome {
                Err(error) if !error.is_absent() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

async fn carry_out(work: &Work, sandbox: Option<crate::view::Sandbox>, step: Step) -> Result<(), Failure> {
    let failed =
        |error: kedge_runtime::RuntimeError| Failure { reason: "RuntimeError", message: error.to_string() };
    match step {
        Step::MakeSandbox { attempt } => work.make_sandbox(attempt).await,
        Step::StopSandbox { id } => work.stop_sandbox(&id).await.map_err(failed),
        Step::Start { name, attempt } => match sandbox {
            Some(sandbox) => work.start(&name, attempt, &sandbox).await,
            None => Ok(()),
        },
        Step::Kill { id, name, grace, why } => work.kill(&id, &name, grace, &why).await.map_err(failed),
        Step::Discard { id, .. } => work.discard(&id).await.map_err(failed),
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
