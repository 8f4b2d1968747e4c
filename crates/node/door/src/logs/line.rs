//! Lines as runtimes write them, `TIME STREAM TAG CONTENT`, turned into what the container said. Pure.

use bytes::{BufMut, BytesMut};
use jiff::Timestamp;

use super::Wanted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) time: &'a str,
    pub(super) is_error: bool,
    /// The runtime cut the line here; the next one of the same stream goes on with it.
    pub(super) is_partial: bool,
    pub(super) content: &'a [u8],
}

/// `text` has no line end. None if it is no line of a runtime.
pub(super) fn parse(text: &[u8]) -> Option<Line<'_>> {
    let mut parts = text.splitn(4, |byte| *byte == b' ');
    let time = std::str::from_utf8(parts.next()?).ok()?;
    let is_error = match parts.next()? {
        b"stdout" => false,
        b"stderr" => true,
        _ => return None,
    };
    let mut tags = parts.next()?.split(|byte| *byte == b':');
    let is_partial = match tags.next()? {
        b"P" => true,
        b"F" => false,
        _ => return None,
    };
    // An empty line may have lost the space before its content.
    Some(Line { time, is_error, is_partial, content: parts.next().unwrap_or_default() })
}

/// Writes lines as they are wanted.
pub(super) struct Printer {
    timestamps: bool,
    since: Option<Timestamp>,
    left: Option<u64>,
    wants: [bool; 2],
    /// Of each stream: the last line was cut, so the next one goes on with it.
    is_open: [bool; 2],
}

impl Printer {
    pub(super) fn new(wanted: &Wanted) -> Self {
        Self {
            timestamps: wanted.timestamps,
            since: wanted.since,
            left: wanted.limit,
            wants: [wanted.stdout, wanted.stderr],
            is_open: [false; 2],
        }
    }

    /// Whether as much was written as was wanted.
    pub(super) fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    pub(super) fn print(&mut self, text: &[u8], out: &mut BytesMut) {
        let Some(line) = parse(text) else { return };
        let stream = usize::from(line.is_error);
        if !self.wants[stream] || self.is_before(line.time) {
            return;
        }
        let start = out.len();
        if self.timestamps && !self.is_open[stream] {
            put_time(line.time, out);
            out.put_u8(b' ');
        }
        out.put_slice(line.content);
        if !line.is_partial {
            out.put_u8(b'\n');
        }
        self.is_open[stream] = line.is_partial;
        if let Some(left) = &mut self.left {
            let length = (out.len() - start).min(usize::try_from(*left).unwrap_or(usize::MAX));
            out.truncate(start + length);
            *left -= length as u64;
        }
    }

    /// Lines are in order, so the first that is late enough is the last that is looked at.
    fn is_before(&mut self, time: &str) -> bool {
        let Some(since) = self.since else { return false };
        let is_before = time.parse::<Timestamp>().is_ok_and(|time| time < since);
        if !is_before {
            self.since = None;
        }
        is_before
    }
}

/// With nine digits behind the second, so that they stand below each other.
fn put_time(time: &str, out: &mut BytesMut) {
    let seconds = "2006-01-02T15:04:05".len();
    let Some((seconds, rest)) = time.split_at_checked(seconds) else {
        return out.put_slice(time.as_bytes());
    };
    let fraction = rest.strip_prefix('.').unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count().min(9);
    let zone = rest.trim_start_matches(|letter: char| letter == '.' || letter.is_ascii_digit());
    out.put_slice(seconds.as_bytes());
    out.put_u8(b'.');
    out.put_slice(&fraction.as_bytes()[..digits]);
    out.put_bytes(b'0', 9 - digits);
    out.put_slice(zone.as_bytes());
}
