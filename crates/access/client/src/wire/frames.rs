//! A watch as it comes over the wire: one event a line, read without the account of who wrote which field. That account is half
//! of a line, takes longer to read than all the rest, and is nobody's business here.

use std::borrow::Cow;
use std::pin::Pin;

use futures::{AsyncBufRead, AsyncBufReadExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Status;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::world::Revision;

const END_OF_INITIAL_EVENTS: &str = "k8s.io/initial-events-end";

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the stream broke")]
    Broken(#[from] std::io::Error),
    #[error("the server sent what is no event: {0}")]
    NoEvent(#[from] serde_json::Error),
    #[error("the server sent an event of an unknown type, {0:?}")]
    Unknown(String),
}

/// What stands round an object.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    class: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// One event; objects as JSON.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// It came or changed.
    Put(&'a [u8]),
    /// It went.
    Gone(&'a [u8]),
    /// The watch has come this far although nothing changed.
    Bookmark {
        revision: Option<Revision>,
        ends_the_beginning: bool,
    },
    Error(Box<Status>),
}

pub(crate) struct Frames {
    from: Pin<Box<dyn AsyncBufRead + Send>>,
    /// Kept for the next line.
    line: Vec<u8>,
}

impl Frames {
    pub(crate) fn new(from: impl AsyncBufRead + Send + 'static) -> Self {
        Self { from: Box::pin(from), line: Vec::new() }
    }

    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        loop {
            self.line.clear();
            if self.from.read_until(b'\n', &mut self.line).await? == 0 {
                return Ok(None);
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            if let Some((begin, end)) = managed_fields(&self.line) {
                self.line.drain(begin..end);
            }
            return frame(&self.line).map(Some);
        }
    }
}

fn frame(line: &[u8]) -> Result<Frame<'_>, FrameError> {
    let envelope: Envelope<'_> = serde_json::from_slice(line)?;
    let object = envelope.object.get();
    Ok(match &*envelope.class {
        "ADDED" | "MODIFIED" => Frame::Put(object.as_bytes()),
        "DELETED" => Frame::Gone(object.as_bytes()),
        "BOOKMARK" => {
            let Marked { metadata } = serde_json::from_str(object)?;
            let mut annotations = metadata.annotations.iter().flatten();
            Frame::Bookmark {
                revision: Revision::of(&metadata),
                ends_the_beginning: annotations.any(|(name, _)| name == END_OF_INITIAL_EVENTS),
            }
        }
        "ERROR" => Frame::Error(serde_json::from_str(object)?),
        other => return Err(FrameError::Unknown(other.to_owned())),
    })
}

/// What an object of any kind says of itself.
#[derive(Deserialize)]
struct Marked {
    metadata: ObjectMeta,
}

/// Where an object of any kind stands in the history.
pub(crate) fn revision(object: &[u8]) -> Option<Revision> {
    let Marked { metadata } = serde_json::from_slice(object).ok()?;
    Revision::of(&metadata)
}

/// Where `object.metadata.managedFields` stands, with the comma that it leaves over.
fn managed_fields(line: &[u8]) -> Option<(usize, usize)> {
    let mut scan = Scan { line, at: 0 };
    scan.member("object")?;
    scan.member("metadata")?;
    let begin = scan.member("managedFields")?;
    scan.value()?;
    let end = scan.at;
    scan.space();
    if scan.here() == Some(b',') {
        return Some((begin, scan.at + 1));
    }
    let before = line.get(..begin)?.trim_ascii_end();
    Some(if before.ends_with(b",") { (before.len() - 1, end) } else { (begin, end) })
}

/// Goes over JSON without making anything of it. What is no JSON ends it.
struct Scan<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// Goes to the value of that member of the object that begins here. Gives where its name begins.
    fn member(&mut self, wanted: &str) -> Option<usize> {
        self.space();
        self.take(b'{')?;
        loop {
            self.space();
            let begin = self.at;
            let name = self.string()?;
            self.space();
            self.take(b':')?;
            if name == wanted.as_bytes() {
                self.space();
                return Some(begin);
            }
            self.value()?;
            self.space();
            self.take(b',')?;
        }
    }

    /// Goes behind the value that begins here.
    fn value(&mut self) -> Option<()> {
        self.space();
        match self.here()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match self.here()? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Some(());
                    }
                }
            }
            _ => {
                let rest = self.line.get(self.at..)?;
                self.at += rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'))?;
                Some(())
            }
        }
    }

    /// Goes behind the string that begins here, and gives what stands in it.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let begin = self.at;
        loop {
            let rest = self.line.get(self.at..)?;
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            if self.here()? == b'"' {
                let inside = self.line.get(begin..self.at);
                self.at += 1;
                return inside;
            }
            self.at += 2;
        }
    }

    fn space(&mut self) {
        while self.here().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.here()? == wanted).then(|| self.at += 1)
    }

    fn here(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::world::Watched;

    #[test]
    fn the_account_of_writers_is_left_out_and_nothing_else() {
        let cases = [
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[{"x":"]}\""}],"uid":"u"}}}"#,
                r#"{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"}}}"#,
            ),
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[{}]},"data":{}}}"#,
                r#"{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{}}}"#,
            ),
            (
                r#"{"object":{"metadata":{"managedFields":[]}},"type":"ADDED"}"#,
                r#"{"object":{"metadata":{}},"type":"ADDED"}"#,
            ),
            (
                r#"{"type":"ADDED", "object": {"metadata": {"name": "a" , "managedFields" : [ 1, 2 ] } } }"#,
                r#"{"type":"ADDED", "object": {"metadata": {"name": "a"  } } }"#,
            ),
            // Where it means something else, it stays.
            (r#"{"type":"ADDED","object":{"data":{"managedFields":"x"},"metadata":{"name":"a"}}}"#, ""),
            (r#"{"type":"ADDED","object":{"metadata":{"annotations":{"managedFields":"x"}}}}"#, ""),
            (r#"{"type":"ADDED","object":{"metadata":{"name":"\\\"managedFields\\\":[]"}}}"#, ""),
            // What is cut off or no JSON is left to the parser to complain of.
            (r#"{"type":"ADDED","object":{"metadata":{"managedFields":[{"a":"#, ""),
            (r#"{"type":"ADDED","object":{"metadata":{"managedFields":"unfinished"#, ""),
            ("[]", ""),
            ("", ""),
        ];
        for (line, wanted) in cases {
            let mut left = line.as_bytes().to_vec();
            if let Some((begin, end)) = managed_fields(&left) {
                left.drain(begin..end);
            }
            let wanted = if wanted.is_empty() { line } else { wanted };
            assert_eq!(String::from_utf8(left).unwrap(), wanted, "{line}");
        }
    }

    #[tokio::test]
    async fn lines_become_events_and_a_broken_one_is_told() {
        let text = "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}]}}}\n\n{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n{\"type\":\"ADDED\"";
        let mut frames = Frames::new(futures::io::Cursor::new(text));
        let Some(Frame::Put(map)) = frames.next().await.unwrap() else { panic!("no object") };
        let map = ConfigMap::read(map).unwrap();
        assert_eq!((map.metadata.name.as_deref(), map.metadata.managed_fields), (Some("a"), None));
        let Some(Frame::Bookmark { revision, ends_the_beginning }) = frames.next().await.unwrap() else {
            panic!("no bookmark")
        };
        assert_eq!((revision, ends_the_beginning), (Some(Revision(7)), true));
        assert!(matches!(frames.next().await, Err(FrameError::NoEvent(_))));
        assert!(matches!(frames.next().await, Ok(None)));
    }
}
