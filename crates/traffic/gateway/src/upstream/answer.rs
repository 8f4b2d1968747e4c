//! The head of an endpoint's answer, and how much body it announces.

use bytes::BytesMut;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::chunked::Chunked;
use super::reading::Reading;
use crate::headers;

const MOST_HEADERS: usize = 128;
const LONGEST_HEAD: usize = 64 * 1024;

pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// What its `Upgrade` says, if it goes over to another protocol.
    pub(crate) upgrade: Option<HeaderValue>,
    pub(super) reading: Reading,
    pub(super) keeps: bool,
}

/// None if more bytes are needed. The bytes of the head are taken away, and those of heads that only say that there will be one: what
/// an endpoint says on the way is between the two of us.
pub(super) fn parse(bytes: &mut BytesMut, is_head_method: bool) -> Result<Option<Head>, String> {
    loop {
        match parse_one(bytes, is_head_method)? {
            Some(head) if head.is_on_the_way() => {}
            parsed => return Ok(parsed),
        }
    }
}

fn parse_one(bytes: &mut BytesMut, is_head_method: bool) -> Result<Option<Head>, String> {
    let mut found = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
    let mut answer = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default()
        .parse_response_with_uninit_headers(&mut answer, bytes, &mut found)
        .map_err(|error| error.to_string())?;
    let httparse::Status::Complete(used) = parsed else {
        return if bytes.len() < LONGEST_HEAD { Ok(None) } else { Err(too_long()) };
    };
    if used > LONGEST_HEAD {
        return Err(too_long());
    }
    let status = answer.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or("it has no status")?;
    let is_11 = answer.version == Some(1);
    let mut names = Vec::with_capacity(answer.headers.len());
    let start = bytes.as_ptr() as usize;
    for header in answer.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|error| error.to_string())?;
        let from = header.value.as_ptr() as usize - start;
        names.push((name, from..from + header.value.len()));
    }
    let head = bytes.split_to(used).freeze();
    let mut all = Fields { headers: HeaderMap::with_capacity(names.len() + 2), ..Fields::default() };
    for (name, range) in names {
        let value = HeaderValue::from_maybe_shared(head.slice(range)).map_err(|error| error.to_string())?;
        all.add(name, value)?;
    }
    all.finished(status, is_11, is_head_method).map(Some)
}

fn too_long() -> String {
    "its head is too long".to_owned()
}

impl Head {
    fn is_on_the_way(&self) -> bool {
        self.status.is_informational() && self.status != StatusCode::SWITCHING_PROTOCOLS
    }
}

#[derive(Default)]
struct Fields {
    headers: HeaderMap,
    connection: Vec<HeaderValue>,
    upgrade: Option<HeaderValue>,
    length: Option<u64>,
    /// Whether chunks are the last of its encodings.
    chunked: Option<bool>,
}

impl Fields {
    fn add(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), String> {
        match name {
            CONTENT_LENGTH => {
                let length = length(&value).ok_or("its length is no number")?;
                if self.length.is_some_and(|known| known != length) {
                    return Err("it has two lengths".to_owned());
                }
                if self.length.replace(length).is_none() {
                    self.headers.append(name, value);
                }
            }
            TRANSFER_ENCODING => {
                let last = value.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
                self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
            }
            CONNECTION => self.connection.push(value),
            UPGRADE => self.upgrade = Some(value),
            name if headers::is_between_neighbours(name.as_str()) => {}
            name => drop(self.headers.append(name, value)),
        }
        Ok(())
    }

    fn finished(mut self, status: StatusCode, is_11: bool, is_head_method: bool) -> Result<Head, String> {
        let says = |word: &[u8]| self.connection.iter().any(|value| headers::has_token(value, word));
        let mut keeps = if is_11 { !says(b"close") } else { says(b"keep-alive") };
        headers::remove_listed(&mut self.headers, self.connection.iter());
        let is_bare = is_head_method
            || status.is_informational()
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        let reading = match (self.chunked, self.length) {
            _ if is_bare => Reading::Done,
            (Some(is_last), length) => {
                if length.is_some() {
                    // Somebody between here and there may have gone by the length.
                    self.headers.remove(CONTENT_LENGTH);
                    keeps = false;
                }
                if is_last { Reading::Chunked(Chunked::default()) } else { Reading::UntilClosed }
            }
            (None, Some(0)) => Reading::Done,
            (None, Some(length)) => Reading::Length(length),
            (None, None) => Reading::UntilClosed,
        };
        keeps &= reading != Reading::UntilClosed;
        Ok(Head { status, headers: self.headers, upgrade: self.upgrade, reading, keeps })
    }
}

/// Digits only: a sign or a space could mean another length to another reader.
fn length(value: &HeaderValue) -> Option<u64> {
    let digits = value.as_bytes();
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_plain.then(|| value.to_str().ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_announces() {
        for (case, text, is_head, expected) in [
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, "200 Length(3) keeps"),
            ("nothing", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, "200 Done keeps"),
            ("to HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, "200 Done keeps"),
            ("no content", "HTTP/1.1 204 No Content\r\n\r\n", false, "204 Done keeps"),
            (
                "not modified",
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
                false,
                "304 Done keeps",
            ),
            (
                "chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n",
                false,
                "200 Chunked(Size) keeps",
            ),
            (
                "both",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
                false,
                "200 Chunked(Size) ends",
            ),
            ("until the end", "HTTP/1.1 200 OK\r\n\r\n", false, "200 UntilClosed ends"),
            (
                "close",
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Close\r\n\r\n",
                false,
                "200 Length(3) ends",
            ),
            ("an old one", "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", false, "200 Length(3) ends"),
            (
                "an old one that stays",
                "HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n",
                false,
                "200 Length(3) keeps",
            ),
            (
                "on the way",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n",
                false,
                "more",
            ),
            (
                "after others on the way",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
                false,
                "204 Done keeps",
            ),
            ("another protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", false, "101 Done keeps"),
            ("half a head", "HTTP/1.1 200 OK\r\nContent-", false, "more"),
            (
                "two lengths",
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
                false,
                "! it has two lengths",
            ),
            (
                "one length twice",
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
                false,
                "200 Length(3) keeps",
            ),
            (
                "an odd length",
                "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
                false,
                "! its length is no number",
            ),
        ] {
            let mut bytes = BytesMut::from(text);
            let seen = match parse(&mut bytes, is_head) {
                Ok(None) => "more".to_owned(),
                Ok(Some(head)) => {
                    let keeps = if head.keeps { "keeps" } else { "ends" };
                    format!("{} {:?} {keeps}", head.status.as_u16(), head.reading)
                }
                Err(why) => format!("! {why}"),
            };
            assert_eq!(seen, expected, "{case}");
        }
    }

    #[test]
    fn headers_between_neighbours_stay_there() {
        let mut bytes = BytesMut::from(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Mine\r\nKeep-Alive: 5\r\nX-Mine: 1\r\nX-Yours: 2\r\nContent-Length: 0\r\n\r\n",
        );
        let head = parse(&mut bytes, false).unwrap().unwrap();
        let mut names: Vec<&str> = head.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "x-yours"]);
    }
}
