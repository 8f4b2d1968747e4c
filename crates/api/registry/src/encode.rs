//! Writes an object's bytes once, leaving the place for the revision open: the store knows it only when it commits.
//! Knows nothing of kinds or of the store.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::unread;

/// How many maps and lists of a stored object may be in each other: a little less than can be read again.
pub(crate) const MAX_DEPTH: usize = 120;

/// The value has more maps and lists in each other than this. Looks no deeper than it must.
pub(crate) fn is_deeper(value: &Value, than: usize) -> bool {
    match value {
        Value::Array(items) => than == 0 || items.iter().any(|item| is_deeper(item, than - 1)),
        Value::Object(fields) => than == 0 || fields.values().any(|field| is_deeper(field, than - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// An object's bytes without its resourceVersion, and where in them it belongs.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Bytes,
    /// The offset between the quotes of `"resourceVersion":""`.
    pub(crate) hole: usize,
}

impl Encoded {
    /// The stored bytes say the same at their revision.
    pub(crate) fn equals(&self, stored: &[u8], revision: u64) -> bool {
        let digits = revision.to_string();
        let Some((before, rest)) = stored.split_at_checked(self.hole) else { return false };
        let Some(after) = rest.strip_prefix(digits.as_bytes()) else { return false };
        let (own_before, own_after) = self.bytes.split_at(self.hole.min(self.bytes.len()));
        before == own_before && after == own_after
    }

    /// The bytes as they stand before any commit: what a dry run answers. Kubernetes leaves the revision out of it.
    pub(crate) fn without_revision(&self) -> Bytes {
        const FIELD: &[u8] = b"\"resourceVersion\":\"";
        let start = self.hole.saturating_sub(FIELD.len());
        let mut end = self.hole + 1;
        let mut start = start;
        // One of the commas beside the field goes with it.
        if self.bytes.get(end) == Some(&b',') {
            end += 1;
        } else if start > 0 && self.bytes.get(start - 1) == Some(&b',') {
            start -= 1;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        bytes.extend_from_slice(self.bytes.get(..start).unwrap_or_default());
        bytes.extend_from_slice(self.bytes.get(end..).unwrap_or_default());
        bytes.into()
    }

    pub(crate) fn with_revision(&self, revision: u64) -> Bytes {
        let (before, after) = self.bytes.split_at(self.hole.min(self.bytes.len()));
        let mut bytes = Vec::with_capacity(self.bytes.len() + 20);
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(revision.to_string().as_bytes());
        bytes.extend_from_slice(after);
        bytes.into()
    }
}

/// Writes the object with an empty resourceVersion whose place is known; what the object says there is ignored.
pub(crate) fn encode(object: &Value) -> Encoded {
    let mut out = Vec::with_capacity(1024);
    let mut hole = 0;
    out.push(b'{');
    let empty = Map::new();
    let fields = object.as_object().unwrap_or(&empty);
    let mut first = true;
    for key in ["kind", "apiVersion"] {
        if let Some(value) = fields.get(key) {
            name(&mut out, &mut first, key);
            json(&mut out, value);
        }
    }
    name(&mut out, &mut first, "metadata");
    metadata(&mut out, &mut hole, fields.get("metadata").and_then(Value::as_object).unwrap_or(&empty));
    for (key, value) in fields {
        if !matches!(key.as_str(), "kind" | "apiVersion" | "metadata") {
            name(&mut out, &mut first, key);
            json(&mut out, value);
        }
    }
    out.push(b'}');
    Encoded { bytes: out.into(), hole }
}

/// Writes an object that is made up for an answer and has no place for a revision of its own.
pub(crate) fn plain(object: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    json(&mut out, object);
    out.into()
}

fn metadata(out: &mut Vec<u8>, hole: &mut usize, fields: &Map<String, Value>) {
    out.push(b'{');
    let mut first = true;
    for (key, value) in fields {
        if key == "managedFields"
            && let Value::Array(all) = value
        {
            name(out, &mut first, key);
            owners(out, all);
        } else if key != "resourceVersion" && !value.is_null() {
            name(out, &mut first, key);
            json(out, value);
        }
    }
    name(out, &mut first, "resourceVersion");
    *hole = out.len() + 1;
    out.extend_from_slice(b"\"\"}");
}

/// Whose fields were never looked at has them as the text that is written.
fn owners(out: &mut Vec<u8>, all: &[Value]) {
    out.push(b'[');
    for (at, owner) in all.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let Value::Object(owner) = owner else {
            json(out, owner);
            continue;
        };
        out.push(b'{');
        let mut first = true;
        for (key, value) in owner {
            if let Some(text) = unread::text(key, value) {
                name(out, &mut first, unread::FIELDS);
                out.extend_from_slice(text.as_bytes());
            } else {
                name(out, &mut first, key);
                json(out, value);
            }
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn name(out: &mut Vec<u8>, first: &mut bool, key: &str) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    // Writing JSON into memory fails only for maps with keys that aren't text, which `Value` can't hold.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
}

fn json(out: &mut Vec<u8>, value: &Value) {
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests;
