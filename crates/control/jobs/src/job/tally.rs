//! Counting pods that have ended, each exactly once. A pod carries a finalizer until it is counted. First its uid is noted in the
//! job's status, then it loses the finalizer, then the note becomes a count: whoever stops between any two of these can see
//! from the pod and the note how far it came. A success of an index needs no note, because it can't be counted twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::UncountedTerminatedPods;
use k8s_openapi::api::core::v1::Pod;

use super::ending::Ending;
use super::scene::Scene;
use super::tracked::Tracked;

/// How many notes a status holds; each is a uid long.
const MOST_NOTES: usize = 500;

pub(super) struct Tally {
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    noted: Notes,
    /// Pods that need their finalizer no longer, once the notes are written.
    pub(super) free: Vec<Arc<Pod>>,
    /// More pods are to be counted than there is room for.
    pub(super) is_full: bool,
}

#[derive(Clone, Default)]
struct Notes {
    succeeded: Vec<String>,
    failed: Vec<String>,
}

/// `unwanted` are pods at work that are about to be removed; they count as nothing.
pub(super) fn tally(scene: &Scene, ending: Option<&Ending>, unwanted: &[Arc<Pod>]) -> Tally {
    let tracked: BTreeSet<&str> =
        scene.pods.iter().filter(|pod| pod.is_tracked()).map(|pod| pod.id()).collect();
    let counted = |number: Option<i32>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
    let uncounted = &scene.facts.uncounted;
    let mut tally = Tally {
        succeeded: counted(scene.facts.status.succeeded),
        failed: counted(scene.facts.status.failed),
        noted: Notes {
            succeeded: uncounted.succeeded.clone().unwrap_or_default(),
            failed: uncounted.failed.clone().unwrap_or_default(),
        },
        free: Vec::new(),
        is_full: false,
    };
    tally.count_unless(|uid| tracked.contains(uid));
    let unwanted: BTreeSet<&str> = unwanted.iter().map(|pod| pod.id()).collect();
    for pod in scene.pods.iter().filter(|pod| pod.is_tracked()) {
        let is_unwanted = unwanted.contains(pod.id());
        if !is_unwanted && !is_settled(scene, ending, pod) {
            continue;
        }
        if tally.noted.len() >= MOST_NOTES {
            tally.is_full = true;
            break;
        }
        tally.note(scene, ending, pod);
        tally.free.push(pod.clone());
    }
    if scene.facts.is_indexed() {
        tally.succeeded = scene.succeeded_indexes.len();
    }
    tally
}

/// Nothing more is expected of the pod, or nobody cares.
fn is_settled(scene: &Scene, ending: Option<&Ending>, pod: &Pod) -> bool {
    if scene.facts.is_leaving || ending.is_some() || pod.has_succeeded() {
        return true;
    }
    let is_last_try = || {
        let last = pod.index().and_then(|index| scene.last_tries.get(&index));
        last.is_some_and(|last| last.id() == pod.id())
    };
    scene.is_failed(pod) && !is_last_try()
}

impl Tally {
    pub(super) fn notes(&self) -> UncountedTerminatedPods {
        let some = |uids: &Vec<String>| Some(uids.clone()).filter(|uids| !uids.is_empty());
        UncountedTerminatedPods { succeeded: some(&self.noted.succeeded), failed: some(&self.noted.failed) }
    }

    pub(super) fn has_notes(&self) -> bool {
        self.noted.len() > 0
    }

    /// The count after the pods have lost their finalizers.
    #[must_use]
    pub(super) fn settled(mut self) -> Self {
        let free: BTreeSet<String> = self.free.iter().map(|pod| pod.id().to_owned()).collect();
        self.count_unless(|uid| !free.contains(uid));
        self
    }

    fn note(&mut self, scene: &Scene, ending: Option<&Ending>, pod: &Pod) {
        let uid = pod.id();
        let has = |uids: &[String]| uids.iter().any(|noted| noted == uid);
        if has(&self.noted.failed) || has(&self.noted.succeeded) || !scene.is_valid(pod) {
            return;
        }
        // When the job fails, so has every pod that has not succeeded.
        let fails = ending.is_some_and(|ending| !ending.succeeds);
        if pod.has_succeeded() {
            if !scene.facts.is_indexed() {
                self.noted.succeeded.push(uid.to_owned());
            }
        } else if (scene.is_failed(pod) || fails) && scene.meaning(pod).counts() {
            self.noted.failed.push(uid.to_owned());
        }
    }

    /// Makes counts of notes.
    fn count_unless(&mut self, waits: impl Fn(&str) -> bool) {
        let before = (self.noted.succeeded.len(), self.noted.failed.len());
        self.noted.succeeded.retain(|uid| waits(uid));
        self.noted.failed.retain(|uid| waits(uid));
        self.succeeded += before.0 - self.noted.succeeded.len();
        self.failed += before.1 - self.noted.failed.len();
    }
}

impl Notes {
    fn len(&self) -> usize {
        self.succeeded.len() + self.failed.len()
    }
}
