//! What the scheduler counts, under the names that dashboards for Kubernetes know. Decides nothing.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::queue::Lengths;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Attempt {
    profile: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Part {
    queue: &'static str,
}

/// Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Metrics {
    attempts: Family<Attempt, Counter>,
    attempt_seconds: Family<Attempt, Histogram, fn() -> Histogram>,
    pod_seconds: Histogram,
    preemptions: Counter,
    victims: Counter,
    pending: Family<Part, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let short = || Histogram::new([0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1.0]);
        Self {
            attempts: Family::default(),
            attempt_seconds: Family::new_with_constructor(short),
            pod_seconds: Histogram::new([0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0]),
            preemptions: Counter::default(),
            victims: Counter::default(),
            pending: Family::default(),
        }
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        let all = registry.sub_registry_with_prefix("scheduler");
        all.register(
            "schedule_attempts",
            "Attempts to place a pod, by what came of it",
            self.attempts.clone(),
        );
        all.register(
            "scheduling_attempt_duration_seconds",
            "How long one decision took",
            self.attempt_seconds.clone(),
        );
        all.register(
            "pod_scheduling_sli_duration_seconds",
            "From a pod's first attempt until it was bound",
            self.pod_seconds.clone(),
        );
        all.register("preemption_attempts", "Attempts to make room for a pod", self.preemptions.clone());
        all.register("preemption_victims", "Pods that had to make room", self.victims.clone());
        all.register("pending_pods", "Pods without a node, by what they wait for", self.pending.clone());
    }

    pub(crate) fn attempted(&self, profile: &str, result: &'static str, seconds: f64) {
        let attempt = Attempt { profile: profile.to_owned(), result };
        self.attempt_seconds.get_or_create(&attempt).observe(seconds);
        self.attempts.get_or_create(&attempt).inc();
    }

    pub(crate) fn bound(&self, seconds: f64) {
        self.pod_seconds.observe(seconds);
    }

    pub(crate) fn preempted(&self, victims: usize) {
        self.preemptions.inc();
        self.victims.inc_by(victims as u64);
    }

    pub(crate) fn pending(&self, lengths: Lengths) {
        let Lengths { active, resting, waiting, gated } = lengths;
        for (queue, length) in
            [("active", active), ("backoff", resting), ("unschedulable", waiting), ("gated", gated)]
        {
            self.pending.get_or_create(&Part { queue }).set(i64::try_from(length).unwrap_or(i64::MAX));
        }
    }
}
