//! Counters under the names that dashboards for Kubernetes know. Knows no handlers; they report here.

use std::sync::Arc;
use std::time::Duration;

use kedge_store::Store;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) resource: Arc<str>,
    pub(crate) subresource: Arc<str>,
    pub(crate) code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Timed {
    verb: &'static str,
    resource: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InFlight {
    request_kind: &'static str,
}

pub(crate) struct Metrics {
    registry: Registry,
    others: Arc<Registry>,
    requests: Family<Request, Counter>,
    durations: Family<Timed, Histogram, fn() -> Histogram>,
    in_flight: Family<InFlight, Gauge>,
    /// The two members of `in_flight`, so that no request has to look for its own.
    reads: Gauge,
    writes: Gauge,
    longrunning: Gauge,
    refused: Counter,
    panics: Counter,
    objects: Gauge,
    revision: Gauge,
}

const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Metrics {
    /// `others` are shown behind ours.
    pub(crate) fn new(others: Arc<Registry>) -> Self {
        let mut registry = Registry::default();
        let in_flight = Family::<InFlight, Gauge>::default();
        let kind = |request_kind| in_flight.get_or_create(&InFlight { request_kind }).clone();
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(histogram),
            reads: kind("readOnly"),
            writes: kind("mutating"),
            in_flight: in_flight.clone(),
            longrunning: Gauge::default(),
            refused: Counter::default(),
            panics: Counter::default(),
            objects: Gauge::default(),
            revision: Gauge::default(),
            registry: Registry::default(),
            others,
        };
        registry.register(
            "apiserver_request",
            "Requests answered, by what they asked for and the answer's code",
            metrics.requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Time from a request's head to its answer's head",
            metrics.durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Requests under way",
            metrics.in_flight.clone(),
        );
        registry.register("apiserver_longrunning_requests", "Watches under way", metrics.longrunning.clone());
        registry.register(
            "apiserver_dropped_requests",
            "Requests told to come back later",
            metrics.refused.clone(),
        );
        registry.register(
            "apiserver_request_panics",
            "Handlers that failed in a way they should not",
            metrics.panics.clone(),
        );
        registry.register("apiserver_storage_objects", "Stored objects", metrics.objects.clone());
        registry.register(
            "apiserver_storage_revision",
            "The store's newest revision",
            metrics.revision.clone(),
        );
        Self { registry, ..metrics }
    }
}

/// Lowers a gauge again when what it counts is over, however it ends.
pub(crate) struct Held(Gauge);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn answered(&self, request: Request, took: Duration) {
        if request.code == 429 {
            self.refused.inc();
        }
        let timed = Timed { verb: request.verb, resource: request.resource.clone() };
        self.requests.get_or_create(&request).inc();
        if request.verb != "WATCH" {
            self.durations.get_or_create(&timed).observe(took.as_secs_f64());
        }
    }

    pub(crate) fn under_way(&self, writes: bool) -> Held {
        let gauge = if writes { self.writes.clone() } else { self.reads.clone() };
        gauge.inc();
        Held(gauge)
    }

    pub(crate) fn watching(&self) -> Held {
        self.longrunning.inc();
        Held(self.longrunning.clone())
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    pub(crate) fn text(&self, store: &Store) -> Result<String, std::fmt::Error> {
        let snapshot = store.snapshot();
        self.objects.set(i64::try_from(snapshot.count("")).unwrap_or(i64::MAX));
        self.revision.set(i64::try_from(snapshot.revision().get()).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &self.others)?;
        Ok(text)
    }
}
