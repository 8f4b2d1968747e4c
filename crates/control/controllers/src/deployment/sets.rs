//! A Deployment's ReplicaSets: which one is its newest template's, which are older, and what a new one looks like.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kedge_engine::Key;
use kube::ResourceExt;

use super::annotations;
use kedge_children::claim;
use kedge_children::names::{self, Hash};
use kedge_children::share;

const HASH_LABEL: &str = "pod-template-hash";
const HASH_LENGTH: usize = 10;

pub(super) struct Sets {
    pub(super) new: Option<Arc<ReplicaSet>>,
    /// The oldest first.
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl Sets {
    pub(super) fn of(deployment: &Deployment, mut all: Vec<Arc<ReplicaSet>>) -> Self {
        all.sort_by_key(|set| age(set));
        let wanted = template(deployment);
        // Should two have the same template, the older one was meant.
        let new = all.iter().position(|set| has_template(set, wanted.as_ref()));
        let new = new.map(|index| all.remove(index));
        Self { new, old: all }
    }

    /// The newest template's set is the last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> + Clone {
        self.old.iter().chain(&self.new)
    }

    pub(super) fn total(&self) -> i32 {
        self.all().map(|set| replicas(set)).sum()
    }
}

fn age(set: &ReplicaSet) -> (Option<jiff::Timestamp>, String) {
    (set.creation_timestamp().map(|time| time.0), set.name_any())
}

pub(super) fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0)
}

pub(super) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

pub(super) fn wanted(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many more pods than wanted there may be, and how many fewer; never neither.
pub(super) fn slack(deployment: &Deployment) -> (i32, i32) {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate") {
        return (0, 0);
    }
    let limits = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let surge = share::up(limits.and_then(|limits| limits.max_surge.as_ref()), wanted(deployment));
    let missing = share::down(limits.and_then(|limits| limits.max_unavailable.as_ref()), wanted(deployment));
    let missing = if surge == 0 && missing == 0 { 1 } else { missing.min(wanted(deployment)) };
    (surge, missing)
}

fn template(deployment: &Deployment) -> Option<PodTemplateSpec> {
    Some(without_hash(deployment.spec.as_ref()?.template.clone()))
}

fn without_hash(mut template: PodTemplateSpec) -> PodTemplateSpec {
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(HASH_LABEL);
    }
    template
}

fn has_template(set: &ReplicaSet, wanted: Option<&PodTemplateSpec>) -> bool {
    let has = set.spec.as_ref().and_then(|spec| spec.template.clone()).map(without_hash);
    has.as_ref() == wanted
}

pub(super) fn selector(deployment: &Deployment) -> Option<&LabelSelector> {
    deployment.spec.as_ref().map(|spec| &spec.selector)
}

/// The name that the newest template's set has or will have.
pub(super) fn new_key(deployment: &Deployment) -> Key {
    let name = format!("{}-{}", deployment.name_any(), hash(deployment));
    Key::new(deployment.namespace().unwrap_or_default(), name)
}

/// A template in ten letters. `collisionCount` moves it away from a name that is taken.
fn hash(deployment: &Deployment) -> String {
    let mut hash = Hash::new();
    hash.add(serde_json::to_string(&template(deployment)).unwrap_or_default().as_bytes());
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0);
    hash.add(&collisions.to_le_bytes());
    names::safe(hash.value(), HASH_LENGTH)
}

/// The set of a template that no set has yet.
pub(super) fn make(deployment: &Deployment, replicas: i32, revision: i64) -> ReplicaSet {
    let hash = (HASH_LABEL.to_owned(), hash(deployment));
    let spec = deployment.spec.clone().unwrap_or_default();
    let mut template = spec.template;
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.extend([hash.clone()]);
    let labels = labels.clone();
    let mut selector = spec.selector;
    selector.match_labels.get_or_insert_default().extend([hash]);
    let key = new_key(deployment);
    let mut set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(key.name),
            namespace: Some(key.namespace),
            labels: Some(labels),
            owner_references: Some(vec![claim::reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(replicas),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    };
    annotations::of_new(deployment, &mut set, revision);
    set
}
