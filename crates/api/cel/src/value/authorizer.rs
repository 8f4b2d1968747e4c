//! What `authorizer` asks its host. Knows only the questions; who may do what is decided elsewhere.

use std::sync::Arc;

/// Answers whether a check is allowed. Handed in with the variables.
pub trait Authorizer: Send + Sync {
    fn check(&self, check: &Check) -> Decision;
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `serviceAccount(namespace, name)`; otherwise the user of the request asks.
    pub service_account: Option<(Arc<str>, Arc<str>)>,
    pub verb: Arc<str>,
    pub target: CheckTarget,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckTarget {
    Path(Arc<str>),
    Resource(Resource),
}

/// What a resource check names; empty where not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    pub group: Arc<str>,
    pub resource: Arc<str>,
    pub subresource: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub field_selector: Option<Arc<str>>,
    pub label_selector: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
    /// Set when the check itself failed.
    pub error: Option<String>,
}
