//! Connections on which the rest does not come: they are given up in time, and nothing comes of half a request.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::socket::Up;
use crate::Patience;

const HEAD: &str = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// Everything that the server says until it closes the connection.
async fn heard(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut said = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await;
    // A peer that is cut off without a farewell reads an error; what counts is that it is cut off.
    let _either_way = end.expect("the connection was still open after 20 s");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let short = Patience { body: Duration::from_millis(100), ..Patience::default() };
    let up = Up::with(|options| options.patience = short).await;
    let before = up.server.registry.store().revision();
    let body = r#"{"metadata":{"name":"half"}}"#;
    let (half, _) = body.split_at(10);
    for (case, rest) in [("nothing", ""), ("half", half)] {
        let mut slow = up.connect(Some(&up.admin()), b"http/1.1").await;
        let head = format!("{HEAD}Content-Length: {}\r\n\r\n{rest}", body.len());
        slow.write_all(head.as_bytes()).await.unwrap();
        let said = heard(&mut slow).await;
        assert!(said.starts_with("HTTP/1.1 408 "), "{case}: {said}");
        assert!(
            said.contains("\"reason\":\"Timeout\"") && said.contains("did not arrive in time"),
            "{case}: {said}"
        );
    }
    assert_eq!(up.server.registry.store().revision(), before, "nothing was stored");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up() {
    let short = Patience { head: Duration::from_millis(100), ..Patience::default() };
    let up = Up::with(|options| options.patience = short).await;
    let mut slow = up.connect(Some(&up.admin()), b"http/1.1").await;
    slow.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await.unwrap();
    let said = heard(&mut slow).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[tokio::test]
async fn half_a_request_and_the_end_is_nothing() {
    let up = Up::with(|_| {}).await;
    let before = up.server.registry.store().revision();
    let body = r#"{"metadata":{"name":"half"}}"#;
    // The part that came is an object of its own.
    let longer = format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len() + 10);
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len());
    for (case, sent) in [("too short", longer), ("no last chunk", chunked)] {
        let mut half = up.connect(Some(&up.admin()), b"http/1.1").await;
        half.write_all(sent.as_bytes()).await.unwrap();
        half.shutdown().await.unwrap();
        let said = heard(&mut half).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 400 "), "{case}: {said}");
    }
    assert_eq!(up.server.registry.store().revision(), before, "nothing was stored");
    let whole = super::call(&up.server.admin, "POST", "/api/v1/namespaces/default/configmaps", body).await;
    assert_eq!(whole.code, 201, "the same in one piece is something: {}", whole.text());
}
