//! What a mutating policy makes of one object. Changes the value it is handed; who is asked and when is its caller's.

use kedge_cel::Value;
use kedge_kinds::Kind;
use kedge_registry::merge::{OverlayError, json_patch, overlay};
use kedge_registry::strategies::strategy;
use serde_json::Value as Json;

use super::policy::{Expression, Mutation, Policy};
use super::scene::{BUDGET, Failure, Inputs, Scene};

#[derive(Debug, thiserror::Error)]
pub(super) enum MutationError {
    #[error(transparent)]
    Expression(#[from] Failure),
    #[error("error applying patch: {0}")]
    Overlay(#[from] OverlayError),
    #[error("type mismatch: {0}")]
    Mismatch(String),
    #[error("JSON Patch: {0}")]
    Patch(String),
    #[error("invalid return type: {0}")]
    Return(String),
    #[error("kinds that have no schema cannot be changed by an ApplyConfiguration")]
    Unknown,
}

/// The object after one mutation.
pub(super) fn mutate(
    policy: &Policy,
    mutation: &Mutation,
    inputs: Inputs<'_>,
    kind: &Kind,
) -> Result<Json, MutationError> {
    let scene = Scene::new(policy, inputs, BUDGET);
    let mut changed = match mutation {
        Mutation::Configuration(expression) => configured(&scene, expression, inputs.object, kind)?,
        Mutation::Patches(expression) => patched(&scene, expression, inputs.object)?,
    };
    strategy(kind).default(&mut changed);
    Ok(changed)
}

fn configured<'a>(
    scene: &Scene<'a>,
    expression: &'a Expression,
    object: &Json,
    kind: &Kind,
) -> Result<Json, MutationError> {
    let value = scene.eval(expression)?;
    if let Some(why) = value.misnamed() {
        return Err(MutationError::Mismatch(why));
    }
    let mut part = value.to_json().map_err(|error| MutationError::Return(error.to_string()))?;
    for field in ["apiVersion", "kind"] {
        if let (Some(part), Some(own)) = (part.as_object_mut(), object.get(field)) {
            part.insert(field.to_owned(), own.clone());
        }
    }
    let node = kind.node().ok_or(MutationError::Unknown)?;
    Ok(overlay(node, object.clone(), &part)?)
}

fn patched<'a>(scene: &Scene<'a>, expression: &'a Expression, object: &Json) -> Result<Json, MutationError> {
    let value: Value<'a> = scene.eval(expression)?;
    let mut operations = value.to_json().map_err(|error| MutationError::Patch(error.to_string()))?;
    // What was not set is not there.
    for operation in operations.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        if operation.get("from").is_some_and(|from| from == "") {
            operation.remove("from");
        }
    }
    match json_patch(object, &operations) {
        Ok(changed) => Ok(changed),
        Err(status) => {
            let all = operations.as_array().map(Vec::as_slice).unwrap_or_default();
            let fails = |count: &usize| json_patch(object, &all[..*count].to_vec().into()).is_err();
            match (1..=all.len()).find(fails).and_then(|count| all.get(count - 1)) {
                // A patch whose test fails is not meant for this object.
                Some(operation) if operation["op"] == "test" => Ok(object.clone()),
                Some(operation) => Err(MutationError::Patch(why_not(operation))),
                None => Err(MutationError::Patch(status.message)),
            }
        }
    }
}

fn why_not(operation: &Json) -> String {
    let text = |field: &str| operation[field].as_str().unwrap_or_default();
    let (op, path) = (text("op"), text("path"));
    let key = path.rsplit('/').next().unwrap_or_default();
    match op {
        "add" => format!("add operation does not apply: doc is missing path: {path:?}: missing value"),
        "remove" => {
            format!(
                "error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
            )
        }
        "replace" => format!("replace operation does not apply: doc is missing key: {path}: missing value"),
        "copy" | "move" => {
            let from = text("from");
            format!("{op} operation does not apply: doc is missing from path: {from}: missing value")
        }
        _ => format!("Unexpected kind: {op}"),
    }
}
