//! A watch as it comes over the wire: one event a line, read without the account of who wrote which field. That account is half
//! of a line, takes longer to read than all the rest, and is nobody's business here.

use std::borrow::Cow;

use futures::{AsyncBufRead, AsyncBufReadExt};
use kube::api::WatchEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Watched;

#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
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

pub(super) struct Frames<R> {
    from: R,
    /// Kept for the next line.
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Frames<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, line: Vec::new() }
    }

    /// The next event; `None` at the end.
    pub(super) async fn next<K: Watched>(&mut self) -> Result<Option<WatchEvent<K>>, FrameError> {
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
            return event(&self.line).map(Some);
        }
    }
}

fn event<K: Watched>(line: &[u8]) -> Result<WatchEvent<K>, FrameError> {
    let envelope: Envelope<'_> = serde_json::from_slice(line)?;
    let object = envelope.object.get();
    Ok(match &*envelope.class {
        "ADDED" => WatchEvent::Added(K::read(object.as_bytes())?),
        "MODIFIED" => WatchEvent::Modified(K::read(object.as_bytes())?),
        "DELETED" => WatchEvent::Deleted(K::read(object.as_bytes())?),
        "BOOKMARK" => WatchEvent::Bookmark(serde_json::from_str(object)?),
        "ERROR" => WatchEvent::Error(serde_json::from_str(object)?),
        other => return Err(FrameError::Unknown(other.to_owned())),
    })
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
        let text = "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}]}}}\n\n{\"type\":\"ADDED\"";
        let mut frames = Frames::new(futures::io::Cursor::new(text));
        let Some(WatchEvent::Added(map)) = frames.next::<ConfigMap>().await.unwrap() else {
            panic!("no event")
        };
        assert_eq!((map.metadata.name.as_deref(), map.metadata.managed_fields), (Some("a"), None));
        assert!(matches!(frames.next::<ConfigMap>().await, Err(FrameError::NoEvent(_))));
        assert!(matches!(frames.next::<ConfigMap>().await, Ok(None)));
    }
}
