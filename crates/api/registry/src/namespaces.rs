//! Namespaces: whether one takes new objects, and the account that each has. Emptying one is a controller's business.

mod accounts;

use std::sync::{Arc, OnceLock};

use kedge_kinds::{Cause, Kind, Status};
use kedge_store::{Entry, Revision, Snapshot};

use crate::{key, selection};

pub(crate) use accounts::spawn;

/// The kind of namespaces themselves.
fn kind() -> Option<&'static Arc<Kind>> {
    static KIND: OnceLock<Option<&'static Arc<Kind>>> = OnceLock::new();
    *KIND.get_or_init(|| kedge_kinds::builtin().by_kind("", "v1", "Namespace"))
}

/// The revision at which the namespace takes new objects, or why it doesn't.
pub(crate) fn open(
    snapshot: &Snapshot,
    kind: &Kind,
    name: &str,
    namespace: &str,
) -> Result<Revision, Status> {
    let namespaces = self::kind().ok_or_else(|| Status::internal("namespaces are not served"))?;
    let Some(entry) = snapshot.get(&key::namespace(namespace)) else {
        return Err(Status::not_found(namespaces, namespace));
    };
    if !selection::is_deleting(namespaces, entry) {
        return Ok(entry.modified());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(kind, name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

fn is_leaving(entry: &Entry) -> bool {
    kind().is_some_and(|namespaces| selection::is_deleting(namespaces, entry))
}

#[cfg(test)]
mod tests;
