//! What can be wrong with a strategic merge patch, in the words that clients know from Kubernetes.

use kedge_kinds::status::{Reason, Status};
use serde_json::{Map, Value};

use crate::merge::check::go_type;

#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    #[error("invalid JSON document")]
    NoObject,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("invalid patch format of primitive list")]
    BadDeletionList,
    #[error("invalid patch format of retainKeys")]
    BadRetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    BadOrder,
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    OtherOrder { patch: String, order: String },
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey { item: String, key: String },
    #[error("cannot merge lists without merge key")]
    NoMergeKeyDeclared,
    #[error("merging lists cannot yet be specified in the patch")]
    MergeOfList,
    #[error("unknown patch type: {directive} in map: {item}")]
    UnknownDirective { directive: String, item: String },
    #[error("expected a {expected}, but received a {found}")]
    WrongType { expected: &'static str, found: &'static str },
}

impl PatchError {
    pub(super) fn unknown(directive: &Value, item: &Map<String, Value>) -> Self {
        Self::UnknownDirective { directive: printed(directive), item: printed(&Value::Object(item.clone())) }
    }

    pub(super) fn no_key(item: &Map<String, Value>, key: &str) -> Self {
        Self::NoMergeKey { item: printed(&Value::Object(item.clone())), key: key.to_owned() }
    }

    pub(super) fn other_order(patch: &[Value], order: &[Value]) -> Self {
        Self::OtherOrder { patch: printed(&Value::from(patch)), order: printed(&Value::from(order)) }
    }

    pub(super) fn wrong_list(found: &Value) -> Self {
        Self::WrongType { expected: "[]interface {}", found: type_name(found) }
    }

    pub(super) fn wrong_item(found: &Value) -> Self {
        Self::WrongType { expected: "map[string]interface {}", found: type_name(found) }
    }
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Self {
        let message = error.to_string();
        match error {
            PatchError::NoObject
            | PatchError::BadDeletionList
            | PatchError::BadRetainKeys
            | PatchError::BadOrder => Status::bad_request(message),
            PatchError::ListOfLists => Status::new(422, Reason::Invalid, message),
            // Kubernetes answers these with 500 although the client is to blame; clients know the messages.
            PatchError::OtherOrder { .. }
            | PatchError::NoMergeKey { .. }
            | PatchError::NoMergeKeyDeclared
            | PatchError::MergeOfList
            | PatchError::UnknownDirective { .. }
            | PatchError::WrongType { .. } => Status::new(500, Reason::Unknown, message),
        }
    }
}

/// A value as messages show it: `map[image:x ports:[80 81]]`.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}:{}", printed(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn type_name(value: &Value) -> &'static str {
    if value.is_null() { "%!s(<nil>)" } else { go_type(value) }
}
