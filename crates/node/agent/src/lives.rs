//! The lives of this node's pods: one begins for each pod that somebody tells of, hears of every change, and ends with the
//! pod. Pods come from the API, from files, and from the record of what was here before; each is known by its uid.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_runtime::wire::PodSandboxFilter;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::life::{Life, name, remove_all};
use crate::record;
use crate::registry::Registry;
use crate::spec::sandbox::POD_UID;
use crate::tools::Tools;

/// Who says that a pod is to run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Api,
    File,
}

struct Known {
    tell: watch::Sender<Arc<Pod>>,
    source: Source,
}

pub(crate) struct Lives {
    tools: Arc<Tools>,
    registry: Arc<Registry>,
    known: HashMap<String, Known>,
    /// Pods from files that wait until another one of their name is gone.
    waiting: HashMap<String, Pod>,
    /// Whose life ended, and whether nothing is left of it but its folders.
    tasks: JoinSet<(String, bool)>,
}

impl Lives {
    pub(crate) fn new(tools: Arc<Tools>, registry: Arc<Registry>) -> Self {
        Self { tools, registry, known: HashMap::new(), waiting: HashMap::new(), tasks: JoinSet::new() }
    }

    /// The pods that were here when an agent last looked, as it wrote them down: they are looked after also while nobody
    /// can be asked whether they still should be.
    pub(crate) fn remember(&mut self) {
        for pod in record::read(&self.tools.folders) {
            self.begin(pod, Source::Api);
        }
    }

    /// A pod as the API has it.
    pub(crate) fn told(&mut self, mut pod: Pod) {
        pod.metadata.managed_fields = None;
        if crate::statics::is_mirror(&pod) {
            self.tools.mirrors.seen(pod, &self.registry);
            return;
        }
        if let Err(error) = record::write(&self.tools.folders, &pod) {
            tracing::warn!(pod = %name(&pod), %error, "cannot write down a pod");
        }
        self.begin(pod, Source::Api);
    }

    /// A pod that the API has no longer.
    pub(crate) fn gone(&mut self, pod: &Pod) {
        if crate::statics::is_mirror(pod) {
            self.tools.mirrors.gone(pod);
            return;
        }
        self.vanish(pod.metadata.uid.as_deref().unwrap_or_default());
    }

    /// These are all that the API has.
    pub(crate) async fn listed(&mut self, uids: &HashSet<String>) {
        self.tools.mirrors.listed(uids);
        let from_api = self.known.iter().filter(|(_, known)| known.source == Source::Api);
        let gone: Vec<String> =
            from_api.map(|(uid, _)| uid).filter(|uid| !uids.contains(*uid)).cloned().collect();
        gone.iter().for_each(|uid| self.vanish(uid));
        self.tools.cpus.retain(|uid| self.known.contains_key(uid));
        self.strangers().await;
    }

    /// These are all that the files have. A changed one is another pod, which waits for the old one's end.
    pub(crate) fn filed(&mut self, pods: Vec<Pod>) {
        let uids: HashSet<&str> = pods.iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
        let from_files = self.known.iter().filter(|(_, known)| known.source == Source::File);
        let gone: Vec<String> =
            from_files.map(|(uid, _)| uid.clone()).filter(|uid| !uids.contains(&**uid)).collect();
        gone.iter().for_each(|uid| self.vanish(uid));
        self.waiting.clear();
        for pod in pods {
            let leaving = self.known.values().any(|known| {
                let old = known.tell.borrow();
                let is_same =
                    old.metadata.uid == pod.metadata.uid && old.metadata.deletion_timestamp.is_none();
                known.source == Source::File && name(&old) == name(&pod) && !is_same
            });
            if leaving {
                self.waiting.insert(name(&pod), pod);
            } else {
                self.begin(pod, Source::File);
            }
        }
    }

    fn begin(&mut self, pod: Pod, source: Source) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let pod = Arc::new(pod);
        if let Some(known) = self.known.get(&uid) {
            known.tell.send_if_modified(|held| {
                let is_new = *held != pod && held.metadata.deletion_timestamp.is_none()
                    || pod.metadata.deletion_timestamp.is_some();
                if is_new {
                    *held = pod;
                }
                is_new
            });
            return;
        }
        let (tell, wanted) = watch::channel(pod);
        self.known.insert(uid.clone(), Known { tell, source });
        let life = Life::new(self.tools.clone(), self.registry.clone(), wanted, self.registry.bell(&uid));
        self.tasks.spawn(async move {
            let is_gone = life.live().await;
            (uid, is_gone)
        });
    }

    /// A pod that is gone without having waited for us ends as if it were deleted now. Its room is another's already: whoever gives it
    /// away does not know it any more.
    fn vanish(&self, uid: &str) {
        let Some(known) = self.known.get(uid) else { return };
        self.registry.release(uid);
        let now = self.tools.now();
        known.tell.send_modify(|pod| *pod = Arc::new(deleted(pod, now)));
    }

    /// Waits for the end of a life; never, if there is none.
    pub(crate) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok((uid, is_gone))) => {
                // Not by the life itself: what was told of the pod while it ended was written down in its folder.
                if is_gone {
                    self.tools.folders.remove(&uid);
                }
                let Some(over) = self.known.remove(&uid) else { return };
                let key = name(&over.tell.borrow());
                if let Some(next) = self.waiting.remove(&key) {
                    self.begin(next, Source::File);
                }
            }
            Some(Err(error)) => tracing::error!(%error, "a pod's life ended before the pod"),
            None => std::future::pending().await,
        }
    }

    /// What is left of pods that nobody knows: they went while this agent was away.
    async fn strangers(&self) {
        let tools = &self.tools;
        let sandboxes = match tools.runtime.sandboxes(PodSandboxFilter::default()).await {
            Ok(sandboxes) => sandboxes,
            Err(error) => {
                tracing::warn!(%error, "cannot look for pods that are gone");
                return;
            }
        };
        let labelled = sandboxes.iter().filter_map(|sandbox| sandbox.labels.get(POD_UID).cloned());
        let left: BTreeSet<String> =
            labelled.chain(tools.folders.uids()).chain(tools.cgroups.uids().unwrap_or_default()).collect();
        for uid in left.iter().filter(|uid| !self.known.contains_key(*uid)) {
            if let Err(error) = remove_all(tools, uid).await {
                tracing::warn!(%error, uid, "cannot remove what is left of a pod");
                continue;
            }
            match crate::volumes::release(tools, uid).await {
                Ok(()) => tools.folders.remove(uid),
                Err(error) => tracing::warn!(%error, uid, "cannot give back the volumes of a pod"),
            }
        }
    }
}

fn deleted(pod: &Pod, now: Timestamp) -> Pod {
    let mut gone = pod.clone();
    gone.metadata.deletion_timestamp.get_or_insert(Time(now));
    let usual = gone.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let is_static = crate::statics::is_static(pod);
    let grace = gone.metadata.deletion_grace_period_seconds.or(usual.filter(|_| is_static)).unwrap_or(1);
    gone.metadata.deletion_grace_period_seconds = Some(grace.max(1));
    gone
}
