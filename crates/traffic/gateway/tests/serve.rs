//! The gateway on real sockets: clients on one side, servers of these tests on the other, and between them a world that is changed
//! by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "serve/plain.rs"]
mod plain;
#[path = "serve/stage.rs"]
mod stage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stage::{Stage, get, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_reach_pods_and_pages_say_why_not() {
    let stage = Stage::start().await;
    let one = stage.server("one").await;
    stage.service("one", 22222, &[one]);
    stage.service("empty", 80, &[]);
    stage.service("dead", 80, &["127.0.0.1:1".parse().unwrap()]);
    stage.service("half-dead", 80, &["127.0.0.1:1".parse().unwrap(), one]);
    let paths = [("path1", "one", 22222), ("empty", "empty", 80), ("none", "none", 80), ("dead", "dead", 80)];
    stage.record("a", "minik8s.com", &paths);
    stage.record("b", "other.com", &[("half", "half-dead", 80), ("port", "one", 1)]);
    // The one that was put last.
    until("the routes are there", || async { get(stage.http, "other.com", "/half").await.0 == 200 }).await;
    for (host, path, expected) in [
        ("minik8s.com", "/path1/x?y=z", "200 one GET /x?y=z host=minik8s.com for=127.0.0.1 proto=http"),
        ("MiniK8s.com:8080", "/path1", "200 one GET / host=MiniK8s.com:8080 for=127.0.0.1 proto=http"),
        ("unknown.com", "/", "404 404 Not Found: Nobody serves the host unknown.com"),
        ("minik8s.com", "/other", "404 404 Not Found: The host minik8s.com has nothing at /other."),
        (
            "minik8s.com",
            "/empty/x",
            "503 503 Service Unavailable: minik8s.com/empty/x leads to Service n/empty:80, of which no pod is ready.",
        ),
        (
            "minik8s.com",
            "/none",
            "503 503 Service Unavailable: minik8s.com/none leads to Service n/none:80, which does not exist.",
        ),
        (
            "other.com",
            "/port",
            "503 503 Service Unavailable: other.com/port leads to Service n/one:1, but the Service has no such port.",
        ),
        ("minik8s.com", "/dead", "502 502 Bad Gateway: minik8s.com/dead leads to Service n/dead:80"),
    ] {
        let (status, text) = get(stage.http, host, path).await;
        let seen = format!("{status} {text}");
        assert!(seen.starts_with(expected), "{host}{path}: {seen}");
    }
    // An endpoint that cannot be reached costs no request.
    for _ in 0..10 {
        assert_eq!(get(stage.http, "other.com", "/half/x").await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_take_effect_at_once_and_no_request_is_lost() {
    let stage = Arc::new(Stage::start().await);
    let servers = [stage.server("a").await, stage.server("b").await];
    stage.service("web", 80, &servers[..1]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stage, stop, done) = (stage.clone(), stop.clone(), done.clone());
            tokio::spawn(async move {
                let mut client = stage::Client::open(stage.http).await;
                while !stop.load(Ordering::SeqCst) {
                    let (status, text) = client.get("x.io", "/p/x").await;
                    assert_eq!(status, 200, "{text}");
                    done.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let begun = Instant::now();
    for round in 0..100 {
        stage.service("web", 80, &servers[round % 2..=round % 2]);
        if round % 10 == 0 {
            stage.record(&format!("more-{round}"), &format!("h{round}.io"), &[("p", "web", 80)]);
        }
        let before = done.load(Ordering::SeqCst);
        until("requests go on", || async { done.load(Ordering::SeqCst) > before }).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    stage.remove_record("r");
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap_or_else(|error| {
            let text = error.to_string();
            // Only the removal at the very end may meet a client.
            assert!(text.contains("404"), "{text}");
        });
    }
    let gone = Instant::now();
    until("the host is gone", || async { get(stage.http, "x.io", "/p").await.0 == 404 }).await;
    assert!(gone.elapsed() < Duration::from_secs(1), "it took {:?}", gone.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_restarts_costs_no_request() {
    let stage = Stage::start().await;
    let (address, server) = stage.mortal_server("a").await;
    stage.service("web", 80, &[address]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let mut client = stage::Client::open(stage.http).await;
    assert_eq!(client.get("x.io", "/p/x").await.0, 200);
    // Its connections that wait are closed; the next request must not be sent into one of them.
    server.abort();
    let _ended = server.await;
    let other = stage.server("b").await;
    stage.service("web", 80, &[address, other]);
    until("the other is known", || async { get(stage.http, "x.io", "/p").await.1.starts_with("b ") }).await;
    for _ in 0..20 {
        let (status, text) = client.get("x.io", "/p/x").await;
        assert_eq!(status, 200, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn websockets_and_whatever_else_is_switched_to_pass_through() {
    let stage = Stage::start().await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    let asked = "GET /p/echo HTTP/1.1\r\nHost: x.io\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";
    stream.write_all(asked.as_bytes()).await.unwrap();
    let head = stage::head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("upgrade: websocket") && head.contains("sec-websocket-accept: y"), "{head}");
    for round in 0..3u8 {
        let sent = vec![round; 10_000];
        stream.write_all(&sent).await.unwrap();
        let mut back = vec![0; sent.len()];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(back, sent);
    }
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "the other end's end comes back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpc_passes_through_with_its_trailers() {
    let stage = Stage::start().await;
    let server = stage.grpc_server().await;
    stage.service_of("grpc", 80, &[server], Some("kubernetes.io/h2c"));
    stage.record("r", "x.io", &[("p", "grpc", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let stream = TcpStream::connect(stage.http).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::builder()
        .method(Method::POST)
        .uri("http://x.io/p/svc/Method")
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from_static(b"hello")))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
    let body = answer.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    assert_eq!(body.to_bytes(), "POST /svc/Method te=trailers version=HTTP/2.0 hello");
    // One that speaks the old way reaches it too.
    let (status, text) = get(stage.http, "x.io", "/p/old").await;
    assert_eq!((status, &*text), (200, "GET /old te= version=HTTP/2.0 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_stream_both_ways() {
    let stage = Stage::start().await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let stream = TcpStream::connect(stage.http).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    // What is sent comes back before the next is sent: nothing on the way waits for the end.
    let (feed, frames) = tokio::sync::mpsc::channel::<Bytes>(1);
    let body = StreamBody::new(futures::stream::unfold(frames, |mut frames| async move {
        let data = frames.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(http_body::Frame::data(data)), frames))
    }));
    let request =
        Request::post("/p/mirror").header("host", "x.io").body(http_body_util::Either::Left(body)).unwrap();
    let asking = sender.send_request(request);
    feed.send(Bytes::from_static(b"first")).await.unwrap();
    let mut answer = asking.await.unwrap();
    let next = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(next, "first");
    for round in 0..50u8 {
        let sent = Bytes::from(vec![round; 20_000]);
        feed.send(sent.clone()).await.unwrap();
        let mut back = Vec::new();
        while back.len() < sent.len() {
            back.extend_from_slice(&answer.frame().await.unwrap().unwrap().into_data().unwrap());
        }
        assert_eq!(back, sent);
    }
    drop(feed);
    assert!(answer.frame().await.is_none());
    // The connection is good for another request, with a body of a known length this time.
    sender.ready().await.unwrap();
    let large = Bytes::from(vec![7; 1_000_000]);
    let request = Request::post("/p/mirror").header("host", "x.io");
    let request = request.body(http_body_util::Either::Right(Full::new(large.clone()))).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), large);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_holds_little_and_not_for_long() {
    let stage = Stage::patient(Duration::from_millis(500)).await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    stream.write_all(b"GET /p/endless HTTP/1.1\r\nHost: x.io\r\n\r\n").await.unwrap();
    // It is given up, and its end reaches the server; what was taken until then fits into sockets' buffers.
    until("the server is let go", || async { stage.endless_ended() }).await;
    assert!(stage.endless_sent() < 64 << 20, "{} bytes were taken", stage.endless_sent());
    drop(stream);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_odd_clients_are_refused() {
    let stage = Stage::patient(Duration::from_millis(300)).await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    let long = format!("GET /p HTTP/1.1\r\nHost: x.io\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    for (case, sent, expected) in [
        ("half a head", "GET /p HTTP/1.1\r\nHost: x.io\r\nX-Slow", &[""][..]),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n", &["HTTP/1.1 400"]),
        ("a head that never ends", &long, &["HTTP/1.1 431", ""]),
        (
            "two lengths",
            "POST /p HTTP/1.1\r\nHost: x.io\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            &["HTTP/1.1 400"],
        ),
        ("an odd length", "POST /p HTTP/1.1\r\nHost: x.io\r\nContent-Length: +1\r\n\r\na", &["HTTP/1.1 400"]),
        (
            "another encoding",
            "POST /p HTTP/1.1\r\nHost: x.io\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
            &["HTTP/1.1 400"],
        ),
        // Of two ways of framing the one counts that cannot be cut short, and only that one is passed on.
        (
            "both ways of framing",
            "POST /p HTTP/1.1\r\nHost: x.io\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &["HTTP/1.1 200"],
        ),
        (
            "both, the other way round",
            "POST /p HTTP/1.1\r\nHost: x.io\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
            &["HTTP/1.1 200"],
        ),
        ("no host", "GET /p HTTP/1.1\r\n\r\n", &["HTTP/1.1 400"]),
        ("two hosts", "GET /p HTTP/1.1\r\nHost: x.io\r\nHost: y.io\r\n\r\n", &["HTTP/1.1 400"]),
        ("a tunnel", "CONNECT x.io:80 HTTP/1.1\r\nHost: x.io\r\n\r\n", &["HTTP/1.1 400"]),
        ("a space before the colon", "GET /p HTTP/1.1\r\nHost : x.io\r\n\r\n", &["HTTP/1.1 400"]),
    ] {
        let mut stream = TcpStream::connect(stage.http).await.unwrap();
        // Who is refused may be cut off while it still sends.
        let _sent = stream.write_all(sent.as_bytes()).await;
        let mut seen = Vec::new();
        let mut part = [0; 1024];
        let read = tokio::time::timeout(Duration::from_secs(10), async {
            while let Ok(length @ 1..) = stream.read(&mut part).await {
                seen.extend_from_slice(&part[..length]);
                if seen.len() > 12 {
                    break;
                }
            }
        });
        read.await.unwrap_or_else(|_| panic!("{case}: neither answered nor closed"));
        let seen = String::from_utf8_lossy(&seen[..seen.len().min(12)]).into_owned();
        assert!(expected.contains(&&*seen), "{case}: {seen:?}");
    }
    assert_eq!(get(stage.http, "x.io", "/p").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_go_by_the_name_and_change_live() {
    let stage = Stage::start().await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    stage.ingress("i", "secure.io", "web", "tls");
    stage.secret("tls", "secure.io");
    until("its certificate is shown", || async { stage.shown("secure.io").await == "secure.io" }).await;
    assert_eq!(stage.shown("unknown.io").await, "the gateway");
    for protocol in ["h2", "http/1.1"] {
        let (status, version) = stage.get_over_tls("secure.io", "/x", protocol).await;
        let expected = if protocol == "h2" { Version::HTTP_2 } else { Version::HTTP_11 };
        assert_eq!((status, version), (StatusCode::OK, expected));
    }
    stage.secret("tls", "renewed.secure.io");
    until("the new one is shown", || async { stage.shown("secure.io").await == "renewed.secure.io" }).await;
    // It asks for HTTPS, so whoever comes without is sent there.
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    stream.write_all(b"GET /x?y HTTP/1.1\r\nHost: secure.io\r\n\r\n").await.unwrap();
    let head = stage::head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 308 ") && head.contains("location: https://secure.io/x?y"), "{head}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_routes_are_a_matter_of_milliseconds() {
    let stage = Stage::start().await;
    let server = stage.server("one").await;
    stage.service("web", 80, &[server]);
    let begun = Instant::now();
    for number in 0..1000 {
        stage.record(&format!("r{number}"), &format!("h{number}.io"), &[("p", "web", 80)]);
    }
    until("the last route is there", || async { get(stage.http, "h999.io", "/p").await.0 == 200 }).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
}
