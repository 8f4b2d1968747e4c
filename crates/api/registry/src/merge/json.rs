//! JSON patch (RFC 6902) and JSON merge patch (RFC 7386), which know no schema.

mod bounds;

use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use kedge_kinds::check::json_type;
use kedge_kinds::status::{Details, Reason, Status};
use serde_json::Value;

use self::bounds::Bounds;

/// A patch is small; ten thousand operations in one are an attack or a mistake.
const MAX_OPERATIONS: usize = 10_000;

/// Applies a JSON patch. As in Kubernetes, `replace` also sets a key that an object does not have yet, and a `test`
/// for null also holds where there is nothing.
pub fn json_patch(target: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Array(operations) = patch else {
        let found = json_type(patch);
        return Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(Status::new(
            413,
            Reason::RequestEntityTooLarge,
            format!(
                "Request entity is too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                operations.len()
            ),
        ));
    }
    let mut object = target.clone();
    let mut bounds = Bounds::new();
    for operation in operations {
        let operation: PatchOperation = serde_json::from_value(operation.clone()).map_err(|_| rejected())?;
        let operation = match operation {
            PatchOperation::Replace(ReplaceOperation { path, value }) if is_new_key(&object, &path) => {
                PatchOperation::Add(AddOperation { path, value })
            }
            PatchOperation::Test(test) if test.value.is_null() && test.path.resolve(&object).is_err() => {
                continue;
            }
            other => other,
        };
        if !bounds.allow(&object, &operation) {
            return Err(rejected());
        }
        json_patch::patch(&mut object, std::slice::from_ref(&operation)).map_err(|_| rejected())?;
    }
    Ok(object)
}

/// Applies a JSON merge patch: null removes, objects merge, everything else replaces.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge_patch(fields.entry(key.as_str()).or_insert(Value::Null), change);
        }
    }
}

/// The path's last step names a key of an object that is there and does not have that key.
fn is_new_key(object: &Value, path: &json_patch::jsonptr::Pointer) -> bool {
    let Some((parent, key)) = path.split_back() else { return false };
    match parent.resolve(object) {
        Ok(Value::Object(fields)) => !fields.contains_key(key.decoded().as_ref()),
        _ => false,
    }
}

/// Kubernetes tells nothing about which operation failed; clients only match on the code.
fn rejected() -> Status {
    Status::new(422, Reason::Invalid, "the server rejected our request due to an error in our request")
        .with(Details::default())
}

#[cfg(test)]
mod tests;
