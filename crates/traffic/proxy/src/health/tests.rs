use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

#[tokio::test]
async fn a_balancer_is_told() {
    let key = Key::new("shop", "web");
    for (endpoints, status) in [(0, 503), (3, 200)] {
        let response = answer(&key, endpoints);
        assert_eq!(response.status().as_u16(), status);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let expected = serde_json::json!({
            "service": {"namespace": "shop", "name": "web"},
            "localEndpoints": endpoints, "serviceProxyHealthy": true,
        });
        assert_eq!(told, expected);
    }
}

async fn status_at(port: u16) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn servers_come_and_go() {
    // A port that nobody has right now.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap().port();
    let key = Key::new("shop", "web");
    let mut healths = Healths::default();
    healths.set(&key, Some(Health { port, endpoints: 0 }));
    assert_eq!(status_at(port).await.unwrap(), "HTTP/1.1 503 Service Unavailable");
    healths.set(&key, Some(Health { port, endpoints: 1 }));
    assert_eq!(status_at(port).await.unwrap(), "HTTP/1.1 200 OK");
    healths.set(&key, None);
    let is_gone = || async { status_at(port).await.is_err() };
    for _ in 0..1_000 {
        if is_gone().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("port {port} is still open");
}
