//! The API through its router, without a socket: what a request gets back, and what is stored afterwards.

mod access;
mod bad_input;
mod crowd;
mod fuzz;
mod grants;
mod node_access;
mod objects;
mod slow;
mod socket;
mod tokens;
mod watch;
mod wire;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_registry::gate::Gate;
use kedge_registry::{Registry, User};
use kedge_store::Store;
use serde_json::Value;
use tower::ServiceExt;

use crate::{Options, Router, router};

pub(crate) struct Server {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    /// For whoever has shown nothing.
    pub(crate) stranger: Router,
    /// For an administrator.
    pub(crate) admin: Router,
}

pub(crate) struct Got {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// `404 NotFound: …`, for a failure.
    pub(crate) fn failure(&self) -> String {
        let status = self.json();
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["code"], self.code, "{status}");
        format!(
            "{} {}: {}",
            self.code,
            status["reason"].as_str().unwrap_or("-"),
            status["message"].as_str().unwrap_or("-")
        )
    }
}

pub(crate) fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..User::default()
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self::on(Store::memory(), change).await
    }

    pub(crate) async fn on(store: Store, change: impl FnOnce(&mut Options)) -> Self {
        Self::made(store, Vec::new(), change).await
    }

    /// With admission of the test's own.
    pub(crate) async fn guarded(gates: Vec<Arc<dyn Gate>>, change: impl FnOnce(&mut Options)) -> Self {
        Self::made(Store::memory(), gates, change).await
    }

    async fn made(store: Store, gates: Vec<Arc<dyn Gate>>, change: impl FnOnce(&mut Options)) -> Self {
        let clock = Clock::manual("2030-01-01T12:00:00Z".parse::<Timestamp>().unwrap());
        let options =
            kedge_registry::Options { namespace_worker: false, gates, ..kedge_registry::Options::default() };
        let registry = Registry::start(store, clock.clone(), options).await.unwrap();
        let mut options = Options::new(kedge_pki::new_key().unwrap());
        change(&mut options);
        let stranger = router(registry.clone(), options).unwrap();
        let admin = stranger.acting_as(user("admin", &["system:masters", "system:authenticated"]));
        Self { registry, clock, stranger, admin }
    }
}

pub(crate) async fn send(router: &Router, request: Request<Full<Bytes>>) -> Got {
    let answer = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Got { code: parts.status.as_u16(), headers: parts.headers, body }
}

pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

pub(crate) async fn call(router: &Router, method: &str, path: &str, body: impl Into<Bytes>) -> Got {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    send(router, request(method, path, &[("content-type", content), ("user-agent", "tests/1.0")], body)).await
}
