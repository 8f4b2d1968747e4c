//! Many at once: who is slow or many holds up nobody else; and what probes hear.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_registry::gate::{Gate, Review};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use super::{Server, call};
use crate::{Peer, Router};

const FLOWCONTROL: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn peer(server: &Server, name: &str, organizations: &[&str]) -> Router {
    let subject = kedge_pki::Subject {
        common_name: name.to_owned(),
        organizations: organizations.iter().map(|group| (*group).to_owned()).collect(),
        not_after: Timestamp::MAX,
    };
    server.stranger.for_peer(Peer::certified(subject))
}

#[tokio::test]
async fn bodies_that_do_not_come_stop_nobody_elses_writes() {
    let server = Server::with(|options| options.max_writes_in_flight = 8).await;
    let bob = peer(&server, "bob", &[]);
    let asked = Arc::new(Semaphore::new(0));
    let mut slow = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (bob, asked) = (bob.clone(), asked.clone());
        slow.spawn(async move {
            let body = futures::stream::poll_fn(move |_| {
                asked.add_permits(1);
                std::task::Poll::<Option<Result<Frame<Bytes>, std::convert::Infallible>>>::Pending
            });
            let request = Request::post(REVIEWS).header("content-type", "application/json");
            bob.oneshot(request.body(StreamBody::new(body)).unwrap()).await
        });
    }
    drop(asked.acquire_many(2).await.unwrap());
    let question = r#"{"spec":{"nonResourceAttributes":{"verb":"get","path":"/"}}}"#;
    for (name, groups) in [("ann", &[][..]), ("root", &["system:masters"])] {
        let got = call(&peer(&server, name, groups), "POST", REVIEWS, question).await;
        assert_eq!(got.code, 201, "{name}: {}", got.text());
    }
    slow.abort_all();
}

#[tokio::test]
async fn a_flood_is_told_to_come_back() {
    let server = Server::with(|options| options.max_writes_in_flight = 0).await;
    let got = call(&peer(&server, "bob", &[]), "POST", REVIEWS, "{}").await;
    assert_eq!(got.failure(), "429 TooManyRequests: Too many requests, please try again later.");
    assert_eq!(got.headers["retry-after"], "1");
}

const FLOOD: usize = 400;

/// Keeps whatever `noisy` asks for until the semaphore is closed, which lets everybody in.
#[derive(Debug)]
struct Slow(Arc<Semaphore>);

impl Gate for Slow {
    fn concerns(&self, review: &Review<'_>) -> bool {
        review.options.user.name == "noisy"
    }

    fn mutate<'a>(&'a self, _: &'a Review<'a>, _: &'a mut Value) -> BoxFuture<'a, Result<bool, Status>> {
        Box::pin(async {
            drop(self.0.acquire().await);
            Ok(false)
        })
    }

