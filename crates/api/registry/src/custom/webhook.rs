//! Conversion by webhook: a `ConversionReview` goes out with many objects, and what comes back is believed only as far
//! as a conversion may go.

use kedge_kinds::{GroupVersion, Kind, Status};
use serde_json::Value;

use crate::registry::Registry;

/// Objects of a kind in another version.
pub(super) async fn convert(
    _registry: &Registry,
    kind: &Kind,
    to: &GroupVersion,
    _objects: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    Err(Status::internal(format!(
        "conversion webhook for {}, Kind={} to {to} can't be reached",
        kind.gv, kind.kind
    )))
}
