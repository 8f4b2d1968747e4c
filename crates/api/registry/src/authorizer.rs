//! The question that some rules ask of whoever decides who may what. The registry itself refuses nobody for who they are.

use crate::request::User;

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    pub verb: &'a str,
    /// Of something that is no resource, `/healthz`; empty otherwise.
    pub path: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    /// For people; may be empty.
    pub reason: String,
}

pub trait Authorizer: Send + Sync {
    fn decide(&self, user: &User, attributes: &Attributes<'_>) -> Decision;
}
