//! What pods use, as `metrics.k8s.io` would tell it: a load that the pods of an app share evenly, and that users change.

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use k8s_openapi::api::core::v1::Pod;
use kedge_clock::Clock;
use kedge_store::Store;
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::invariants::is_active;
use crate::kinds::parsed;

const PLACE: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/";

pub(crate) struct Load {
    store: Store,
    clock: Clock,
    /// Thousandths of a CPU for each app; `None` while nobody measures.
    all: Mutex<Option<i64>>,
}

impl Load {
    pub(crate) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock, all: Mutex::new(Some(50)) }
    }

    pub(crate) fn set(&self, all: Option<i64>) {
        *self.all.lock() = all;
    }

    pub(crate) fn now(&self) -> Option<i64> {
        *self.all.lock()
    }

    /// The answer to somebody who asks what pods use; `None` if that isn't the question.
    pub(crate) fn answer(&self, path: &str, query: &str) -> Option<Response<Full<Bytes>>> {
        let (namespace, _) = path.strip_prefix(PLACE)?.split_once('/')?;
        let app = query.strip_prefix("labelSelector=app%3D")?;
        let snapshot = self.store.snapshot();
        let place = format!("/registry/pods/{namespace}/");
        let pods: Vec<String> = snapshot
            .range(&place, None)
            .map(|(_, entry)| parsed::<Pod>(entry.bytes()))
            .filter(|pod| pod.labels().get("app").is_some_and(|value| value == app) && runs(pod))
            .map(|pod| pod.name_any())
            .collect();
        let share = self.now()? / i64::try_from(pods.len()).unwrap_or(1).max(1);
        let item = |name: &String| {
            json!({
                "metadata": { "name": name, "namespace": namespace }, "timestamp": self.clock.now().to_string(),
                "window": "1s", "containers": [{ "name": "c", "usage": { "cpu": format!("{share}m"), "memory": "1Mi" } }],
            })
        };
        let items: Vec<Value> = pods.iter().map(item).collect();
        let list =
            json!({ "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items });
        Some(Response::new(Full::new(Bytes::from(list.to_string()))))
    }
}

fn runs(pod: &Pod) -> bool {
    is_active(pod) && pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}
