//! In which order the items of a merged list stand: as the patch says, with the items that only the server has put among
//! them where they stood before. Knows items by their merge key and nothing else of them.

use serde_json::Value;

use super::DIRECTIVE;
use super::error::PatchError;

/// Orders a merged list: items named in `order` follow it, the others keep their order in `before`; among each other
/// they stand as in `before` where it has both.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(key) = key {
        for item in merged.iter().chain(order) {
            let fields = item.as_object().ok_or_else(|| PatchError::wrong_item(item))?;
            if !fields.contains_key(key) {
                return Err(PatchError::no_key(fields, key));
            }
        }
    }
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(item, other, key));
    let (mut wanted, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(order, item).is_some());
    wanted.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(before, item));

    let mut arranged = Vec::with_capacity(wanted.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in wanted {
        let at = place(before, &item);
        while let Some(other) = others.next_if(|other| match (place(before, other), at) {
            (Some(other), Some(at)) => other < at,
            _ => false,
        }) {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others);
    Ok(arranged)
}

/// The items of a patch must stand in the order that the patch itself gives, and all be named in it.
pub(super) fn check(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if let (Some(key), Some(fields)) = (key, item.as_object())
            && !fields.contains_key(key)
        {
            return Err(PatchError::no_key(fields, key));
        }
        if !rest.any(|other| same(item, other, key)) {
            return Err(PatchError::other_order(patch, order));
        }
    }
    Ok(())
}

/// Keeps the first of equal scalars.
pub(super) fn deduplicate(items: &mut Vec<Value>) {
    let mut kept: Vec<Value> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *items = kept;
}

fn same(one: &Value, other: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => one.get(key).is_some() && one.get(key) == other.get(key),
        None => one == other,
    }
}
