//! How deep and how much a JSON patch may build. Each operation is small, but moves can nest what is there ever deeper
//! and copies can double it; both are judged before they are done.

use json_patch::{AddOperation, CopyOperation, MoveOperation, PatchOperation, ReplaceOperation};
use serde_json::Value;

use crate::encode::MAX_DEPTH;

/// What all copies of a patch may add up to, as encoded bytes. Kubernetes has the same bound.
const MAX_COPIED: usize = 3 << 20;
/// How many values may be looked at to judge a patch's moves and copies.
const MAX_LOOKED_AT: usize = 4 << 20;

/// What is left of the bounds.
pub(super) struct Bounds {
    copied: usize,
    looked_at: usize,
}

impl Bounds {
    pub(super) fn new() -> Self {
        Self { copied: MAX_COPIED, looked_at: MAX_LOOKED_AT }
    }

    /// Whether the operation stays within bounds. What it will fail at anyway is not judged.
    pub(super) fn allow(&mut self, object: &Value, operation: &PatchOperation) -> bool {
        match operation {
            PatchOperation::Add(AddOperation { path, value })
            | PatchOperation::Replace(ReplaceOperation { path, value }) => {
                self.measure(value).is_some_and(|size| size.depth + path.count() <= MAX_DEPTH)
            }
            PatchOperation::Move(MoveOperation { from, path }) => {
                let Ok(value) = from.resolve(object) else { return true };
                self.measure(value).is_some_and(|size| size.depth + path.count() <= MAX_DEPTH)
            }
            PatchOperation::Copy(CopyOperation { from, path }) => {
                let Ok(value) = from.resolve(object) else { return true };
                let Some(size) = self.measure(value) else { return false };
                let Some(left) = self.copied.checked_sub(size.bytes) else { return false };
                self.copied = left;
                size.depth + path.count() <= MAX_DEPTH
            }
            PatchOperation::Remove(_) | PatchOperation::Test(_) => true,
        }
    }

    /// `None` if there is too much to look at. Goes by a list of its own: values may be deeper than the stack is.
    fn measure(&mut self, value: &Value) -> Option<Size> {
        let mut size = Size { depth: 0, bytes: 0 };
        let mut due = vec![(value, 1)];
        while let Some((value, depth)) = due.pop() {
            self.looked_at = self.looked_at.checked_sub(1)?;
            size.bytes += match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => 5,
                Value::String(text) => text.len() + 3,
                Value::Array(items) => {
                    size.depth = size.depth.max(depth);
                    due.extend(items.iter().map(|item| (item, depth + 1)));
                    3
                }
                Value::Object(fields) => {
                    size.depth = size.depth.max(depth);
                    due.extend(fields.values().map(|field| (field, depth + 1)));
                    3 + fields.keys().map(|key| key.len() + 3).sum::<usize>()
                }
            };
        }
        Some(size)
    }
}

struct Size {
    /// How many maps and lists are in each other.
    depth: usize,
    /// About as many as it is encoded in.
    bytes: usize,
}
