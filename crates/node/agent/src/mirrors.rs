//! Shows in the API the pods that files tell of: each has a mirror, which anybody can read and which changes nothing here.
//! A mirror that is deleted comes back; one whose pod is gone goes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kedge_client::Objects;
use kube::api::{DeleteParams, Preconditions};
use tokio::sync::watch;

use crate::life::name;
use crate::registry::Registry;
use crate::statics::{HASH, MIRROR, annotation};
use crate::tools::Tools;

/// After the API did not take a mirror.
const PAUSE: Duration = Duration::from_secs(2);

/// The mirrors that the API has.
#[derive(Clone, Default)]
struct Seen {
    /// By the pod's name.
    pods: HashMap<String, Arc<Pod>>,
    /// Whether these are all.
    complete: bool,
}

pub(crate) struct Mirrors(watch::Sender<Seen>);

impl Default for Mirrors {
    fn default() -> Self {
        Self(watch::Sender::new(Seen::default()))
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    Create(Arc<Pod>),
    Delete(Arc<Pod>),
}

impl Mirrors {
    /// A mirror as the API has it. Its pod's life is woken, to say in it how the pod is.
    pub(crate) fn seen(&self, mirror: Pod, registry: &Registry) {
        let uid = annotation(&mirror, MIRROR).unwrap_or_default().to_owned();
        self.0.send_modify(|seen| drop(seen.pods.insert(name(&mirror), Arc::new(mirror))));
        registry.wake(&uid);
    }

    pub(crate) fn gone(&self, mirror: &Pod) {
        self.0.send_modify(|seen| {
            let key = name(mirror);
            // Another one may have its name by now.
            if seen.pods.get(&key).is_some_and(|held| held.metadata.uid == mirror.metadata.uid) {
                seen.pods.remove(&key);
            }
        });
    }

    /// These uids are all that the API has.
    pub(crate) fn listed(&self, uids: &HashSet<String>) {
        self.0.send_modify(|seen| {
            seen.pods.retain(|_, pod| pod.metadata.uid.as_ref().is_some_and(|uid| uids.contains(uid)));
            seen.complete = true;
        });
    }

    /// What shows this pod in the API, if anything does yet.
    pub(crate) fn of(&self, pod: &Pod) -> Option<Arc<Pod>> {
        let seen = self.0.borrow();
        let mirror = seen.pods.get(&name(pod))?;
        shows(mirror, pod).then(|| mirror.clone())
    }

    /// Keeps the mirrors of these pods, until it is dropped.
    pub(crate) async fn keep(&self, tools: &Tools, mut pods: watch::Receiver<Vec<Pod>>) {
        let (mut mirrors, mut node) = (self.0.subscribe(), tools.node.subscribe());
        loop {
            let wanted: Vec<Arc<Pod>> = pods.borrow_and_update().iter().cloned().map(Arc::new).collect();
            let seen = mirrors.borrow_and_update().clone();
            let owner = node.borrow_and_update().clone();
            let mut failed = false;
            for step in plan(&wanted, &seen) {
                let done = match (&step, &owner) {
                    (Step::Create(pod), Some(owner)) => create(tools, pod, owner).await,
                    // A mirror belongs to the node's object, which is on its way.
                    (Step::Create(_), None) => Ok(()),
                    (Step::Delete(mirror), _) => delete(tools, mirror).await,
                };
                if let Err(error) = done {
                    tracing::warn!(%error, "cannot show a static pod");
                    failed = true;
                }
            }
            let again = async {
                match failed {
                    true => tools.clock.sleep(PAUSE).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = pods.changed() => if changed.is_err() { return },
                _ = mirrors.changed() => {}
                _ = node.changed() => {}
                () = again => {}
            }
        }
    }
}

fn shows(mirror: &Pod, pod: &Pod) -> bool {
    mirror.metadata.deletion_timestamp.is_none() && annotation(mirror, MIRROR) == annotation(pod, HASH)
}

fn plan(wanted: &[Arc<Pod>], seen: &Seen) -> Vec<Step> {
    if !seen.complete {
        return Vec::new();
    }
    let by_name: HashMap<String, &Arc<Pod>> = wanted.iter().map(|pod| (name(pod), pod)).collect();
    let wrong =
        seen.pods.iter().filter(|(key, mirror)| !by_name.get(*key).is_some_and(|pod| shows(mirror, pod)));
    let mut steps: Vec<Step> = wrong.map(|(_, mirror)| Step::Delete(mirror.clone())).collect();
    // One that is in the way goes first; once it is gone there is another turn.
    let missing = wanted.iter().filter(|pod| !seen.pods.contains_key(&name(pod)));
    steps.extend(missing.map(|pod| Step::Create(pod.clone())));
    steps
}

async fn create(tools: &Tools, pod: &Pod, node: &Node) -> Result<(), kube::Error> {
    let mut mirror = pod.clone();
    let hash = annotation(pod, HASH).unwrap_or_default().to_owned();
    mirror.metadata.annotations.get_or_insert_default().insert(MIRROR.to_owned(), hash);
    mirror.metadata.uid = None;
    mirror.metadata.resource_version = None;
    mirror.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: tools.place.node.clone(),
        uid: node.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let pods = Objects::<Pod>::within(&tools.client, namespace);
    match pods.create(&mirror).await {
        // The watch will show it.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop),
    }
}

async fn delete(tools: &Tools, mirror: &Pod) -> Result<(), kube::Error> {
    let namespace = mirror.metadata.namespace.as_deref().unwrap_or_default();
    let pods = Objects::<Pod>::within(&tools.client, namespace);
    let params = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions { uid: mirror.metadata.uid.clone(), resource_version: None }),
        ..DeleteParams::default()
    };
    match pods.delete(mirror.metadata.name.as_deref().unwrap_or_default(), &params).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        gone => gone,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, key: &str, hash: &str, leaving: bool) -> Arc<Pod> {
        let deletion = leaving.then_some("2030-01-01T12:00:00Z");
        let meta = json!({
            "name": name, "namespace": "n", "uid": format!("u-{name}"), "annotations": {key: hash},
            "deletionTimestamp": deletion,
        });
        Arc::new(serde_json::from_value(json!({"metadata": meta})).unwrap())
    }

    #[test]
    fn each_pod_has_one_mirror() {
        let wanted = |hash: &str| vec![pod("a", HASH, hash, false)];
        let mirror = |hash: &str, leaving| vec![pod("a", MIRROR, hash, leaving)];
        for (case, wanted, mirrors, complete, steps) in [
            ("nobody knows yet what there is", wanted("1"), vec![], false, ""),
            ("none yet", wanted("1"), vec![], true, "+a"),
            ("as it should be", wanted("1"), mirror("1", false), true, ""),
            ("the file changed", wanted("2"), mirror("1", false), true, "-a"),
            ("somebody deletes it", wanted("1"), mirror("1", true), true, "-a"),
            ("the file is gone", vec![], mirror("1", false), true, "-a"),
        ] {
            let pods = mirrors.into_iter().map(|mirror| (name(&mirror), mirror)).collect();
            let planned = plan(&wanted, &Seen { pods, complete });
            let shown = planned.iter().map(|step| match step {
                Step::Create(pod) => format!("+{}", pod.metadata.name.as_deref().unwrap()),
                Step::Delete(pod) => format!("-{}", pod.metadata.name.as_deref().unwrap()),
            });
            assert_eq!(shown.collect::<Vec<_>>().join(" "), steps, "{case}");
        }
    }
}
