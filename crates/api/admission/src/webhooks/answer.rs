//! What a webhook answered: read, held against the question, and refused where it makes no sense. Sends nothing.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_kinds::{Details, Reason, Status};
use serde::Deserialize;
use serde_json::Value;

use super::hook::Form;

/// A verdict that makes sense.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) allowed: bool,
    /// What a refusal says for itself.
    pub(crate) result: Option<Value>,
    /// The bytes of a JSON patch; empty for none.
    pub(crate) patch: Vec<u8>,
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sent {
    kind: String,
    api_version: String,
    response: Option<Response>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    uid: String,
    allowed: bool,
    status: Option<Value>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
    audit_annotations: Option<BTreeMap<String, String>>,
}

/// Why an answer is none. The texts are Kubernetes'.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("failed to call webhook: {0}")]
    Undecodable(String),
    #[error("received invalid webhook response: {0}")]
    Invalid(String),
}

pub(crate) fn verdict(bytes: &[u8], form: Form, uid: &str, mutating: bool) -> Result<Verdict, Unfit> {
    let sent = read(bytes)?;
    // A review that says which it is says that it is another one.
    if !sent.kind.is_empty() && (sent.kind != "AdmissionReview" || !known(&sent.api_version)) {
        return Err(Unfit::Undecodable(format!(
            "no kind {:?} is registered for version {:?} in scheme \"k8s.io/apiserver/pkg/util/webhook/client.go:71\"",
            sent.kind, sent.api_version
        )));
    }
    let invalid = |why: String| Err(Unfit::Invalid(why));
    let Some(response) = sent.response else { return invalid("webhook response was absent".to_owned()) };
    let patch = response.patch.unwrap_or_default();
    let patch = STANDARD
        .decode(patch)
        .map_err(|error| Unfit::Undecodable(format!("illegal base64 data: {error}")))?;
    if form == Form::V1 {
        if response.uid != uid {
            return invalid(format!("expected response.uid={uid:?}, got {:?}", response.uid));
        }
        if sent.kind != "AdmissionReview" || sent.api_version != form.api_version() {
            let (group, version) = sent.api_version.split_once('/').unwrap_or(("", &sent.api_version));
            return invalid(format!(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={}",
                sent.kind
            ));
        }
        match (mutating, patch.is_empty(), response.patch_type.as_deref()) {
            (true, false, None) => {
                return invalid("webhook returned response.patch but not response.patchType".to_owned());
            }
            (true, true, Some(_)) => {
                return invalid("webhook returned response.patchType but not response.patch".to_owned());
            }
            (true, _, Some("")) => {
                return invalid("webhook returned invalid response.patchType of \"\"".to_owned());
            }
            (false, false, _) => {
                return invalid("validating webhook may not return response.patch".to_owned());
            }
            (false, _, Some(_)) => {
                return invalid("validating webhook may not return response.patchType".to_owned());
            }
            _ => {}
        }
        if let Some(other) = response.patch_type.as_deref().filter(|kind| *kind != "JSONPatch") {
            return Err(Unfit::Invalid(format!("unsupported patch type {other:?}")));
        }
    }
    Ok(Verdict {
        allowed: response.allowed,
        result: response.status,
        patch: if mutating { patch } else { Vec::new() },
        warnings: response.warnings.unwrap_or_default(),
        annotations: response.audit_annotations.unwrap_or_default(),
    })
}

fn read(bytes: &[u8]) -> Result<Sent, Unfit> {
    // A list would do for a struct here, and for nobody else.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(sent) = serde_json::from_slice(bytes)
    {
        return Ok(sent);
    }
    // What is no JSON would be YAML to a stock server, and is then mostly a string. What is said twice counts the last time.
    let whole: Value = serde_json::from_slice(bytes).unwrap_or_else(|_| Value::from(""));
    if !whole.is_object() {
        return Err(Unfit::Undecodable(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type \
             struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            called(&whole)
        )));
    }
    Sent::deserialize(&whole).map_err(|error| Unfit::Undecodable(error.to_string()))
}

/// What Go calls a value of JSON.
pub(crate) fn called(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn known(api_version: &str) -> bool {
    matches!(api_version, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1")
}

/// A webhook's no, in its words.
pub(crate) fn refusal(webhook: &str, result: Option<&Value>) -> Status {
    let text = |field: &str| result.and_then(|result| result.get(field)?.as_str()).unwrap_or_default();
    let denied = format!("admission webhook {webhook:?} denied the request");
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let code = result.and_then(|result| result.get("code")?.as_u64()).unwrap_or(0);
    let code = u16::try_from(code).ok().filter(|code| (400..600).contains(code)).unwrap_or(400);
    let known = Reason::deserialize(Value::from(text("reason")));
    let mut status = Status::new(code, *known.as_ref().unwrap_or(&Reason::Unknown), message);
    let details = result.and_then(|result| result.get("details"));
    let mut details = details.and_then(|details| Details::deserialize(details).ok());
    if known.is_err() {
        details.get_or_insert_default().own_reason = text("reason").to_owned();
    }
    status.details = details.map(Box::new);
    status
}

/// What Go's client says of an answer that is none: the code, and what was sent with it as text.
pub(crate) fn failed(code: u16, content_type: &str, body: &[u8]) -> String {
    let readable = content_type.is_empty() || content_type.starts_with("text/");
    let body = String::from_utf8_lossy(body);
    let said = if readable { body.trim() } else { "unknown" };
    let text = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 => return said.to_owned(),
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 => {
            "the server was unable to respond with a content type that the client supports: unknown (post)"
        }
        409 => "the server reported a conflict",
        415 => {
            "the body of the request was in an unknown format - accepted media types include: unknown (post)"
        }
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            return format!("an error on the server ({said:?}) has prevented the request from succeeding");
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    text.to_owned()
}
