//! How many old templates are kept to roll back to.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kedge_engine::Action;
use kube::ResourceExt;

use super::annotations;
use super::sets::{Sets, replicas};
use super::status;

/// The oldest empty sets beyond the limit, once the rollout is complete.
pub(super) fn surplus(deployment: &Deployment, sets: &Sets) -> Vec<Action> {
    let limit = deployment.spec.as_ref().and_then(|spec| spec.revision_history_limit);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return Vec::new() };
    if !super::is_paused(deployment) && !status::is_complete(deployment, sets) {
        return Vec::new();
    }
    let mut empty: Vec<_> = sets.old.iter().filter(|set| is_empty(set)).collect();
    empty.sort_by_key(|set| (annotations::revision(set), set.creation_timestamp().map(|time| time.0)));
    let count = empty.len().saturating_sub(limit);
    empty.into_iter().take(count).map(|set| Action::delete(&**set)).collect()
}

fn is_empty(set: &ReplicaSet) -> bool {
    let status = set.status.as_ref();
    let seen = status.and_then(|status| status.observed_generation) >= set.metadata.generation;
    let running = status.map_or(0, |status| status.replicas);
    seen && running == 0 && replicas(set) == 0 && set.metadata.deletion_timestamp.is_none()
}
