//! Strategic merge patch: a merge patch that knows which lists are keyed, with directives for what a merge cannot say.
//! Knows schemas; no storage and no owners.
//!
//! `$patch: replace|delete` stands for a map or a list's item, `$retainKeys` names the only keys that may stay,
//! `$deleteFromPrimitiveList/x` takes scalars out of the list `x`, `$setElementOrder/x` says how `x` is to be ordered.

mod error;
mod order;

use kedge_kinds::Status;
use kedge_kinds::schema::Node;
use serde_json::{Map, Value};

use self::error::PatchError;

type Fields = Map<String, Value>;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object.
pub fn strategic(node: Node<'_>, target: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Object(patch) = patch else { return Err(PatchError::NoObject.into()) };
    let target = target.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(maps(Some(node), target, patch)?))
}

fn maps(node: Option<Node<'_>>, mut original: Fields, patch: &Fields) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(without_directive(patch)),
            Some("delete") => Ok(Fields::new()),
            _ => Err(PatchError::unknown(directive, patch)),
        };
    }
    retain_keys(&mut original, patch)?;
    for (key, value) in patch {
        if value.is_null() {
            original.remove(key);
            continue;
        }
        match key.split_once('/').map_or((key.as_str(), None), |(prefix, field)| (prefix, Some(field))) {
            (RETAIN_KEYS, None) => {}
            (DELETE_FROM, field) => {
                let field = field.ok_or(PatchError::BadDeletionList)?;
                delete_scalars(&mut original, field, value)?;
            }
            (SET_ORDER, field) => {
                let field = field.ok_or(PatchError::BadOrder)?;
                let below = node.and_then(|node| node.key(field));
                let order = value.as_array().ok_or(PatchError::BadOrder)?;
                ordered_list(below, &mut original, patch.get(field), field, order)?;
            }
            // Done with its order, above or below.
            _ if patch.contains_key(&format!("{SET_ORDER}/{key}")) => {}
            _ => {
                let below = node.and_then(|node| node.key(key));
                match field(below, original.remove(key), value)? {
                    Some(value) => original.insert(key.clone(), value),
                    None => None,
                };
            }
        }
    }
    Ok(original)
}

/// One field of a map; `None` if nothing is left of it.
fn field(
    node: Option<Node<'_>>,
    original: Option<Value>,
    patch: &Value,
) -> Result<Option<Value>, PatchError> {
    let strategy = node.map(|node| node.patch());
    match (original, patch) {
        (Some(Value::Object(original)), Value::Object(patch)) => {
            if strategy.is_some_and(|strategy| strategy.replace) {
                return Ok(Some(Value::Object(patch.clone())));
            }
            maps(node, original, patch).map(|merged| Some(Value::Object(merged)))
        }
        (Some(Value::Array(original)), Value::Array(patch))
            if strategy.is_some_and(|strategy| strategy.merge) =>
        {
            lists(node, original, patch).map(|merged| Some(Value::Array(merged)))
        }
        _ => Ok(cleaned(patch)),
    }
}

/// Keeps only the keys that `$retainKeys` names, which must include those that the patch sets.
fn retain_keys(original: &mut Fields, patch: &Fields) -> Result<(), PatchError> {
    let Some(keys) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let keys = keys.as_array().ok_or(PatchError::BadRetainKeys)?;
    let retained = |key: &str| keys.iter().any(|kept| kept.as_str() == Some(key));
    let is_directive =
        |key: &str| key == RETAIN_KEYS || key.starts_with(DELETE_FROM) || key.starts_with(SET_ORDER);
    if patch.iter().any(|(key, value)| !value.is_null() && !is_directive(key) && !retained(key)) {
        return Err(PatchError::BadRetainKeys);
    }
    original.retain(|key, _| retained(key));
    Ok(())
}

fn delete_scalars(original: &mut Fields, field: &str, gone: &Value) -> Result<(), PatchError> {
    let gone = gone.as_array().ok_or(PatchError::BadDeletionList)?;
    if let Some(Value::Array(items)) = original.get_mut(field) {
        items.retain(|item| !gone.contains(item));
    }
    Ok(())
}