    fn validate<'a>(&'a self, _: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_flood_does_not_starve_others() {
    let door = Arc::new(Semaphore::new(0));
    let server = Server::guarded(vec![Arc::new(Slow(door.clone()))], |options| {
        (options.max_reads_in_flight, options.max_writes_in_flight) = (20, 4);
    })
    .await;
    for name in ["noisy", "quiet"] {
        let level = json!({"metadata": {"name": name}, "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 10, "limitResponse": {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 3}}}}});
        let made = call(
            &server.admin,
            "POST",
            &format!("{FLOWCONTROL}/prioritylevelconfigurations"),
            level.to_string(),
        )
        .await;
        assert_eq!(made.code, 201, "{}", made.text());
        let flow = json!({"metadata": {"name": name}, "spec": {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 50,
            "distinguisherMethod": {"type": "ByUser"}, "rules": [{"subjects": [{"kind": "User", "user": {"name": name}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]}]}]}});
        let made = call(&server.admin, "POST", &format!("{FLOWCONTROL}/flowschemas"), flow.to_string()).await;
        assert_eq!(made.code, 201, "{}", made.text());
    }
    let question = r#"{"spec":{"nonResourceAttributes":{"verb":"get","path":"/"}}}"#;
    let noisy = peer(&server, "noisy", &[]);
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..FLOOD {
        let noisy = noisy.clone();
        flood.spawn(async move { call(&noisy, "POST", REVIEWS, question).await.code });
    }
    let figure = |name: &'static str| {
        let admin = server.admin.clone();
        async move {
            let counted = call(&admin, "GET", "/metrics", "").await.text();
            let line = format!("apiserver_flowcontrol_{name}{{priority_level=\"noisy\"");
            let value =
                counted.lines().find_map(|found| found.strip_prefix(&line)?.rsplit(' ').next()?.parse().ok());
            value.unwrap_or_else(|| panic!("no {line} in {counted}"))
        }
    };
    let mut refused = 0_usize;
    let wait = async {
        // Each of them is working, waiting or refused.
        loop {
            while let Some(code) = flood.try_join_next() {
                assert_eq!(code.unwrap(), 429, "nobody gets past the closed door");
                refused += 1;
            }
            let (working, waiting): (usize, usize) =
                (figure("current_executing_requests").await, figure("current_inqueue_requests").await);
            if working + waiting + refused == FLOOD {
                return (working, waiting);
            }
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    let (working, waiting) = waited.expect("still untrue: each one is working, waiting or refused");
    assert!(
        working > 0 && waiting > 0 && refused > FLOOD / 2,
        "{working} work, {waiting} wait, {refused} were refused"
    );
    let quiet = peer(&server, "quiet", &[]);
    for _ in 0..50 {
        let got = call(&quiet, "POST", REVIEWS, question).await;
        assert_eq!(got.code, 201, "{}", got.text());
    }
    door.close();
    while let Some(code) = flood.join_next().await {
        assert_eq!(code.unwrap(), 201, "who was let wait is answered");
    }

    let uid = |path: &'static str| {
        let admin = server.admin.clone();
        async move {
            let object = call(&admin, "GET", &format!("{FLOWCONTROL}/{path}"), "").await.json();
            object["metadata"]["uid"].as_str().unwrap().to_owned()
        }
    };
    let got = call(&quiet, "POST", REVIEWS, question).await;
    assert_eq!(got.headers["x-kubernetes-pf-flowschema-uid"], uid("flowschemas/quiet").await);
    assert_eq!(
        got.headers["x-kubernetes-pf-prioritylevel-uid"],
        uid("prioritylevelconfigurations/quiet").await
    );
    let other = call(&peer(&server, "other", &[]), "GET", "/api", "").await;
    assert_eq!(other.headers["x-kubernetes-pf-flowschema-uid"], uid("flowschemas/global-default").await);
    let master = call(&server.admin, "GET", "/api/v1/namespaces", "").await;
    assert_eq!(
        master.headers["x-kubernetes-pf-prioritylevel-uid"],
        uid("prioritylevelconfigurations/exempt").await
    );
    let counted = call(&server.admin, "GET", "/metrics", "").await.text();
    for line in [
        "nominal_limit_seats{priority_level=\"quiet\"} 1",
        "dispatched_requests_total{priority_level=\"quiet\"} 51",
    ] {
        assert!(counted.contains(&format!("apiserver_flowcontrol_{line}\n")), "{line} in {counted}");
    }
    assert!(counted.ends_with("# EOF\n"));
}

#[tokio::test]
async fn probes_hear_of_a_store_that_has_stopped() {
    let server = Server::start().await;
    for path in ["/readyz", "/livez", "/healthz", "/readyz/etcd"] {
        assert_eq!(call(&server.admin, "GET", path, "").await.text(), "ok", "{path}");
    }
    server.registry.store().close().await;
    for path in ["/readyz", "/livez", "/healthz", "/readyz/etcd"] {
        assert_eq!(call(&server.admin, "GET", path, "").await.code, 500, "{path}");
    }
    assert_eq!(call(&server.stranger, "GET", "/livez?exclude=etcd", "").await.code, 200);
}
