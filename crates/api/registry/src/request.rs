//! What a caller can ask for, after HTTP has been taken off it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kedge_kinds::Kind;
use serde_json::Value;

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
    pub user: User,
    /// Paths of keys that the decoder saw twice.
    pub duplicates: Vec<String>,
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
