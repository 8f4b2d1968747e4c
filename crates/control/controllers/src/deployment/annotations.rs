//! What a Deployment writes on its ReplicaSets: which revision they are, and what it wanted when it scaled them.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;

use super::sets::{self, Sets};

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// A Deployment's annotations are its sets', too, but for these.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

pub(super) fn revision(set: &ReplicaSet) -> i64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The number that the newest template's set must at least have.
pub(super) fn next_revision(sets: &Sets) -> i64 {
    sets.old.iter().map(|set| revision(set)).max().unwrap_or(0) + 1
}

pub(super) fn desired(set: &ReplicaSet) -> Option<i32> {
    set.annotations().get(DESIRED)?.parse().ok()
}

pub(super) fn max(set: &ReplicaSet) -> Option<i32> {
    set.annotations().get(MAX)?.parse().ok()
}

/// Notes what was wanted when a set was given its size.
pub(super) fn note_sizes(deployment: &Deployment, set: &mut ReplicaSet) {
    let (wanted, (surge, _)) = (sets::wanted(deployment), sets::slack(deployment));
    let annotations = set.annotations_mut();
    annotations.insert(DESIRED.to_owned(), wanted.to_string());
    annotations.insert(MAX.to_owned(), (wanted + surge).to_string());
}

pub(super) fn of_new(deployment: &Deployment, set: &mut ReplicaSet, revision: i64) {
    copy(deployment, set);
    set.annotations_mut().insert(REVISION.to_owned(), revision.to_string());
    note_sizes(deployment, set);
}

/// A set whose template is the newest again gets a new number and remembers its old ones.
pub(super) fn renew(deployment: &Deployment, set: &mut ReplicaSet, next: i64) {
    copy(deployment, set);
    let had = revision(set);
    if had >= next {
        return;
    }
    if had > 0 {
        let annotations = set.annotations_mut();
        let history = annotations.remove(HISTORY).filter(|text| !text.is_empty());
        let history = history.map_or(had.to_string(), |text| format!("{text},{had}"));
        annotations.insert(HISTORY.to_owned(), history);
    }
    set.annotations_mut().insert(REVISION.to_owned(), next.to_string());
}

fn copy(deployment: &Deployment, set: &mut ReplicaSet) {
    let copied = deployment.annotations().iter().filter(|(name, _)| !NOT_COPIED.contains(&name.as_str()));
    let copied: Vec<_> = copied.map(|(name, value)| (name.clone(), value.clone())).collect();
    set.annotations_mut().extend(copied);
}
