//! Differences as merge patches, and `apply`'s three-way merge: what the user no longer says goes, what the user says stays, what others
//! added remains. Lists that have keys are merged item by item where the kind's schema says so. Pure.

mod patch;

use kedge_kinds::schema::Node;
use serde_json::{Map, Value};

pub(crate) use self::patch::{Form, patched};

/// The JSON merge patch that makes `from` into `to`; nothing if they are the same.
pub(crate) fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(before) => {
                if let Some(inner) = difference(before, value) {
                    patch.insert(key.clone(), inner);
                }
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// A list is in it, which a merge patch replaces as a whole: whoever sends it has to be sure that nobody changed it meanwhile.
pub(crate) fn has_list(patch: &Value) -> bool {
    match patch {
        Value::Array(_) => true,
        Value::Object(map) => map.values().any(has_list),
        _ => false,
    }
}

/// What `live` becomes when the user, who said `before` last time, now says `wanted`.
pub(crate) fn three_way(before: &Value, wanted: &Value, live: &Value, schema: Option<Node<'_>>) -> Value {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) if !replaced_whole(schema) => {
            Value::Object(objects(before, wanted, live, schema))
        }
        (Value::Array(wanted), Value::Array(live)) => {
            let Some(node) = schema.filter(|node| node.patch().merge) else {
                return Value::Array(wanted.clone());
            };
            let before = before.as_array().map_or(&[][..], Vec::as_slice);
            Value::Array(match &node.patch().merge_key {
                Some(key) => items(before, wanted, live, key, node.item()),
                None => set(before, wanted, live),
            })
        }
        _ => wanted.clone(),
    }
}

fn replaced_whole(schema: Option<Node<'_>>) -> bool {
    schema.is_some_and(|node| node.patch().replace)
}

fn objects(
    before: &Value,
    wanted: &Map<String, Value>,
    live: &Map<String, Value>,
    schema: Option<Node<'_>>,
) -> Map<String, Value> {
    let mut result = live.clone();
    // `retainKeys`: of alternatives, only those that are named stay.
    if schema.is_some_and(|node| node.patch().retain_keys) {
        result.retain(|key, _| wanted.contains_key(key));
    }
    for key in before.as_object().into_iter().flat_map(Map::keys) {
        if !wanted.contains_key(key) {
            result.remove(key);
        }
    }
    for (key, value) in wanted {
        if value.is_null() {
            result.remove(key);
            continue;
        }
        let inner = schema.and_then(|node| node.key(key));
        let merged = match live.get(key) {
            Some(live) => three_way(&before[key.as_str()], value, live, inner),
            None => without_nulls(value),
        };
        result.insert(key.clone(), merged);
    }
    result
}

/// A null says that something shall not be there.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn items(
    before: &[Value],
    wanted: &[Value],
    live: &[Value],
    key: &str,
    schema: Option<Node<'_>>,
) -> Vec<Value> {
    let named = |items: &[Value], name: &Value| items.iter().position(|item| item[key] == *name);
    let merged = |item: &Value| match named(live, &item[key]).and_then(|at| live.get(at)) {
        Some(there) => {
            let before = named(before, &item[key]).and_then(|at| before.get(at)).unwrap_or(&Value::Null);
            three_way(before, item, there, schema)
        }
        None => without_nulls(item),
    };
    let kept = |there: &Value| named(wanted, &there[key]).is_none() && named(before, &there[key]).is_none();
    ordered(wanted, live, |there| named(wanted, &there[key]), merged, kept)
}

fn set(before: &[Value], wanted: &[Value], live: &[Value]) -> Vec<Value> {
    let kept = |there: &Value| !wanted.contains(there) && !before.contains(there);
    ordered(wanted, live, |there| wanted.iter().position(|item| item == there), Value::clone, kept)
}

/// What is there keeps its place as long as the order wanted allows it; what is new comes behind what it follows.
fn ordered(
    wanted: &[Value],
    live: &[Value],
    place: impl Fn(&Value) -> Option<usize>,
    merged: impl Fn(&Value) -> Value,
    kept: impl Fn(&Value) -> bool,
) -> Vec<Value> {
    let mut result = Vec::new();
    let mut next = 0;
    for there in live {
        match place(there) {
            Some(at) => {
                let due = wanted.get(next..=at).unwrap_or_default();
                result.extend(due.iter().map(&merged));
                next = next.max(at + 1);
            }
            None if kept(there) => result.push(there.clone()),
            None => {}
        }
    }
    result.extend(wanted.get(next..).unwrap_or_default().iter().map(&merged));
    result
}

#[cfg(test)]
mod tests;
