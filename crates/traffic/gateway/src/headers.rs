//! Headers on their way through: those between neighbours stay behind, and the endpoint is told who asked and how. What a client
//! claims about that itself is dropped.

use std::net::IpAddr;

use bytes::BytesMut;
use http::HeaderMap;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, FORWARDED, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};

use crate::upstream::Framing;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// Who asks, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) address: IpAddr,
    pub(crate) is_secure: bool,
    /// As it was written, with its port.
    pub(crate) host: &'a str,
}

impl Asker<'_> {
    fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }
}

/// Of this connection only, whatever the message.
pub(crate) fn is_between_neighbours(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "connection",
        "transfer-encoding",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        "te",
        "proxy-authenticate",
        "proxy-authorization",
    ];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// What we say ourselves.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "host",
        "content-length",
        "expect",
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-proto",
        "x-real-ip",
    ];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a list of words has this one.
pub(crate) fn has_token(value: &HeaderValue, token: &[u8]) -> bool {
    value.as_bytes().split(|byte| *byte == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(token))
}

/// Takes away what `Connection` lists as of this connection only.
pub(crate) fn remove_listed<'a>(headers: &mut HeaderMap, connection: impl Iterator<Item = &'a HeaderValue>) {
    for word in connection.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        let word = word.trim_ascii();
        let is_usual =
            [&b"close"[..], b"keep-alive", b"upgrade"].iter().any(|usual| word.eq_ignore_ascii_case(usual));
        // A length is how the message is framed; nobody may talk it away.
        if !is_usual
            && let Ok(name) = HeaderName::from_bytes(word)
            && name != CONTENT_LENGTH
            && name != HOST
        {
            headers.remove(name);
        }
    }
}

/// The protocol that the client wants to go over to.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<&HeaderValue> {
    let asks = headers.get_all(CONNECTION).iter().any(|value| has_token(value, b"upgrade"));
    headers.get(UPGRADE).filter(|_| asks)
}

/// The head of a request as HTTP/1.1 has it.
pub(crate) fn write<'h>(
    method: &str,
    target: [&str; 2],
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    asker: &Asker<'_>,
    framing: Framing,
    upgrade: Option<&HeaderValue>,
    into: &mut BytesMut,
) {
    let mut put = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| into.extend_from_slice(piece));
    put(&[method.as_bytes(), b" ", target[0].as_bytes(), target[1].as_bytes(), b" HTTP/1.1\r\nhost: "]);
    put(&[asker.host.as_bytes(), b"\r\n"]);
    for (name, value) in headers.filter(|(name, _)| !is_ours(name) && !is_between_neighbours(name)) {
        put(&[name.as_bytes(), b": ", value, b"\r\n"]);
    }
    let mut address = Text { room: [0; 48], length: 0 };
    // Formatting an address into enough room cannot fail.
    let _written = std::fmt::Write::write_fmt(&mut address, format_args!("{}", asker.address));
    let address = address.bytes();
    put(&[b"x-forwarded-for: ", address, b"\r\nx-real-ip: ", address, b"\r\nx-forwarded-proto: "]);
    put(&[asker.scheme().as_bytes(), b"\r\nx-forwarded-host: ", asker.host.as_bytes(), b"\r\n"]);
    match framing {
        Framing::Nothing => {}
        Framing::Length(length) => put(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n"]),
        Framing::Chunked => put(&[b"transfer-encoding: chunked\r\n"]),
    }
    if let Some(protocol) = upgrade {
        put(&[b"connection: upgrade\r\nupgrade: ", protocol.as_bytes(), b"\r\n"]);
    }
    put(&[b"\r\n"]);
}

/// The headers of a request as HTTP/2 has them.
pub(crate) fn told(headers: &mut HeaderMap, asker: &Asker<'_>) {
    let trailers = headers.get_all(TE).iter().any(|value| has_token(value, b"trailers"));
    for name in
        [CONNECTION, TRANSFER_ENCODING, KEEP_ALIVE, PROXY_CONNECTION, UPGRADE, TE, HOST, EXPECT, FORWARDED]
    {
        headers.remove(name);
    }
    for name in [PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, FORWARDED_PORT] {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Ok(address) = HeaderValue::try_from(asker.address.to_string()) {
        headers.insert(FORWARDED_FOR, address.clone());
        headers.insert(REAL_IP, address);
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(asker.scheme()));
    if let Ok(host) = HeaderValue::try_from(asker.host) {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// An address as text, without asking for memory.
struct Text {
    room: [u8; 48],
    length: usize,
}

impl Text {
    fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self.room.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn what_an_endpoint_is_told() {
        let asker = Asker { address: "192.0.2.7".parse().unwrap(), is_secure: true, host: "x.io:8443" };
        let told = "x-forwarded-for: 192.0.2.7|x-real-ip: 192.0.2.7|x-forwarded-proto: https|x-forwarded-host: x.io:8443";
        for (case, given, framing, upgrade, expected) in [
            ("nothing", vec![], Framing::Nothing, None, format!("{told}||")),
            (
                "claims of the client",
                vec![
                    ("x-forwarded-for", "1.2.3.4"),
                    ("x-real-ip", "1.2.3.4"),
                    ("forwarded", "for=x"),
                    ("a", "b"),
                ],
                Framing::Nothing,
                None,
                format!("a: b|{told}||"),
            ),
            (
                "between neighbours",
                vec![
                    ("te", "trailers"),
                    ("keep-alive", "5"),
                    ("proxy-connection", "x"),
                    ("expect", "100-continue"),
                ],
                Framing::Length(3),
                None,
                format!("{told}|content-length: 3||"),
            ),
            (
                "chunks",
                vec![("transfer-encoding", "chunked")],
                Framing::Chunked,
                None,
                format!("{told}|transfer-encoding: chunked||"),
            ),
            (
                "an empty body",
                vec![("content-length", "0")],
                Framing::Length(0),
                None,
                format!("{told}|content-length: 0||"),
            ),
            (
                "another protocol",
                vec![("connection", "Upgrade"), ("upgrade", "websocket")],
                Framing::Nothing,
                Some("websocket"),
                format!("{told}|connection: upgrade|upgrade: websocket||"),
            ),
        ] {
            let given = headers(&given);
            let upgrade = upgrade.map(HeaderValue::from_static);
            assert_eq!(super::upgrade(&given), upgrade.as_ref(), "{case}");
            let given = given.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let mut head = BytesMut::new();
            write("GET", ["/", "x?y"], given, &asker, framing, upgrade.as_ref(), &mut head);
            let text = String::from_utf8(head.to_vec()).unwrap().replace("\r\n", "|");
            assert_eq!(text, format!("GET /x?y HTTP/1.1|host: x.io:8443|{expected}"), "{case}");
        }
    }

    #[test]
    fn listed_headers_stay_behind() {
        let mut all = headers(&[("x-mine", "1"), ("x-yours", "2"), ("content-length", "3")]);
        let listed = HeaderValue::from_static("close, X-Mine, Content-Length, (");
        remove_listed(&mut all, [&listed].into_iter());
        assert_eq!(all, headers(&[("x-yours", "2"), ("content-length", "3")]));
        let grpc = Asker { address: "::1".parse().unwrap(), is_secure: false, host: "x.io" };
        let mut all = headers(&[("te", "trailers"), ("connection", "te"), ("host", "x.io")]);
        told(&mut all, &grpc);
        assert_eq!(
            (all.get(TE).unwrap(), all.get(HOST), all.get(CONNECTION)),
            (&HeaderValue::from_static("trailers"), None, None)
        );
    }
}
