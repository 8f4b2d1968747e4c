//! Values that only their own functions look into: quantities, addresses, versions, checks.

use std::net::IpAddr;
use std::sync::Arc;

use kedge_kinds::quantity::Quantity;
use serde_json::Value as Json;

use super::Value;
use super::authorizer::{Authorizer, Decision, Resource};
use crate::library::format::NamedFormat;
use crate::library::semver::Semver;
use crate::library::url::Url;
use crate::types;

#[derive(Clone)]
pub enum Opaque {
    Quantity(Quantity),
    Url(Url),
    Ip(IpAddr),
    /// The address as written, with the length of its prefix.
    Cidr(IpAddr, u8),
    Semver(Semver),
    Format(NamedFormat),
    Authorizer(Asker),
    PathCheck(Asker, Arc<str>),
    GroupCheck(Asker, Arc<str>),
    ResourceCheck(Asker, Resource),
    Decision(Decision),
}

/// Who asks whom.
#[derive(Clone)]
pub struct Asker {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) service_account: Option<(Arc<str>, Arc<str>)>,
}

impl Value<'_> {
    /// The value of the variable `authorizer`.
    pub fn authorizer(authorizer: Arc<dyn Authorizer>) -> Self {
        Value::opaque(Opaque::Authorizer(Asker { authorizer, service_account: None }))
    }

    /// The value of `authorizer.requestResource`: a check on what the request is about.
    pub fn request_resource(authorizer: Arc<dyn Authorizer>, resource: Resource) -> Self {
        Value::opaque(Opaque::ResourceCheck(Asker { authorizer, service_account: None }, resource))
    }
}

impl Opaque {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Opaque::Quantity(_) => types::QUANTITY,
            Opaque::Url(_) => types::URL,
            Opaque::Ip(_) => types::IP,
            Opaque::Cidr(..) => types::CIDR,
            Opaque::Semver(_) => types::SEMVER,
            Opaque::Format(_) => types::FORMAT,
            Opaque::Authorizer(_) => types::AUTHORIZER,
            Opaque::PathCheck(..) => types::PATH_CHECK,
            Opaque::GroupCheck(..) => types::GROUP_CHECK,
            Opaque::ResourceCheck(..) => types::RESOURCE_CHECK,
            Opaque::Decision(_) => types::DECISION,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Opaque::Ip(address) => bytes_of(address),
            Opaque::Cidr(_, length) => u64::from(length.div_ceil(8)),
            _ => 1,
        }
    }

    pub(crate) fn equal(&self, other: &Opaque) -> bool {
        match (self, other) {
            (Opaque::Quantity(a), Opaque::Quantity(b)) => a == b,
            (Opaque::Url(a), Opaque::Url(b)) => a == b,
            (Opaque::Ip(a), Opaque::Ip(b)) => a == b,
            (Opaque::Cidr(a, a_len), Opaque::Cidr(b, b_len)) => a == b && a_len == b_len,
            (Opaque::Semver(a), Opaque::Semver(b)) => a == b,
            (Opaque::Format(a), Opaque::Format(b)) => a == b,
            (Opaque::PathCheck(_, a), Opaque::PathCheck(_, b))
            | (Opaque::GroupCheck(_, a), Opaque::GroupCheck(_, b)) => a == b,
            (Opaque::ResourceCheck(_, a), Opaque::ResourceCheck(_, b)) => a == b,
            (Opaque::Decision(a), Opaque::Decision(b)) => a == b,
            _ => false,
        }
    }

    pub(crate) fn to_json(&self) -> Option<Json> {
        match self {
            Opaque::Quantity(quantity) => Some(Json::from(quantity.to_string())),
            Opaque::Url(url) => Some(Json::from(url.text())),
            Opaque::Ip(address) => Some(Json::from(address.to_string())),
            Opaque::Cidr(address, length) => Some(Json::from(format!("{address}/{length}"))),
            Opaque::Semver(version) => Some(Json::from(version.to_string())),
            _ => None,
        }
    }
}

fn bytes_of(address: &IpAddr) -> u64 {
    match address {
        IpAddr::V4(_) => 4,
        IpAddr::V6(_) => 16,
    }
}

impl std::fmt::Debug for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_json() {
            Some(json) => write!(f, "{}({json})", self.type_name()),
            None => f.write_str(self.type_name()),
        }
    }
}
