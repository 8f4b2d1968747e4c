//! Answers as HTTP/1.1 has them. Knows no socket.

use std::cell::RefCell;

use http::StatusCode;
use http::header::{DATE, HeaderMap};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::upstream::Framing;

pub(super) fn head(status: StatusCode, headers: &HeaderMap, framing: Framing, into: &mut Vec<u8>) {
    let mut put = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| into.extend_from_slice(piece));
    let reason = status.canonical_reason().unwrap_or_default();
    put(&[b"HTTP/1.1 ", status.as_str().as_bytes(), b" ", reason.as_bytes(), b"\r\n"]);
    for (name, value) in headers {
        put(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
    }
    if !headers.contains_key(DATE) {
        with_date(|date| put(&[b"date: ", date.as_bytes(), b"\r\n"]));
    }
    match framing {
        Framing::Nothing => put(&[b"\r\n"]),
        Framing::Length(length) => put(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n\r\n"]),
        Framing::Chunked => put(&[b"transfer-encoding: chunked\r\n\r\n"]),
    }
}

/// What stands before a chunk.
pub(super) fn chunk(length: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("{length:x}\r\n").as_bytes());
}

/// The time as answers say it, written anew every second.
fn with_date<T>(show: impl FnOnce(&str) -> T) -> T {
    thread_local!(static DATE: RefCell<(i64, String)> = RefCell::default());
    DATE.with_borrow_mut(|(second, text)| {
        let now = Timestamp::now();
        if *second != now.as_second() {
            *second = now.as_second();
            // No time of this clock is beyond what can be written.
            *text = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
        }
        show(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_whole() {
        let headers = HeaderMap::from_iter([(DATE, http::HeaderValue::from_static("now"))]);
        for (status, framing, expected) in [
            (200, Framing::Nothing, "HTTP/1.1 200 OK\r\ndate: now\r\n\r\n"),
            (404, Framing::Length(7), "HTTP/1.1 404 Not Found\r\ndate: now\r\ncontent-length: 7\r\n\r\n"),
            (299, Framing::Chunked, "HTTP/1.1 299 \r\ndate: now\r\ntransfer-encoding: chunked\r\n\r\n"),
        ] {
            let mut text = Vec::new();
            head(StatusCode::from_u16(status).unwrap(), &headers, framing, &mut text);
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }

    #[test]
    fn an_answer_without_a_date_gets_one() {
        let mut text = Vec::new();
        head(StatusCode::OK, &HeaderMap::new(), Framing::Nothing, &mut text);
        let text = String::from_utf8(text).unwrap();
        let date = text.lines().find_map(|line| line.strip_prefix("date: ")).unwrap();
        assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
    }
}
