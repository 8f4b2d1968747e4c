//! What a failure of the store means to a client, and what it never gets to see. The only place that says so.

use kedge_kinds::{Cause, Details, Kind, Reason, Status};
use kedge_store::{Revision, StoreError, WatchEnd};
use serde_json::Value;

use crate::encode;

pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// No `_` arm: a new variant must choose.
pub(crate) fn status(error: StoreError) -> Status {
    match error {
        StoreError::Conflict { .. } => Status::new(409, Reason::Conflict, MODIFIED),
        StoreError::Compacted { asked, oldest } => too_old(asked, oldest),
        StoreError::Future { asked, newest } => too_new(asked, newest),
        StoreError::TooLarge { size, limit } => Status::new(
            413,
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {limit}, the write has {size} bytes"),
        ),
        error @ (StoreError::Full { .. }
        | StoreError::Stopped { .. }
        | StoreError::Etcd { .. }
        | StoreError::Endpoint { .. }
        | StoreError::Locked { .. }) => Status::new(503, Reason::ServiceUnavailable, error.to_string()),
        error @ (StoreError::Twice { .. }
        | StoreError::Hole { .. }
        | StoreError::Append { .. }
        | StoreError::Sync { .. }
        | StoreError::Corrupt { .. }
        | StoreError::File { .. }
        | StoreError::NotEmpty { .. }
        | StoreError::Foreign { .. }
        | StoreError::NoKey { .. }
        | StoreError::Shut { .. }
        | StoreError::Unsealable { .. }) => Status::internal(error.to_string()),
    }
}

pub(crate) fn too_old(asked: Revision, oldest: Revision) -> Status {
    Status::expired(format!("too old resource version: {asked} ({oldest})"))
}

pub(crate) fn too_new(asked: Revision, newest: Revision) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
    Status::new(504, Reason::Timeout, message).with(Details {
        causes: vec![Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        }],
        retry_after_seconds: Some(1),
        ..Details::default()
    })
}

pub(crate) fn watch_end(end: WatchEnd, seen: Revision) -> Status {
    match end {
        WatchEnd::Lagged => {
            Status::expired(format!("The resourceVersion for the provided watch is too old: {seen}"))
        }
        WatchEnd::Stopped => Status::new(503, Reason::ServiceUnavailable, "the server is shutting down"),
    }
}

/// An object that could be written and not be read again.
pub(crate) fn too_deep(object: &Value) -> Result<(), Status> {
    if !encode::is_deeper(object, encode::MAX_DEPTH) {
        return Ok(());
    }
    let most = encode::MAX_DEPTH;
    Err(Status::bad_request(format!("the object has more than {most} maps and lists in each other")))
}

/// Kubernetes answers some failures with a bare 500: no reason, the message alone.
pub(crate) fn bare(message: impl Into<String>) -> Status {
    Status::new(500, Reason::Unknown, message)
}

/// A revision as clients send it. Empty and `0` are the same: none.
pub(crate) fn parse_revision(text: &str) -> Result<Option<Revision>, Status> {
    match text {
        "" | "0" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| bare(format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))),
    }
}

/// A conflict as the storage layer of Kubernetes words it; clients match on its beginning.
pub(crate) fn precondition(kind: &Kind, name: &str, key: &str, asked: &str, found: &str) -> Status {
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {asked}, UID in object meta: {found}"
    );
    Status::conflict(kind, name, &why)
}
