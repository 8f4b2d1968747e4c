//! What a caller can ask for, after HTTP has been taken off it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kedge_kinds::{Kind, Status};
use serde_json::Value;

use crate::gate::Remarks;

/// What a request points at.
#[derive(Clone, Debug)]
pub struct At {
    pub kind: Arc<Kind>,
    /// `None`: cluster scoped, or all namespaces in a list.
    pub namespace: Option<Arc<str>>,
    pub name: Option<Arc<str>>,
    pub subresource: Option<Arc<str>>,
}

/// Who asks. Made by authentication, read by admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// What goes with every write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// `fieldManager`, or what the user agent says before its first `/`.
    pub manager: String,
    pub validation: FieldValidation,
    pub given: Given,
    pub user: User,
    /// What the decoder says of keys that it saw twice: `duplicate field "spec.replicas"`.
    pub duplicates: Vec<String>,
    /// The whole object's JSON as it was sent: complaints come in its order.
    pub body: Option<bytes::Bytes>,
    /// Has the last word on what would be stored.
    pub judge: Option<Judge>,
    /// What admission has to say besides yes or no.
    pub remarks: Remarks,
}

/// Which of the options the client named itself, for those who are shown them as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub manager: bool,
    pub validation: bool,
}

type Verdict = dyn Fn(Option<&Value>, &Value) -> Result<(), Status> + Send + Sync;

/// Refuses a write by what was stored before it and what would be after it. Asked right before each commit, also that
/// of a dry run, so that nobody's write can come between its answer and what it answered to.
#[derive(Clone)]
pub struct Judge(Arc<Verdict>);

impl Judge {
    pub fn new(judge: impl Fn(Option<&Value>, &Value) -> Result<(), Status> + Send + Sync + 'static) -> Self {
        Self(Arc::new(judge))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}

impl WriteOptions {
    pub(crate) fn judge(&self, old: Option<&Value>, new: &Value) -> Result<(), Status> {
        self.judge.as_ref().map_or(Ok(()), |judge| (judge.0)(old, new))
    }
}

/// The four ways to patch. `Apply` carries its `force`.
#[derive(Clone, Debug)]
pub enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
    Apply { config: Value, force: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// One of many that go together; those who are told of it are told no name.
    pub collection: bool,
    pub grace_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// `GET …/{resource}?…`, as it came; the registry parses and checks it.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    pub labels: String,
    pub fields: String,
    pub limit: Option<usize>,
    pub continue_token: String,
    pub resource_version: String,
    pub version_match: Option<VersionMatch>,
}

/// `GET …/{resource}?watch=1&…`
#[derive(Clone, Debug, Default)]
pub struct WatchQuery {
    pub labels: String,
    pub fields: String,
    pub resource_version: String,
    pub version_match: Option<VersionMatch>,
    pub send_initial_events: Option<bool>,
    pub bookmarks: bool,
}

#[cfg(test)]
mod tests;
