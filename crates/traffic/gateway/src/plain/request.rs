//! Which requests are plain, and what they say. Knows no socket.

use std::mem::MaybeUninit;

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::headers::{self, Asker};
use crate::routes::stripped;
use crate::serve::Came;
use crate::upstream::Framing;

/// Who says more is not plain.
const MOST_HEADERS: usize = 32;
const LONGEST_HEAD: usize = 16 * 1024;

pub(super) type Room<'a> = [MaybeUninit<httparse::Header<'a>>; MOST_HEADERS];

/// Where a request's headers are noted.
pub(super) fn room<'a>() -> Room<'a> {
    [const { MaybeUninit::uninit() }; MOST_HEADERS]
}

pub(super) enum Seen<'a, 'r> {
    Plain(Asked<'a, 'r>),
    /// More must come before anything can be said.
    Part,
    Other,
}

/// A plain request.
pub(super) struct Asked<'a, 'r> {
    pub(super) is_head: bool,
    target: &'a str,
    pub(super) host: &'a str,
    headers: &'r [httparse::Header<'a>],
    /// How many bytes it is.
    pub(super) length: usize,
}

/// What the request is that these bytes begin with.
pub(super) fn see<'a, 'r>(bytes: &'a [u8], room: &'r mut Room<'a>) -> Seen<'a, 'r> {
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(length)) => plain(request, length).map_or(Seen::Other, Seen::Plain),
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => Seen::Part,
        _ => Seen::Other,
    }
}

fn plain<'a, 'r>(request: httparse::Request<'r, 'a>, length: usize) -> Option<Asked<'a, 'r>> {
    let is_head = match request.method? {
        "GET" => false,
        "HEAD" => true,
        _ => return None,
    };
    let target = request.path.filter(|target| target.starts_with('/') && target.bytes().all(is_usual))?;
    let headers: &'r [httparse::Header<'a>] = request.headers;
    let mut host = None;
    for header in headers {
        if header.name.eq_ignore_ascii_case("host") {
            let name = std::str::from_utf8(header.value).ok()?;
            if !name.bytes().all(is_of_name) || host.replace(name).is_some() {
                return None;
            }
        } else if header.name.eq_ignore_ascii_case("connection") {
            header.value.eq_ignore_ascii_case(b"keep-alive").then_some(())?;
        } else if headers::is_between_neighbours(header.name)
            || is_about_a_body(header.name)
            || !header.value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        {
            return None;
        }
    }
    let host = host.filter(|_| request.version == Some(1))?;
    Some(Asked { is_head, target, host, headers, length })
}

/// What nobody reads in two ways.
fn is_usual(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte)
}

fn is_about_a_body(name: &str) -> bool {
    ["content-length", "expect", "trailer"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl Asked<'_, '_> {
    pub(super) fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// Its head as an endpoint gets it.
    pub(super) fn write(&self, strip: usize, came: Came, into: &mut BytesMut) {
        let method = if self.is_head { "HEAD" } else { "GET" };
        let asker = Asker { address: came.from, is_secure: came.is_secure, host: self.host };
        let headers = self.headers.iter().map(|header| (header.name, header.value));
        headers::write(method, stripped(self.target, strip), headers, &asker, Framing::Nothing, None, into);
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let known = self.headers.iter().filter_map(|header| {
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_bytes(header.value).ok()?))
        });
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_requests_are_plain() {
        for (text, expected) in [
            ("GET /p/x?y=%20&z HTTP/1.1\r\nHost: x.io:80\r\n\r\n", "GET /p/x x.io:80"),
            ("HEAD / HTTP/1.1\r\nAccept: a\tb\r\nhOST: x.io\r\n\r\nGET /", "HEAD / x.io"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nConnection: Keep-Alive\r\n\r\n", "GET / x.io"),
            ("", "part"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nAcc", "part"),
            // Not ours to judge.
            ("\u{1}\r\n\r\n", "other"),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "other"),
            ("GET / HTTP/1.0\r\nHost: x.io\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nHost: x.io\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: user@x.io\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x\u{e9}.io\r\n\r\n", "other"),
            ("GET http://x.io/ HTTP/1.1\r\nHost: x.io\r\n\r\n", "other"),
            ("GET /\" HTTP/1.1\r\nHost: x.io\r\n\r\n", "other"),
            ("GET /\u{e9} HTTP/1.1\r\nHost: x.io\r\n\r\n", "other"),
            ("OPTIONS * HTTP/1.1\r\nHost: x.io\r\n\r\n", "other"),
            ("POST / HTTP/1.1\r\nHost: x.io\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nContent-Length: 0\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nTransfer-Encoding: chunked\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nConnection: close\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nConnection: keep-alive, x\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nUpgrade: h2c\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nTE: trailers\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nExpect: 100-continue\r\n\r\n", "other"),
            ("GET / HTTP/1.1\r\nHost: x.io\r\nX: \u{e9}\r\n\r\n", "other"),
        ] {
            let mut room = room();
            let seen = match see(text.as_bytes(), &mut room) {
                Seen::Plain(asked) => {
                    let method = if asked.is_head { "HEAD" } else { "GET" };
                    assert!(text[..asked.length].ends_with("\r\n\r\n"), "{text:?}");
                    format!("{method} {} {}", asked.path(), asked.host)
                }
                Seen::Part => "part".to_owned(),
                Seen::Other => "other".to_owned(),
            };
            assert_eq!(seen, expected, "{text:?}");
        }
    }

    #[test]
    fn who_says_much_is_not_plain() {
        let many = "X: y\r\n".repeat(MOST_HEADERS);
        let long = "x".repeat(LONGEST_HEAD);
        for text in [
            format!("GET / HTTP/1.1\r\nHost: x.io\r\n{many}\r\n"),
            format!("GET / HTTP/1.1\r\nHost: x.io\r\nX: {long}"),
        ] {
            assert!(matches!(see(text.as_bytes(), &mut room()), Seen::Other), "{}", &text[..40]);
        }
    }
}
