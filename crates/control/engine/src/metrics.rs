//! What the loops count, under the names that dashboards for Kubernetes know. Decides nothing.

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    name: &'static str,
}

/// The counters of all workers of a process. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Metrics {
    depth: Family<Of, Gauge>,
    turns: Family<Of, Counter>,
    retries: Family<Of, Counter>,
    durations: Family<Of, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            depth: Family::default(),
            turns: Family::default(),
            retries: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new([0.001, 0.01, 0.1, 1.0, 10.0])),
        }
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        let queue = registry.sub_registry_with_prefix("workqueue");
        queue.register("depth", "Objects that wait for a controller's look", self.depth.clone());
        queue.register("work", "Looks at objects that ended", self.turns.clone());
        queue.register("retries", "Looks that failed and happen once more", self.retries.clone());
        queue.register(
            "work_duration_seconds",
            "From the beginning of a look until its writes could be seen",
            self.durations.clone(),
        );
    }

    /// The counters of one worker, so that no turn has to look for its own.
    pub(crate) fn of(&self, name: &'static str) -> Counters {
        let of = Of { name };
        Counters {
            depth: self.depth.get_or_create_owned(&of),
            turns: self.turns.get_or_create_owned(&of),
            retries: self.retries.get_or_create_owned(&of),
            durations: self.durations.get_or_create_owned(&of),
        }
    }
}

pub(crate) struct Counters {
    depth: Gauge,
    turns: Counter,
    retries: Counter,
    durations: Histogram,
}

impl Counters {
    pub(crate) fn waiting(&self, number: usize) {
        self.depth.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    pub(crate) fn ended(&self, took: SignedDuration, failed: bool) {
        self.turns.inc();
        self.durations.observe(took.as_secs_f64());
        if failed {
            self.retries.inc();
        }
    }
}
