//! A job and its pods as they are seen: who works, who has ended and not been counted, which indexes are done. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;

use super::backoff;
use super::facts::Facts;
use super::indexes::Indexes;
use super::policy::{self, Meaning};
use super::tracked::Tracked;

pub(super) struct Scene {
    pub(super) facts: Facts,
    /// In order of index, then name.
    pub(super) pods: Vec<Arc<Pod>>,
    /// All successes and failures, those that are still to be counted too.
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    pub(super) succeeded_indexes: Indexes,
    /// Only where indexes are judged one by one.
    pub(super) failed_indexes: Option<Indexes>,
    /// Of every index that waits for another try, the pod that failed last. It is kept until its successor is there, because
    /// it knows how often the index has failed.
    pub(super) last_tries: BTreeMap<usize, Arc<Pod>>,
}

impl Scene {
    pub(super) fn new(facts: Facts, mut pods: Vec<Arc<Pod>>) -> Self {
        pods.sort_by(|a, b| a.index().cmp(&b.index()).then_with(|| a.metadata.name.cmp(&b.metadata.name)));
        let mut scene = Self {
            facts,
            pods,
            succeeded: 0,
            failed: 0,
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            last_tries: BTreeMap::new(),
        };
        scene.count();
        if scene.facts.is_indexed() {
            scene.judge_indexes();
        }
        scene
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.iter().filter(|pod| pod.is_active())
    }

    /// How many are on their way out and have not ended.
    pub(super) fn leaving(&self) -> usize {
        self.pods.iter().filter(|pod| is_ending(pod)).count()
    }

    /// It counts as failed. One that is told to go has failed too, unless the job wants to see how it ends.
    pub(super) fn is_failed(&self, pod: &Pod) -> bool {
        pod.has_failed() || (!self.facts.awaits_the_end_of_pods() && pod.is_leaving() && !pod.has_succeeded())
    }

    pub(super) fn meaning(&self, pod: &Pod) -> Meaning {
        policy::meaning(self.facts.spec.pod_failure_policy.as_ref(), pod)
    }

    /// Works on an index that the job has; for a job without indexes everything does.
    pub(super) fn is_valid(&self, pod: &Pod) -> bool {
        !self.facts.is_indexed() || self.index_of(pod).is_some()
    }

    fn index_of(&self, pod: &Pod) -> Option<usize> {
        pod.index().filter(|index| *index < self.facts.indexes_end())
    }

    /// Pods that have not been counted, nor been noted to be.
    fn new_ones(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let noted: BTreeSet<&str> = self.noted().collect();
        self.pods
            .iter()
            .filter(move |pod| pod.is_tracked() && self.is_valid(pod) && !noted.contains(pod.id()))
    }

    fn noted(&self) -> impl Iterator<Item = &str> {
        let uncounted = &self.facts.uncounted;
        let all = uncounted.succeeded.iter().flatten().chain(uncounted.failed.iter().flatten());
        all.map(String::as_str)
    }

    fn count(&mut self) {
        let counted = |number: Option<i32>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
        let (status, uncounted) = (&self.facts.status, &self.facts.uncounted);
        let fresh = self.new_ones().filter(|pod| pod.has_succeeded()).count();
        let noted = uncounted.succeeded.as_ref().map_or(0, Vec::len);
        let succeeded = counted(status.succeeded) + noted + fresh;
        let fails = |pod: &&Arc<Pod>| self.is_failed(pod) && self.meaning(pod).counts();
        let fresh = self.new_ones().filter(fails).count();
        let noted = uncounted.failed.as_ref().map_or(0, Vec::len);
        let failed = counted(status.failed) + noted + fresh;
        (self.succeeded, self.failed) = (succeeded, failed);
    }

    fn judge_indexes(&mut self) {
        let end = self.facts.indexes_end();
        let tracked = || self.pods.iter().filter(|pod| pod.is_tracked());
        let known = Indexes::parse(self.facts.status.completed_indexes.as_deref().unwrap_or_default(), end);
        let fresh = tracked().filter(|pod| pod.has_succeeded()).filter_map(|pod| self.index_of(pod));
        let succeeded = known.with(fresh);
        self.succeeded = succeeded.len();
        if let Some(limit) = self.facts.index_limit() {
            let known = Indexes::parse(self.facts.status.failed_indexes.as_deref().unwrap_or_default(), end);
            let lost = tracked().filter(|pod| self.loses_index(pod, limit));
            let failed = known.with(lost.filter_map(|pod| self.index_of(pod)));
            self.last_tries = self.last_tries(&succeeded, &failed);
            self.failed_indexes = Some(failed);
        }
        self.succeeded_indexes = succeeded;
    }

    fn loses_index(&self, pod: &Pod, limit: usize) -> bool {
        self.is_failed(pod)
            && match self.meaning(pod) {
                Meaning::FailsIndex => true,
                Meaning::Ignored => false,
                Meaning::Counts | Meaning::FailsJob(_) => pod.earlier_failures().0 >= limit,
            }
    }

    fn last_tries(&self, succeeded: &Indexes, failed: &Indexes) -> BTreeMap<usize, Arc<Pod>> {
        let busy: BTreeSet<usize> = self.active().filter_map(|pod| pod.index()).collect();
        let mut last: BTreeMap<usize, Arc<Pod>> = BTreeMap::new();
        let rank = |pod: &Pod| {
            let (counted, ignored) = pod.earlier_failures();
            (counted.saturating_add(ignored), backoff::ended_at(pod))
        };
        for pod in self.pods.iter().filter(|pod| pod.is_tracked() && self.is_failed(pod)) {
            let Some(index) = self.index_of(pod) else { continue };
            let settled = succeeded.has(index) || failed.has(index) || busy.contains(&index);
            if !settled && last.get(&index).is_none_or(|other| rank(other) <= rank(pod)) {
                last.insert(index, pod.clone());
            }
        }
        last
    }
}

/// Told to go and not yet ended.
pub(super) fn is_ending(pod: &Pod) -> bool {
    pod.is_leaving() && !pod.has_succeeded() && !pod.has_failed()
}
