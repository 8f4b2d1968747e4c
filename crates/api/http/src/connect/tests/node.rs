//! A node that is played: a server that believes only clients of the cluster's authority and tells what it was asked.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use kedge_pki::{Authority, Names, Purpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

#[derive(Default)]
struct Counts {
    followers: AtomicUsize,
    pipes: AtomicUsize,
    asked: AtomicUsize,
    more: Notify,
}

pub(crate) struct Node {
    pub(crate) port: u16,
    counts: Arc<Counts>,
}

impl Node {
    pub(crate) async fn start(authority: &Authority) -> Self {
        let names = Names {
            common_name: "system:node:n1".to_owned(),
            organization: None,
            hosts: vec!["n1".to_owned()],
        };
        let issued = authority.issue(&names, Purpose::Server, Timestamp::now()).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .unwrap();
        let requested = authority.clients().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::<Counts>::default();
        let counted = counts.clone();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counts, requested) = (acceptor.clone(), counted.clone(), requested.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let chain = stream.get_ref().1.peer_certificates().unwrap();
                    let who = requested.check(chain, Timestamp::now()).unwrap().common_name;
                    let answer = service_fn(move |request| answer(request, who.clone(), counts.clone()));
                    let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                        .serve_connection_with_upgrades(TokioIo::new(stream), answer)
                        .await;
                });
            }
        });
        Self { port, counts }
    }

    pub(crate) fn followers(&self) -> usize {
        self.counts.followers.load(Ordering::SeqCst)
    }

    pub(crate) fn pipes(&self) -> usize {
        self.counts.pipes.load(Ordering::SeqCst)
    }

    /// How often it was asked what it uses.
    pub(crate) fn asked(&self) -> usize {
        self.counts.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn write_more(&self) {
        self.counts.more.notify_one();
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        for _ in 0..1000 {
            if holds() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("still not: {what}");
    }
}

/// Counts as long as it lives.
struct One(Arc<Counts>, fn(&Counts) -> &AtomicUsize);

impl One {
    fn of(counts: &Arc<Counts>, which: fn(&Counts) -> &AtomicUsize) -> Self {
        which(counts).fetch_add(1, Ordering::SeqCst);
        Self(counts.clone(), which)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.1(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

fn whole(text: String) -> BoxBody<Bytes, std::io::Error> {
    Full::from(text).map_err(|never| match never {}).boxed()
}

type Answer = Response<BoxBody<Bytes, std::io::Error>>;

async fn answer(
    mut request: Request<Incoming>,
    who: String,
    counts: Arc<Counts>,
) -> Result<Answer, Infallible> {
    let place = request.uri().path_and_query().unwrap().as_str().to_owned();
    let told = format!("{} {place} by {who}", request.method());
    let text = |code: u16, text: String| Response::builder().status(code).body(whole(text)).unwrap();
    if request.headers().contains_key("upgrade") {
        let upgrade = hyper::upgrade::on(&mut request);
        let headers = format!("{:?}", request.headers());
        tokio::spawn(converse(
            upgrade,
            format!("{told}\n{headers}"),
            One::of(&counts, |counts| &counts.pipes),
        ));
        let mut answer =
            Response::builder().status(101).header("connection", "Upgrade").header("upgrade", "SPDY/3.1");
        if let Some(version) = request.headers().get("x-stream-protocol-version") {
            answer = answer.header("x-stream-protocol-version", version);
        }
        return Ok(answer.body(whole(String::new())).unwrap());
    }
    Ok(match place.as_str() {
        "/containerLogs/default/web/a?follow=true" => followed(&counts),
        "/containerLogs/default/web/b" => {
            text(400, "previous terminated container \"b\" in pod \"web\" not found".to_owned())
        }
        "/containerLogs/default/web/a?follow=true&tailLines=1" => torn(&counts),
        "/containerLogs/default/web/first" => text(404, "no such place".to_owned()),
        "/moved" => {
            let answer = Response::builder().status(302).header("location", "/elsewhere/");
            answer.body(whole(String::new())).unwrap()
        }
        "/page" => {
            let packed = request.headers().contains_key("accept-encoding");
            let page = if packed { "packed" } else { "<a href=\"/rewriteme\">test</a><a href" };
            let answer = Response::builder().header("content-type", "text/html; charset=utf-8");
            answer.header("content-length", page.len()).body(whole(page.to_owned())).unwrap()
        }
        "/stats/summary?only_cpu_and_memory=true" => {
            counts.asked.fetch_add(1, Ordering::SeqCst);
            text(200, summary())
        }
        _ => {
            let heard: Vec<&str> = request.headers().keys().map(http::HeaderName::as_str).collect();
            let mut answer = text(200, told);
            answer.headers_mut().insert("x-heard", heard.join(",").parse().unwrap());
            if let Some(uri) = request.headers().get("x-forwarded-uri") {
                answer.headers_mut().insert("x-uri", uri.clone());
            }
            answer
        }
    })
}

/// A line, and then, when it is told to, the node is gone.
fn torn(counts: &Arc<Counts>) -> Answer {
    let more = counts.clone();
    let first = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"half\n")))]);
    let end = futures::stream::once(async move {
        more.more.notified().await;
        Err(std::io::Error::other("gone"))
    });
    Response::new(BodyExt::boxed(StreamBody::new(first.chain(end))))
}

/// One line at once, one when it is told to.
fn followed(counts: &Arc<Counts>) -> Answer {
    let follower = One::of(counts, |counts| &counts.followers);
    let more = counts.clone();
    let second = futures::stream::once(async move {
        more.more.notified().await;
        "second\n"
    });
    let lines = futures::stream::iter(["first\n"]).chain(second).chain(futures::stream::pending());
    let lines = lines.map(move |line| {
        let _ = &follower;
        Ok(Frame::data(Bytes::from_static(line.as_bytes())))
    });
    Response::new(BodyExt::boxed(StreamBody::new(lines)))
}

/// Says what it heard, then every line backwards, and goodbye at the end.
async fn converse(upgrade: hyper::upgrade::OnUpgrade, first: String, _one: One) {
    let (from, mut to) = tokio::io::split(TokioIo::new(upgrade.await.unwrap()));
    to.write_all(format!("{first}\n> ").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let backwards: String = line.chars().rev().collect();
        to.write_all(backwards.as_bytes()).await.unwrap();
    }
    let _gone = to.write_all(b"bye").await;
    let _gone = to.shutdown().await;
}

fn summary() -> String {
    let usage = |name: &str, cores: u64, memory: u64| {
        json!({
            "name": name, "startTime": "2030-01-01T11:00:00Z",
            "cpu": {"time": "2030-01-01T12:00:00Z", "usageNanoCores": cores, "usageCoreNanoSeconds": 5},
            "memory": {"time": "2030-01-01T12:00:00Z", "workingSetBytes": memory},
        })
    };
    let pod = |name: &str, containers: serde_json::Value| json!({"podRef": {"name": name, "namespace": "default", "uid": ""}, "containers": containers});
    let mut node = usage("", 250_000_000, 1 << 30);
    node["nodeName"] = "n1".into();
    let halfway =
        json!([{"name": "a", "cpu": {"time": "2030-01-01T12:00:00Z"}, "memory": {"workingSetBytes": 1}}]);
    json!({"node": node, "pods": [
        pod("web", json!([usage("a", 1_500_000, 3 << 20), usage("b", 1_500_001, 1000)])),
        pod("halfway", halfway),
        pod("gone", json!([usage("a", 1, 1)])),
    ]})
    .to_string()
}
