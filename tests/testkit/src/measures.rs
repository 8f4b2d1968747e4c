//! What is measured in a cluster whose nodes run nothing: as much as a test says. Answers the metrics APIs in the place of whoever
//! would; everything else goes on to the API.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::Pod;
use kedge_client::Watched;
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_store::Store;
use kube::ResourceExt;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::{BoxError, Service};

const USED: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";

#[derive(Clone)]
pub struct Measures {
    store: Store,
    clock: Clock,
    said: Arc<Mutex<Said>>,
}

#[derive(Default)]
struct Said {
    /// Of each pod of an app, in thousandths of a CPU.
    cpu: BTreeMap<String, i64>,
    answers: BTreeMap<String, Value>,
    /// What was asked for and answered by those.
    asked: Vec<String>,
}

impl Measures {
    pub(crate) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock, said: Arc::default() }
    }

    /// From now on every running pod with this value of the label `app` uses so many thousandths of a CPU.
    pub fn cpu(&self, app: &str, milli: i64) {
        self.said.lock().cpu.insert(app.to_owned(), milli);
    }

    /// From now on this is what somebody finds at a path of a metrics API.
    pub fn answer(&self, path: &str, answer: Value) {
        self.said.lock().answers.insert(path.to_owned(), answer);
    }

    /// Whether somebody asked for this, path and query, and was answered what the test said.
    pub fn was_asked(&self, whole: &str) -> bool {
        self.said.lock().asked.iter().any(|asked| asked == whole)
    }

    fn find(&self, uri: &Uri) -> Option<Value> {
        let mut said = self.said.lock();
        let path = uri.path();
        if let Some(answer) = said.answers.get(path).cloned() {
            said.asked.push(uri.path_and_query().map_or("", PathAndQuery::as_str).to_owned());
            return Some(answer);
        }
        if path != USED {
            return None;
        }
        let snapshot = self.store.snapshot();
        let pods = snapshot.range("/registry/pods/default/", None);
        let pods = pods.filter_map(|(_, entry)| Pod::read(entry.bytes()).ok());
        let item = |pod: Pod| {
            let used = *said.cpu.get(pod.labels().get("app")?)?;
            let runs = pod.status.as_ref()?.phase.as_deref() == Some("Running");
            runs.then(|| {
                json!({
                    "metadata": { "name": pod.name_any() }, "timestamp": self.clock.now().to_string(), "window": "1s",
                    "containers": [{ "name": "c", "usage": { "cpu": format!("{used}m"), "memory": "1Mi" } }],
                })
            })
        };
        let items: Vec<Value> = pods.filter_map(item).collect();
        Some(json!({ "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items }))
    }
}

/// The API with measurements.
#[derive(Clone)]
pub(crate) struct Metered {
    pub(crate) router: Router,
    pub(crate) measures: Measures,
}

impl Service<Request<Body>> for Metered {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Some(found) = self.measures.find(request.uri()) {
            let body =
                Full::new(Bytes::from(found.to_string())).map_err(|never| match never {}).boxed_unsync();
            return async { Ok(Response::new(body)) }.boxed();
        }
        let mut router = self.router.clone();
        async move {
            let answer: Result<_, Infallible> = router.call(request).await;
            let Ok(answer) = answer;
            Ok(answer.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        }
        .boxed()
    }
}
