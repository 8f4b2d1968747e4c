//! Many at once: who is slow or many holds up nobody else; and what probes hear.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tower::ServiceExt;

use super::{Server, call};
use crate::{Peer, Router};

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
