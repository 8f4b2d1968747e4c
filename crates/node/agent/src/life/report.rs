//! Writes a pod's status to the API, one write at a time, the newest one that there is. Nobody waits for it: with the API away
//! the pod lives on, and what is then true is told when somebody listens again.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kedge_client::{Objects, Until};
use kedge_engine::Action;
use kube::api::ListParams;
use tokio::task::JoinSet;

use super::{later, name};
use crate::statics::is_static;
use crate::tools::Tools;

const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// How often the last word is tried.
const TRIES: usize = 3;

pub(super) struct Reports {
    tools: Arc<Tools>,
    /// What should stand there, and the object that it is a change of.
    wanted: Option<Wanted>,
    /// What was last found to be true, and of which revision.
    found: Option<(Option<String>, PodStatus)>,
    /// What was last written, and the revision that it was a change of.
    written: Option<Wanted>,
    writing: JoinSet<Option<Wanted>>,
    again_at: Option<Timestamp>,
}

#[derive(Clone)]
struct Wanted {
    on: Arc<Pod>,
    status: PodStatus,
    /// Writing it changed nothing.
    idle: bool,
}

impl Wanted {
    fn revision(&self) -> Option<&str> {
        self.on.metadata.resource_version.as_deref()
    }
}

impl Reports {
    pub(super) fn new(tools: Arc<Tools>) -> Self {
        Self { tools, wanted: None, found: None, written: None, writing: JoinSet::new(), again_at: None }
    }

    /// The pod with the newest status that is known: the API's, or ours if nobody has taken it yet.
    pub(super) fn newest(&self, pod: Arc<Pod>) -> Arc<Pod> {
        let shown = self.shown(&pod);
        let status = match &self.found {
            Some((revision, status))
                if shown.as_ref().is_none_or(|shown| shown.metadata.resource_version == *revision) =>
            {
                Some(status)
            }
            _ => shown.as_ref().and_then(|shown| shown.status.as_ref()),
        };
        if pod.status.as_ref() == status {
            return pod;
        }
        Arc::new(Pod { status: status.cloned(), ..(*pod).clone() })
    }

    /// The object that shows the pod to everybody: itself, or the mirror of one that the API does not know.
    fn shown(&self, pod: &Arc<Pod>) -> Option<Arc<Pod>> {
        if is_static(pod) { self.tools.mirrors.of(pod) } else { Some(pod.clone()) }
    }

    /// Whether the pod changed by nothing but what we wrote.
    pub(super) fn is_echo(&self, before: &Pod, now: &Pod) -> bool {
        let ours = self.written.as_ref().is_some_and(|written| now.status.as_ref() == Some(&written.status));
        let newest = self.wanted.is_none() && self.writing.is_empty();
        let same = before.spec == now.spec
            && before.metadata.deletion_timestamp == now.metadata.deletion_timestamp
            && before.metadata.deletion_grace_period_seconds == now.metadata.deletion_grace_period_seconds
            && before.metadata.generation == now.metadata.generation
            && before.metadata.annotations == now.metadata.annotations
            && before.metadata.labels == now.metadata.labels;
        ours && newest && same
    }

    /// What we wrote has come back to us: it stands in the pod.
    pub(super) fn came_back(&mut self) {
        self.found = None;
        self.written = None;
    }

    /// Has this told as soon as can be, unless it stands there. `told` is the pod as the API has it.
    pub(super) fn want(&mut self, told: &Arc<Pod>, status: PodStatus) {
        let on = self.shown(told);
        let stands = on.as_ref().is_some_and(|on| on.status.as_ref() == Some(&status));
        let before = self.wanted.take();
        if stands {
            // There is one of these for each pod: what stands in the pod is not held twice.
            self.came_back();
            return;
        }
        let revision = on.as_ref().and_then(|on| on.metadata.resource_version.clone());
        self.found = Some((revision, status.clone()));
        let Some(on) = on else { return };
        let wanted = Wanted { on, status, idle: false };
        let is_written = self.written.as_ref().is_some_and(|written| written.status == wanted.status);
        if is_written && self.written.as_ref().and_then(Wanted::revision) == wanted.revision() {
            return;
        }
        if before.is_none_or(|before| before.revision() != wanted.revision()) {
            self.again_at = None;
        }
        self.wanted = Some(wanted);
        self.begin();
    }

