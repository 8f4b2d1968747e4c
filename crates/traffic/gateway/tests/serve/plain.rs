//! Plain requests, which take a way of their own: nobody can tell them from the others by their answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::stage::{Stage, get, until};

/// An endpoint that says what it is asked for, byte for byte.
struct Endpoint {
    at: SocketAddr,
    /// The rest of an answer may follow.
    go_on: Arc<Notify>,
    /// Whoever asked for nothing to come has left.
    left: Arc<Notify>,
}

async fn endpoint() -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (go_on, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = (go_on.clone(), left.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, told.0.clone(), told.1.clone()));
        }
    });
    Endpoint { at, go_on, left }
}

async fn converse(mut stream: TcpStream, go_on: Arc<Notify>, left: Arc<Notify>) {
    let mut said = Vec::new();
    while stream.read_buf(&mut said).await.is_ok_and(|read| read > 0) {
        let text = String::from_utf8(said.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if head.contains("content-length: 2") && body.len() < 2 {
            continue;
        }
        said.clear();
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let large = "x".repeat(300_000);
        let short = format!("3e8\r\n{}\r\n", "x".repeat(1000)).repeat(200);
        let (begin, rest) = match (method, path) {
            ("HEAD", _) => ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\n".to_owned(), ""),
            (_, "/empty") => ("HTTP/1.1 204 No Content\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n".to_owned(), ""),
            (_, "/chunks") => (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\r\n3\r\nhel\r\n".to_owned(),
                "2\r\nlo\r\n0\r\n\r\n",
            ),
            (_, "/short-pieces") => {
                (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{short}"), "0\r\n\r\n")
            }
            (_, "/large") => (format!("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n{large}"), ""),
            (_, "/until-closed") => ("HTTP/1.1 200 OK\r\n\r\nhello".to_owned(), ""),
            (_, "/cut") => ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello".to_owned(), ""),
            (_, "/switched") => ("HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\n\r\n".to_owned(), ""),
            (_, "/late") => ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_owned(), "hello"),
            (_, "/never") => {
                while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                left.notify_one();
                return;
            }
            _ => (format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()), ""),
        };
        if stream.write_all(begin.as_bytes()).await.is_err() {
            return;
        }
        if path == "/late" {
            go_on.notified().await;
        }
        if stream.write_all(rest.as_bytes()).await.is_err() || ["/until-closed", "/cut"].contains(&path) {
            return;
        }
    }
}

async fn stage() -> (Stage, Endpoint) {
    let (stage, endpoint) = (Stage::start().await, endpoint().await);
    stage.service("web", 80, &[endpoint.at]);
    stage.record("r", "x.io", &[("p", "web", 80)]);
    until("the route is there", || async { get(stage.http, "x.io", "/p").await.0 == 200 }).await;
    (stage, endpoint)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_whoever_gives_them() {
    let (stage, _endpoint) = stage().await;
    let stream = TcpStream::connect(stage.http).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut rounds = Vec::new();
    for _ in 0..2 {
        let mut seen = Vec::new();
        for (method, path) in [
            (Method::GET, "/p/x?y=z"),
            (Method::HEAD, "/p/x"),
            (Method::GET, "/p/empty"),
            (Method::GET, "/p/chunks"),
            (Method::GET, "/p/short-pieces"),
            (Method::GET, "/p/large"),
            (Method::GET, "/p/until-closed"),
            (Method::GET, "/p/switched"),
            (Method::GET, "/p/x"),
        ] {
            let request = Request::builder().method(method.clone()).uri(path).header("host", "x.io");
            sender.ready().await.unwrap();
            let answer = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
            let (mut parts, body) = answer.into_parts();
            assert!(parts.headers.remove("date").is_some(), "{path}");
            let body = body.collect().await.unwrap().to_bytes();
            seen.push((method, path, parts.status, format!("{:?}", parts.headers), body));
        }
        rounds.push(seen);
        // With this the connection is handed on: the second round goes the other way.
        let request =
            Request::post("/p/x").header("host", "x.io").body(Full::new(Bytes::from_static(b"hi"))).unwrap();
        sender.ready().await.unwrap();
        assert_eq!(
            sender.send_request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes(),
            "/x"
        );
    }
    let bodies: Vec<(u16, usize)> = rounds[0].iter().map(|seen| (seen.2.as_u16(), seen.4.len())).collect();
    let expected = [
        (200, 6),
        (200, 0),
        (204, 0),
        (200, 5),
        (200, 200_000),
        (200, 300_000),
        (200, 5),
        (502, 0),
        (200, 2),
    ];
    assert_eq!(bodies, expected);
    for (plain, other) in rounds[0].iter().zip(&rounds[1]) {
        assert_eq!(plain, other);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_ahead_waits_for_its_turn() {
    let (stage, _endpoint) = stage().await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    let plain = |path: &str| format!("GET /p/{path} HTTP/1.1\r\nHost: x.io\r\n\r\n");
    let other = "POST /p/three HTTP/1.1\r\nHost: x.io\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    let all = [&*plain("one"), &*plain("two"), other].concat();
    // Whichever way it is cut.
    let (first, rest) = all.split_at(all.find("two").unwrap());
    stream.write_all(first.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut seen = String::new();
    stream.read_to_string(&mut seen).await.unwrap();
    let bodies: Vec<&str> =
        seen.split("HTTP/1.1 200 OK").filter_map(|answer| answer.split("\r\n\r\n").nth(1)).collect();
    assert_eq!(bodies, ["/one", "/two", "/three"], "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_does_not_wait_for_its_body() {
    let (stage, endpoint) = stage().await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    stream.write_all(b"GET /p/late HTTP/1.1\r\nHost: x.io\r\n\r\n").await.unwrap();
    let head = crate::stage::head(&mut stream).await;
    assert!(head.contains("content-length: 5"), "{head}");
    endpoint.go_on.notify_one();
    let mut body = [0; 5];
    stream.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_cut_off_does_not_look_whole() {
    let (stage, _endpoint) = stage().await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    stream.write_all(b"GET /p/cut HTTP/1.1\r\nHost: x.io\r\n\r\n").await.unwrap();
    let mut seen = Vec::new();
    let _ended = stream.read_to_end(&mut seen).await;
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("content-length: 9") && seen.ends_with("\r\n\r\nhello"), "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_left_is_asked_for_no_longer() {
    let (stage, endpoint) = stage().await;
    let mut stream = TcpStream::connect(stage.http).await.unwrap();
    stream.write_all(b"GET /p/never HTTP/1.1\r\nHost: x.io\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(stream);
    tokio::time::timeout(Duration::from_secs(10), endpoint.left.notified()).await.expect("it is let go");
}
