//! The standard roles and bindings, from a table of ours.

use kedge_kinds::Status;
use serde_json::Value;

pub(super) fn objects() -> Result<Vec<Value>, Status> {
    Ok(Vec::new())
}
