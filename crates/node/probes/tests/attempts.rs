//! Attempts against servers of this process: what is told of answers, redirects, silence and closed doors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_probes::{Outcome, Page, WebError, fetch, grpc, http, tcp};
use tokio::net::TcpListener;

const LIMIT: Duration = Duration::from_secs(5);

fn page(port: u16, path: &str) -> Page {
    let (host, headers) = ("127.0.0.1".to_owned(), Vec::new());
    Page { tls: false, host, port, path: path.to_owned(), headers, agent: "kube-probe/1.36" }
}

fn failed(text: &str) -> Outcome {
    Outcome::Failure(text.to_owned())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let to = |code: u16, location: &str| {
        let response = Response::builder().status(code).header("location", location);
        response.body(Full::from("moved")).unwrap()
    };
    let code = |code: u16| Response::builder().status(code).body(Full::from("secret")).unwrap();
    Ok(match request.uri().path() {
        "/fine" => code(200),
        "/broken" => code(500),
        "/moved" => to(302, "/fine"),
        "/away" => to(302, "http://elsewhere.invalid/"),
        "/around" => to(301, "/around"),
        "/slow" => std::future::pending().await,
        "/agent" if request.headers()["user-agent"] == "kube-probe/1.36" => code(204),
        _ => code(404),
    })
}

async fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(served);
        }
    });
    port
}

/// A port at which nobody listens.
async fn closed() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn pages_answer_by_their_code() {
    let port = serve().await;
    let moved = "Probe terminated redirects, Response body: moved".to_owned();
    for (path, wanted) in [
        ("/fine", Outcome::Success),
        ("/agent", Outcome::Success),
        ("/moved", Outcome::Success),
        ("/away", Outcome::Warning(moved)),
        ("/broken", failed("HTTP probe failed with statuscode: 500")),
        ("/absent", failed("HTTP probe failed with statuscode: 404")),
        ("/around", failed(&format!("Get \"http://127.0.0.1:{port}/around\": stopped after 10 redirects"))),
    ] {
        assert_eq!(http(&page(port, path), LIMIT).await, wanted, "{path}");
    }
    let slow = http(&page(port, "/slow"), Duration::from_millis(50)).await;
    let words = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    assert_eq!(slow, failed(&format!("Get \"http://127.0.0.1:{port}/slow\": {words}")));
}

#[tokio::test]
async fn closed_doors_are_named() {
    let port = closed().await;
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(tcp("127.0.0.1", port, LIMIT).await, failed(&refused));
    let page = page(port, "/x");
    assert_eq!(http(&page, LIMIT).await, failed(&format!("Get \"{}\": {refused}", page.url())));
    let told = grpc("127.0.0.1", port, "", LIMIT).await;
    let words = "within 5s: context deadline exceeded";
    assert_eq!(told, failed(&format!("timeout: failed to connect service \"127.0.0.1:{port}\" {words}")));
    assert_eq!(tcp("127.0.0.1", serve().await, LIMIT).await, Outcome::Success);
}

#[tokio::test]
async fn no_certificate_is_looked_at() {
    let made = rcgen::generate_simple_self_signed(vec!["somebody".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let served = hyper::server::conn::http1::Builder::new();
                let _served = served.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    });
    let secured = |port| Page { tls: true, ..page(port, "/fine") };
    assert_eq!(http(&secured(port), LIMIT).await, Outcome::Success);
    let plain = fetch(&secured(serve().await), LIMIT).await;
    assert!(matches!(plain, Err(WebError::Plain { .. })), "{plain:?}");
}

/// Answers with a status of health for a service that is known, else as gRPC does when it isn't.
async fn health(request: Request<Incoming>) -> Result<Response<Reply>, std::convert::Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let service = String::from_utf8_lossy(body.get(7..).unwrap_or_default()).into_owned();
    let (status, code): (Option<u8>, &str) = match &*service {
        "" => (Some(1), "0"),
        "sick" => (Some(2), "0"),
        _ => (None, "5"),
    };
    let mut frames = Vec::new();
    if let Some(status) = status {
        frames.push(Ok(Frame::data(Bytes::from(vec![0, 0, 0, 0, 2, 8, status]))));
    }
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", code.parse().unwrap());
    trailers.insert("grpc-message", "unknown service".parse().unwrap());
    frames.push(Ok(Frame::trailers(trailers)));
    let body = StreamBody::new(Frames(frames.into_iter()));
    Ok(Response::builder().header("content-type", "application/grpc").body(body).unwrap())
}

type Reply = StreamBody<Frames>;

struct Frames(std::vec::IntoIter<Result<Frame<Bytes>, std::convert::Infallible>>);

impl futures::Stream for Frames {
    type Item = Result<Frame<Bytes>, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

#[tokio::test]
async fn health_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service_fn(health));
            tokio::spawn(served);
        }
    });
    for (service, wanted) in [
        ("", Outcome::Success),
        ("sick", failed("service unhealthy (responded with \"NOT_SERVING\")")),
        (
            "absent",
            failed("error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"),
        ),
    ] {
        assert_eq!(grpc("127.0.0.1", port, service, LIMIT).await, wanted, "{service:?}");
    }
}
