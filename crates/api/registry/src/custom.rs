//! Kinds that users define: which there are now, and the way of their objects between request and store.
//! What a definition says about its objects is `kedge_custom`'s; here it is only asked.

mod definitions;
mod establish;
mod finalize;
mod form;
mod names;
mod webhook;
mod worker;

use std::sync::Arc;

use kedge_kinds::kind::Conversion;
use kedge_kinds::{Kind, Status};
use kedge_store::{Revision, Snapshot};

use crate::{key, selection};

pub(crate) use definitions::Definitions;
pub(crate) use finalize::mark;
pub(crate) use form::{between, read, served, show, stored};
pub(crate) use worker::{load, spawn};

/// The kind of the definitions themselves.
fn kind() -> Result<&'static Arc<Kind>, Status> {
    kedge_kinds::builtin()
        .by_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        .ok_or_else(|| Status::internal("definitions are not served"))
}

/// Where the definition of a custom kind lies.
pub(crate) fn key_of(kind: &Kind) -> Result<String, Status> {
    Ok(key::object(self::kind()?, None, &kind.qualified_plural()))
}

/// The revision at which the definition of a custom kind takes new objects, or why it doesn't.
pub(crate) fn open(snapshot: &Snapshot, kind: &Kind, name: &str) -> Result<Revision, Status> {
    let definitions = self::kind()?;
    let Some(entry) = snapshot.get(&key_of(kind)?) else {
        return Err(Status::not_found(definitions, &kind.qualified_plural()));
    };
    if selection::is_deleting(definitions, entry) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(kind, name, why));
    }
    Ok(entry.modified())
}

/// Whether somebody outside has to be asked to make one version of an object from another.
pub(crate) fn is_remote(kind: &Kind) -> bool {
    kind.rules.as_ref().is_some_and(|rules| matches!(rules.conversion(), Conversion::Webhook(_)))
}

#[cfg(test)]
mod tests;
