//! What to do with a StatefulSet's pods next: fill the places from the first to the last, remove what has no place from the
//! last to the first, then update from the last to the first. In order means one step at a time.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec};
use kedge_children::pods::PodFacts;
use kedge_client::Cache;
use kedge_engine::{Action, Key, NotReady, Severity, World};
use kube::ResourceExt;

use super::claims::Claims;
use super::pods::{Pods, has_ended, is_available, is_healthy, is_running_and_ready};
use super::spelling::{is_ordered, is_rolled, max_unavailable, ordinals, partition};
use super::{identity, retention, status};
use crate::revisions::{self, History, Revised};

/// What is to be done, by the order in which it is: whose a volume is before its pod goes, volumes before their pods.
#[derive(Default)]
pub(super) struct Steps {
    changes: Vec<Action>,
    claims: Vec<(String, PersistentVolumeClaim)>,
    deleted: Vec<Arc<Pod>>,
    made: Vec<Pod>,
    /// Why a pod can't be made, of which the API would say the same.
    hindered: Vec<(String, String)>,
}

impl Steps {
    pub(super) fn of(
        set: &StatefulSet,
        history: &History,
        pods: &Pods,
        world: &World,
        now: Timestamp,
    ) -> Result<Self, NotReady> {
        let current = status::current(set, history);
        let walk = Walk {
            set,
            now,
            claims: world.cache()?,
            pods: world.cache()?,
            old: (current.name_any(), revisions::template(current)),
            new: (history.newest.name_any(), set.template().cloned()),
        };
        let mut steps = Self::default();
        steps.all(&walk, pods);
        Ok(steps)
    }

    fn all(&mut self, walk: &Walk<'_>, pods: &Pods) {
        let ordered = is_ordered(walk.set);
        for (ordinal, pod) in &pods.places {
            let settled = match pod {
                Some(pod) => self.keep(walk, *ordinal, pod),
                None => self.fill(walk, *ordinal),
            };
            if ordered && !settled {
                return;
            }
        }
        for (ordinal, pod) in &pods.condemned {
            self.settle(walk, *ordinal, pod, false);
        }
        let healthy = |pod: &Pod| is_healthy(walk.set, pod, walk.now);
        // Of those that don't work the first has to go first: waiting for it would be waiting for ever.
        let hopeless =
            pods.condemned.iter().rev().find(|(_, pod)| !healthy(pod)).map(|(ordinal, _)| *ordinal);
        for (ordinal, pod) in &pods.condemned {
            if ordered && (pod.is_leaving() || !works(walk, pod) && hopeless != Some(*ordinal)) {
                return;
            }
            if !pod.is_leaving() {
                self.deleted.push(pod.clone());
                if ordered {
                    return;
                }
            }
        }
        if is_rolled(walk.set) {
            self.update(walk, pods);
        }
    }

    /// Makes the pod of an empty place. True only if that place needs nothing more before the next.
    fn fill(&mut self, walk: &Walk<'_>, ordinal: i32) -> bool {
        let name = identity::name(walk.set, ordinal);
        let claims = Claims::of(walk.set, ordinal, &walk.claims);
        if claims.there.iter().any(|claim| retention::is_of_former_pod(walk.set, &name, claim)) {
            return false;
        }
        if let Some(claim) = claims.leaving() {
            self.hindered.push((name, format!("pvc {} is being deleted", claim.name_any())));
            return false;
        }
        let key = Key::new(walk.set.namespace().unwrap_or_default(), &*name);
        if let Some(other) = walk.pods.get(&key) {
            if !other.is_leaving() {
                self.hindered.push((name.clone(), format!("pods {name:?} already exists")));
            }
            return false;
        }
        self.claims.extend(claims.missing.into_iter().map(|claim| (name.clone(), claim)));
        let (revision, template) = walk.made_from(ordinal);
        self.made.push(identity::make(walk.set, ordinal, template.as_ref(), revision));
        false
    }

    /// Looks after a pod in its place. True if it works and the next one's turn has come.
    fn keep(&mut self, walk: &Walk<'_>, ordinal: i32, pod: &Arc<Pod>) -> bool {
        if has_ended(pod) {
            if !pod.is_leaving() {
                self.deleted.push(pod.clone());
            }
            return false;
        }
        if pod.phase() == "Pending" {
            let missing = Claims::of(walk.set, ordinal, &walk.claims).missing;
            self.claims.extend(missing.into_iter().map(|claim| (pod.name_any(), claim)));
        }
        if is_ordered(walk.set) && (pod.is_leaving() || !works(walk, pod)) {
            return false;
        }
        self.settle(walk, ordinal, pod, true);
        self.changes.extend(identity::mended(pod, ordinal));
        true
    }

