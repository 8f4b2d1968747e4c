use http::HeaderMap;

use super::Handshake;

#[test]
fn the_handshake_is_answered_as_the_standard_says() {
    let mut headers = HeaderMap::new();
    headers.insert("upgrade", "websocket".parse().unwrap());
    headers.insert("connection", "keep-alive, Upgrade".parse().unwrap());
    headers.insert("sec-websocket-version", "13".parse().unwrap());
    headers.insert("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==".parse().unwrap());
    headers.append("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io".parse().unwrap());
    let asked = Handshake::of(&headers).unwrap().unwrap();
    assert_eq!(asked.protocols, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
    let answer = asked.accept(Some("v5.channel.k8s.io"));
    assert_eq!(answer.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(answer.headers()["sec-websocket-protocol"], "v5.channel.k8s.io");
    headers.remove("sec-websocket-version");
    assert_eq!(Handshake::of(&headers).unwrap_err().text, "missing or bad WebSocket version");
    headers.insert("upgrade", "SPDY/3.1".parse().unwrap());
    assert!(Handshake::of(&headers).unwrap().is_none());
}
