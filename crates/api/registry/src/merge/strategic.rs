//! Strategic merge patch.
use kedge_kinds::Status;
use kedge_kinds::schema::Node;
use serde_json::Value;

pub fn strategic(_node: Node<'_>, target: &Value, patch: &Value) -> Result<Value, Status> {
    let mut object = target.clone();
    super::merge_patch(&mut object, patch);
    Ok(object)
}