    /// Writes what is wanted, if nothing is being written and it is time.
    pub(super) fn begin(&mut self) {
        let now = self.tools.steady.now();
        let Some(wanted) = self.wanted.clone() else { return };
        if !self.writing.is_empty() || self.again_at.is_some_and(|again| again > now) {
            return;
        }
        // What we have written made another revision, which is on its way to us; on the old one nothing can be written.
        let written = self.written.as_ref().filter(|written| !written.idle);
        let stale = written.is_some_and(|written| written.revision() == wanted.revision());
        if stale && self.again_at.is_none() {
            self.again_at = Some(later(now, PAUSE));
            return;
        }
        self.again_at = None;
        let tools = self.tools.clone();
        self.writing.spawn(async move { write(&tools, wanted).await });
    }

    /// Waits for the write that is under way; never, if there is none.
    pub(super) async fn written(&mut self) {
        match self.writing.join_next().await {
            Some(Ok(Some(written))) => self.took(written),
            Some(_) => self.again_at = Some(later(self.tools.steady.now(), PAUSE)),
            None => std::future::pending().await,
        }
    }

    fn took(&mut self, written: Wanted) {
        // What is wanted of a revision that was seen since is another matter: somebody has written over ours already.
        let is_it =
            |wanted: &Wanted| wanted.status == written.status && wanted.revision() == written.revision();
        if self.wanted.as_ref().is_some_and(is_it) {
            self.wanted = None;
        }
        self.written = Some(written);
    }

    /// When to try again.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.again_at.filter(|_| self.wanted.is_some() && self.writing.is_empty())
    }

    /// Waits until everything is told. False if nobody took it.
    pub(super) async fn flush(&mut self) -> bool {
        if !self.writing.is_empty() {
            self.written().await;
        }
        let Some(mut wanted) = self.wanted.clone() else { return true };
        for _ in 0..TRIES {
            if let Some(written) = write(&self.tools, wanted.clone()).await {
                self.took(written);
                self.wanted = None;
                return true;
            }
            // Somebody else may have written it meanwhile, or it is gone, and then there is nobody to tell.
            let meta = &wanted.on.metadata;
            let namespace = meta.namespace.as_deref().unwrap_or_default();
            let pods = Objects::<Pod>::within(&self.tools.client, namespace);
            // A node may not ask for a pod that isn't its own, and one that is gone is nobody's; so it is looked for.
            let name = meta.name.as_deref().unwrap_or_default();
            let mine = format!("spec.nodeName={},metadata.name={name}", self.tools.place.node);
            let Ok(found) = pods.list(&ListParams::default().fields(&mine)).await else { return false };
            match found.into_iter().find(|pod| pod.metadata.uid == meta.uid) {
                Some(pod) => wanted.on = Arc::new(pod),
                None => return true,
            }
        }
        false
    }
}

async fn write(tools: &Tools, wanted: Wanted) -> Option<Wanted> {
    let to = Pod { status: Some(wanted.status.clone()), ..(*wanted.on).clone() };
    let Some(action) = Action::status(&*wanted.on, &to) else { return Some(Wanted { idle: true, ..wanted }) };
    let done = tools.carrier.carry_out(&[action]).await;
    if let Some(error) = done.error {
        tracing::debug!(pod = %name(&wanted.on), %error, "cannot report");
        return None;
    }
    let made = done.waits.iter().find_map(|wait| match &wait.what {
        Until::Seen(revision) => Some(revision.0.to_string()),
        Until::Leaving { .. } => None,
    });
    let idle = made.as_deref() == wanted.revision();
    Some(Wanted { idle, ..wanted })
}