    fn settle(&mut self, walk: &Walk<'_>, ordinal: i32, pod: &Pod, is_wanted: bool) {
        let claims = Claims::of(walk.set, ordinal, &walk.claims).there;
        let settled = claims.iter().filter_map(|claim| retention::settled(walk.set, pod, is_wanted, claim));
        self.changes.extend(settled);
    }

    /// Removes pods of old templates, so that their places are filled anew: the last first, as many as may be missing.
    fn update(&mut self, walk: &Walk<'_>, pods: &Pods) {
        let first = usize::try_from(partition(walk.set)).unwrap_or(usize::MAX);
        let healthy = |pod: &Option<Arc<Pod>>| {
            pod.as_ref().is_some_and(|pod| is_healthy(walk.set, pod, walk.now) && !self.deletes(pod))
        };
        let unhealthy = pods.places.iter().filter(|(_, pod)| !healthy(pod)).count();
        let targets = pods.places.iter().skip(first).rev().map(|(_, pod)| pod);
        let outdated = |pod: &&Arc<Pod>| {
            !pod.is_leaving() && !self.deletes(pod) && identity::revision(pod) != Some(&walk.new.0)
        };
        let chosen: Vec<Arc<Pod>> = match max_unavailable(walk.set) {
            Some(most) => {
                let room = usize::try_from(most).unwrap_or(0).saturating_sub(unhealthy);
                targets.flatten().filter(outdated).take(room).cloned().collect()
            }
            // What is new has to work before the next one goes; what is old may be broken.
            None => {
                let settled = |pod: &&Option<Arc<Pod>>| healthy(pod) && !pod.iter().any(|pod| outdated(&pod));
                let next = targets.skip_while(settled).take(1).flatten();
                next.filter(outdated).cloned().collect()
            }
        };
        self.deleted.extend(chosen);
    }

    fn deletes(&self, pod: &Arc<Pod>) -> bool {
        self.deleted.iter().any(|one| Arc::ptr_eq(one, pod))
    }

    pub(super) fn actions(self, set: &StatefulSet) -> Vec<Action> {
        let owner = set.name_any();
        let told = |reason, message| Action::tell(set, Severity::Normal, reason, message);
        let mut actions = self.changes;
        actions.extend(self.deleted.iter().map(|pod| Action::delete(&**pod)));
        actions.extend(self.deleted.iter().map(|pod| {
            let message = format!("Delete Pod {} in StatefulSet {owner} successful", pod.name_any());
            told("SuccessfulDelete", message)
        }));
        actions.extend(self.hindered.iter().map(|(pod, why)| {
            let message = format!("Create Pod {pod} in StatefulSet {owner} failed error: {why}");
            Action::tell(set, Severity::Warning, "FailedCreate", message)
        }));
        actions.extend(self.claims.iter().map(|(_, claim)| Action::create(claim)));
        // What is said stands between a pod and its volumes: neighbouring creations happen together.
        actions.extend(self.claims.iter().map(|(pod, claim)| {
            let message =
                format!("Create Claim {} Pod {pod} in StatefulSet {owner} success", claim.name_any());
            told("SuccessfulCreate", message)
        }));
        actions.extend(self.made.iter().map(Action::create));
        actions.extend(self.made.iter().map(|pod| {
            let message = format!("Create Pod {} in StatefulSet {owner} successful", pod.name_any());
            told("SuccessfulCreate", message)
        }));
        actions
    }
}

/// All that a step is decided by.
struct Walk<'a> {
    set: &'a StatefulSet,
    now: Timestamp,
    claims: Arc<Cache<PersistentVolumeClaim>>,
    pods: Arc<Cache<Pod>>,
    old: (String, Option<PodTemplateSpec>),
    new: (String, Option<PodTemplateSpec>),
}

impl Walk<'_> {
    /// The revision and the template of a new pod: those before the partition stay as they were.
    fn made_from(&self, ordinal: i32) -> (&str, &Option<PodTemplateSpec>) {
        let first = ordinals(self.set).start.saturating_add(partition(self.set));
        let (revision, template) = if ordinal < first { &self.old } else { &self.new };
        (revision, template)
    }
}

fn works(walk: &Walk<'_>, pod: &Pod) -> bool {
    is_running_and_ready(pod) && is_available(walk.set, pod, walk.now)
}
