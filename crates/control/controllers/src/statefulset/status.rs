//! What a StatefulSet says about its pods and its templates.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;
use kedge_engine::Action;
use kube::ResourceExt;

use super::identity;
use super::pods::{Pods, is_available, is_running_and_ready};
use super::spelling::{is_rolled, wanted};
use crate::revisions::{self, History};

/// The revision from which pods are made that are not to be updated yet: the last one that all pods had.
pub(super) fn current<'a>(set: &StatefulSet, history: &'a History) -> &'a Arc<ControllerRevision> {
    let name = set.status.as_ref().and_then(|status| status.current_revision.as_deref());
    let readable = history.older.iter().filter(|one| revisions::template(one).is_some());
    let found = readable.into_iter().find(|one| Some(&*one.name_any()) == name);
    found.unwrap_or(&history.newest)
}

pub(super) fn of(set: &StatefulSet, history: &History, pods: &Pods, now: Timestamp) -> Option<Action> {
    let count = |which: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.all().filter(|pod| which(pod)).count()).unwrap_or(i32::MAX)
    };
    let of = |name: &String, pod: &Pod| !pod.is_leaving() && identity::revision(pod) == Some(name);
    let (current, newest) = (current(set, history).name_any(), history.newest.name_any());
    let replicas = count(&|_| true);
    let ready = count(&is_running_and_ready);
    let updated = count(&|pod| of(&newest, pod));
    let is_complete =
        is_rolled(set) && [updated, ready, replicas].into_iter().all(|number| number == wanted(set));
    let (current, current_replicas) = match is_complete {
        true => (newest.clone(), updated),
        false => (current.clone(), count(&|pod| of(&current, pod))),
    };
    let some = |number: i32| Some(number).filter(|number| *number != 0);
    let mut told = set.clone();
    told.status = Some(StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas,
        ready_replicas: some(ready),
        available_replicas: Some(count(&|pod| is_running_and_ready(pod) && is_available(set, pod, now))),
        current_replicas: some(current_replicas),
        updated_replicas: some(updated),
        current_revision: Some(current),
        update_revision: Some(newest),
        collision_count: Some(revisions::Revised::collisions(set)),
        conditions: set.status.as_ref().and_then(|status| status.conditions.clone()),
    });
    Action::status(set, &told)
}

/// The name of its next revision is taken; another hash will give another.
pub(super) fn collided(set: &StatefulSet) -> Option<Action> {
    let mut told = set.clone();
    let collisions = revisions::Revised::collisions(set);
    told.status.get_or_insert_default().collision_count = Some(collisions + 1);
    Action::status(set, &told)
}