/// A list for which the patch gives the order of its items.
fn ordered_list(
    node: Option<Node<'_>>,
    original: &mut Fields,
    patch: Option<&Value>,
    field: &str,
    order: &[Value],
) -> Result<(), PatchError> {
    let key = merge_key(node);
    let before = match original.get(field) {
        Some(Value::Array(items)) => Some(items.clone()),
        Some(other) => return Err(PatchError::wrong_list(other)),
        None => None,
    };
    let changes = match patch {
        Some(Value::Array(items)) => Some(items),
        // The field itself goes; there is nothing to order.
        Some(Value::Null) => return Ok(()),
        Some(other) => return Err(PatchError::wrong_list(other)),
        None => None,
    };
    if let Some(changes) = changes {
        order::check(changes, order, key)?;
    }
    let merged = match (before.clone(), changes) {
        (None, None) => return Ok(()),
        (Some(before), None) => before,
        (None, Some(changes)) => changes.iter().filter_map(cleaned).collect(),
        (Some(before), Some(changes)) if node.is_some_and(|node| node.patch().merge) => {
            lists(node, before, changes)?
        }
        (Some(_), Some(changes)) => changes.clone(),
    };
    let sorted = order::arrange(merged, order, &before.unwrap_or_default(), key)?;
    original.insert(field.to_owned(), Value::Array(sorted));
    Ok(())
}

/// Merges two lists: scalars as a set, structs by their merge key.
fn lists(node: Option<Node<'_>>, original: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if original.iter().chain(patch).any(Value::is_array) {
        return Err(PatchError::ListOfLists);
    }
    if !original.iter().chain(patch).any(Value::is_object) {
        let mut merged = original.clone();
        merged.extend(patch.iter().cloned());
        order::deduplicate(&mut merged);
        return order::arrange(merged, patch, &original, None);
    }
    let key = merge_key(node).ok_or(PatchError::NoMergeKeyDeclared)?;
    let (original, patch) = carry_out_directives(original, patch, key)?;
    let mut merged = original.clone();
    for item in &patch {
        let item = item.as_object().ok_or_else(|| PatchError::wrong_item(item))?;
        let identity = item.get(key).ok_or_else(|| PatchError::no_key(item, key))?;
        let present = merged.iter_mut().find(|present| present.get(key) == Some(identity));
        match present {
            Some(present) => {
                let fields = present.as_object().cloned().unwrap_or_default();
                *present = Value::Object(maps(node.and_then(|node| node.item()), fields, item)?);
            }
            None => merged.extend(cleaned(&Value::Object(item.clone()))),
        }
    }
    order::arrange(merged, &patch, &original, Some(key))
}

/// Deletes items, or drops the whole original, as the patch's special items say; gives the patch without them.
fn carry_out_directives(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    for value in patch {
        let item = value.as_object().ok_or_else(|| PatchError::wrong_item(value))?;
        let Some(directive) = item.get(DIRECTIVE) else {
            plain.push(value.clone());
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let identity = item.get(key).ok_or_else(|| PatchError::no_key(item, key))?;
                original.retain(|present| present.get(key) != Some(identity));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(PatchError::MergeOfList),
            _ => return Err(PatchError::unknown(directive, item)),
        }
    }
    if replace { Ok((plain, Vec::new())) } else { Ok((original, plain)) }
}

fn merge_key(node: Option<Node<'_>>) -> Option<&str> {
    node.and_then(|node| node.patch().merge_key.as_deref())
}

/// A patch's value that meets nothing: what it says with directives and nulls has nothing to act on.
fn cleaned(patch: &Value) -> Option<Value> {
    match patch {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let is_directive =
                |key: &str| key == RETAIN_KEYS || key.starts_with(DELETE_FROM) || key.starts_with(SET_ORDER);
            let kept = fields.iter().filter(|(key, value)| !value.is_null() && !is_directive(key));
            Some(Value::Object(
                kept.filter_map(|(key, value)| Some((key.clone(), cleaned(value)?))).collect(),
            ))
        }
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(cleaned).collect())),
        scalar => Some(scalar.clone()),
    }
}

fn without_directive(patch: &Fields) -> Fields {
    patch
        .iter()
        .filter(|(key, _)| *key != DIRECTIVE)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
