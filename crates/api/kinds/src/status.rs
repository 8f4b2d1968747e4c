//! Kubernetes' `Status`: what every failed request answers, with reason, code and per-field causes.
//! Knows no HTTP; the code is a number that `api/http` writes on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kind::Kind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    pub code: u16,
    pub reason: Reason,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// A kind or a resource, as Kubernetes has it: `Invalid` names the kind, the others the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
    /// Where a list can go on although its page is no longer held. Travels in the answer's metadata.
    #[serde(skip)]
    pub continue_token: String,
    /// A reason that is none of Kubernetes': webhooks make up their own. Stands where `Status::reason` would.
    #[serde(skip)]
    pub own_reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// `FieldValueRequired`, `FieldValueInvalid`, `FieldManagerConflict`…
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    #[serde(rename = "")]
    Unknown,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    ServerTimeout,
    StoreReadError,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    Expired,
    ServiceUnavailable,
}

impl Status {
    pub fn new(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    #[must_use]
    pub fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    fn about(kind: &Kind, name: &str) -> Details {
        Details {
            name: name.to_owned(),
            group: kind.gv.group.to_string(),
            kind: kind.plural.to_string(),
            ..Details::default()
        }
    }

    pub fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.qualified_plural());
        Self::new(404, Reason::NotFound, message).with(Self::about(kind, name))
    }

    pub fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.qualified_plural());
        Self::new(409, Reason::AlreadyExists, message).with(Self::about(kind, name))
    }

    pub fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.qualified_plural());
        Self::new(409, Reason::Conflict, message).with(Self::about(kind, name))
    }

    pub fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", kind.qualified_plural())
        } else {
            format!("{} \"{name}\" is forbidden: {why}", kind.qualified_plural())
        };
        Self::new(403, Reason::Forbidden, message).with(Self::about(kind, name))
    }

    /// 422 with the causes in Kubernetes' wording: `Pod "x" is invalid: spec.containers: Required value`.
    pub fn invalid(kind: &Kind, name: &str, causes: Vec<Cause>) -> Self {
        let listed: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let list = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
        let qualified = if kind.gv.group.is_empty() {
            kind.kind.to_string()
        } else {
            format!("{}.{}", kind.kind, kind.gv.group)
        };
        let message = format!("{qualified} \"{name}\" is invalid: {list}");
        Self::new(422, Reason::Invalid, message).with(Details {
            name: name.to_owned(),
            group: kind.gv.group.to_string(),
            kind: kind.kind.to_string(),
            causes,
            ..Details::default()
        })
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Reason::BadRequest, message)
    }

    /// The revision asked for is no longer held: the client must list again.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Expired, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, Reason::InternalError, format!("Internal error occurred: {}", message.into()))
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let details = Details { retry_after_seconds: Some(retry_after_seconds), ..Details::default() };
        Self::new(429, Reason::TooManyRequests, message).with(details)
    }

    /// The object that goes over the wire.
    pub fn to_object(&self) -> Value {
        let mut object = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if self.reason != Reason::Unknown {
            object["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            let shown = json!(details);
            if details.own_reason.is_empty() || shown != json!({}) {
                object["details"] = shown;
            }
            if !details.own_reason.is_empty() {
                object["reason"] = json!(details.own_reason);
            }
            if !details.continue_token.is_empty() {
                object["metadata"]["continue"] = json!(details.continue_token);
            }
        }
        object
    }
}
