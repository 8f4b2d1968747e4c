//! Turns the body of a request into a value, whatever the encoding, and words what cannot be read as upstream does. Knows no
//! kind: whether the fields fit is `check`'s business; only protobuf needs the schemas to read anything at all.

mod json;
pub mod protobuf;
mod yaml;

use serde_json::Value;

use crate::status::Status;

/// The encodings of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Json,
    Yaml,
    Protobuf,
}

impl Media {
    /// By a `Content-Type` without its parameters. An absent one is JSON's.
    pub fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }
}

/// A body that was read.
#[derive(Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// Fields that were given more than once, of which the last counts; in document order, in strict decoding's words:
    /// `duplicate field "spec.replicas"`.
    pub duplicates: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("couldn't get version/kind; json parse error: {0}")]
    Json(String),
    #[error("yaml: {0}")]
    Yaml(String),
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoProtobuf,
    #[error("proto: {0}")]
    Protobuf(protobuf::WireError),
    #[error("no kind {kind:?} is registered for version {version:?}")]
    UnknownKind { version: String, kind: String },
}

/// Reads a body. In strict and warning modes `duplicates` are to be told; otherwise the last one of each counts silently.
pub fn body(bytes: &[u8], media: Media) -> Result<Decoded, DecodeError> {
    match media {
        Media::Json => json::read(bytes),
        Media::Yaml => yaml::read(bytes),
        Media::Protobuf => protobuf::read(bytes).map(|value| Decoded { value, duplicates: Vec::new() }),
    }
}

/// Reads a patch in JSON, which may be a list of operations.
pub fn patch(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    json::read_any(bytes)
}

/// Puts what strict decoding finds into the order of the document, as upstream tells it: each issue is
/// `unknown field "…"` or `duplicate field "…"`.
pub fn strict_issues(bytes: &[u8], media: Media, duplicates: Vec<String>, unknown: &[String]) -> Vec<String> {
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    let mut issues = duplicates;
    // A field that does not exist is told once, however often it was given.
    issues.retain(|issue| {
        unknown.clone().all(|known| issue.strip_prefix("duplicate") != known.strip_prefix("unknown"))
    });
    issues.extend(unknown);
    if media == Media::Json && issues.len() > 1 {
        json::sort_by_place(bytes, &mut issues);
    }
    issues
}

/// The answer for a body that is no object at all.
pub fn unrecognized(expected_kind: &str, error: &DecodeError, bytes: &[u8]) -> Status {
    let message = format!(
        "the object provided is unrecognized (must be of type {expected_kind}): {error} ({})",
        summary(bytes)
    );
    Status::bad_request(message)
}

/// The answer for an object that is not what the path asks for, or whose fields don't fit. `version` is without the group.
pub fn cannot_handle(found_kind: &str, version: &str, expected_kind: &str, why: &str) -> Status {
    Status::bad_request(format!(
        "{found_kind} in version {version:?} cannot be handled as a {expected_kind}: {why}"
    ))
}

fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let start = bytes.get(..SHOWN).unwrap_or(bytes);
    let rest = if bytes.len() > SHOWN { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{rest}", String::from_utf8_lossy(start)),
        Some(_) => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{rest}")
        }
    }
}

#[cfg(test)]
mod tests;
