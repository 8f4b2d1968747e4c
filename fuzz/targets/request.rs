//! Any request to the whole API, as an administrator: an answer that is well formed, never a panic. The input is a line
//! `METHOD path content-type`, then the body.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kedge_clock::Clock;
use kedge_http::{Options, Router, router};
use kedge_registry::{Registry, User};
use kedge_store::Store;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;

struct Server {
    runtime: Runtime,
    router: Router,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let router = runtime.block_on(async {
        let options =
            kedge_registry::Options { namespace_worker: false, ..kedge_registry::Options::default() };
        let registry = Registry::start(Store::memory(), Clock::system(), options).await.expect("a registry");
        let admin = User { name: "fuzz".into(), groups: vec!["system:masters".into()], ..User::default() };
        router(registry, Options::new(kedge_pki::new_key().expect("a key")))
            .expect("a router")
            .acting_as(admin)
    });
    Server { runtime, router }
});

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == b'\n');
    let (Some(line), body) = (parts.next(), parts.next().unwrap_or_default()) else { return };
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let kind = words.next().unwrap_or(b"application/json");
    let Ok(path) = str::from_utf8(path) else { return };
    let request =
        Request::builder().method(method).uri(path).header("content-type", kind).header("user-agent", "fuzz");
    let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) else { return };

    let server = &*SERVER;
    server.runtime.block_on(async {
        let answer = server.router.clone().oneshot(request).await.expect("the router never fails");
        let status = answer.status();
        // A watch does not end; what it says first is enough.
        let body = tokio::time::timeout(Duration::from_millis(5), answer.into_body().collect()).await;
        let (false, Ok(Ok(body))) = (status.is_success(), body) else { return };
        let body = body.to_bytes();
        if path.starts_with("/api") && body.starts_with(b"{") {
            let said: Value = serde_json::from_slice(&body).expect("an answer in JSON");
            assert_eq!(said["kind"], "Status");
            // Kubernetes has a few 500s for bad input, and so have we; an error of our own making says so.
            assert!(
                !said["message"].as_str().is_some_and(|text| text.starts_with("Internal error")),
                "{said}"
            );
        }
    });
});
