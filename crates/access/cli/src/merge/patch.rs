//! What an object becomes by a patch, for those who ask no server: merge, strategic and JSON patches. Pure.

use kedge_kinds::schema::Node;
use serde_json::{Map, Value};

use super::{three_way, without_nulls};

/// How a patch is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Merge,
    Strategic,
    Json,
}

/// The schema says how lists are merged; without one, strategic patches are merge patches.
pub(crate) fn patched(
    live: &Value,
    patch: &Value,
    form: Form,
    schema: Option<Node<'_>>,
) -> Result<Value, String> {
    match form {
        Form::Merge => Ok(three_way(&Value::Null, patch, live, None)),
        Form::Strategic => Ok(strategic(live, patch, schema)),
        Form::Json => {
            let operations = patch.as_array().ok_or("a JSON patch is a list of operations")?;
            let mut object = live.clone();
            operations.iter().try_for_each(|operation| carry_out(&mut object, operation))?;
            Ok(object)
        }
    }
}

/// Null is what shall not be there.
fn strategic(live: &Value, patch: &Value, schema: Option<Node<'_>>) -> Value {
    match (live, patch) {
        (live, Value::Object(patch)) => match patch.get("$patch").and_then(Value::as_str) {
            Some("delete") => Value::Null,
            Some("replace") => plain(patch),
            _ if schema.is_some_and(|node| node.patch().replace) => plain(patch),
            _ => objects(live, patch, schema),
        },
        (live, Value::Array(patch)) => {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            match schema.filter(|node| node.patch().merge) {
                Some(node) => Value::Array(items(live, patch, node)),
                None => Value::Array(patch.clone()),
            }
        }
        (_, other) => other.clone(),
    }
}

/// Without the words that say how it is meant.
fn plain(patch: &Map<String, Value>) -> Value {
    let said = patch.iter().filter(|(key, _)| !key.starts_with('$'));
    without_nulls(&said.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into())
}

fn objects(live: &Value, patch: &Map<String, Value>, schema: Option<Node<'_>>) -> Value {
    let mut result = live.as_object().cloned().unwrap_or_default();
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        result.retain(|key, _| kept.iter().any(|name| name == key.as_str()));
    }
    for (key, value) in patch.iter().filter(|(key, _)| !key.starts_with('$')) {
        let inner = schema.and_then(|node| node.key(key));
        match strategic(live.get(key).unwrap_or(&Value::Null), value, inner) {
            Value::Null => drop(result.remove(key)),
            merged => drop(result.insert(key.clone(), merged)),
        }
    }
    result.into()
}

fn items(live: &[Value], patch: &[Value], node: Node<'_>) -> Vec<Value> {
    let said = |item: &Value, word: &str| item["$patch"] == word;
    let replaces = patch.iter().any(|item| said(item, "replace"));
    let mut result = if replaces { Vec::new() } else { live.to_vec() };
    for item in patch.iter().filter(|item| !said(item, "replace")) {
        let same = |there: &Value| match &node.patch().merge_key {
            Some(key) => there[&**key] == item[&**key],
            None => there == item,
        };
        match (result.iter().position(same), said(item, "delete")) {
            (Some(at), true) => drop(result.remove(at)),
            (None, true) => {}
            (Some(at), false) => {
                if let Some(there) = result.get_mut(at) {
                    *there = strategic(there, item, node.item());
                }
            }
            (None, false) => result.push(strategic(&Value::Null, item, node.item())),
        }
    }
    result
}

fn carry_out(object: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |key: &str| operation[key].as_str().ok_or_else(|| format!("{operation} has no {key:?}"));
    let (does, path) = (text("op")?, text("path")?);
    let value = || operation.get("value").cloned().ok_or_else(|| format!("{operation} has no \"value\""));
    let there = |object: &Value, path: &str| {
        object.pointer(path).cloned().ok_or_else(|| format!("there is nothing at {path:?}"))
    };
    match does {
        "add" => put(object, path, value()?),
        "remove" => take(object, path).map(drop),
        "replace" => {
            let place = object.pointer_mut(path);
            *place.ok_or_else(|| format!("there is nothing at {path:?}"))? = value()?;
            Ok(())
        }
        "move" => {
            let moved = take(object, text("from")?)?;
            put(object, path, moved)
        }
        "copy" => {
            let copied = there(object, text("from")?)?;
            put(object, path, copied)
        }
        "test" => match there(object, path)? == value()? {
            true => Ok(()),
            false => Err(format!("the test of {path:?} fails")),
        },
        other => Err(format!("{other:?} is no operation of a JSON patch")),
    }
}

/// The parent of a place, and what the place is called there.
fn parent<'o>(object: &'o mut Value, path: &str) -> Result<(&'o mut Value, String), String> {
    let nothing = || format!("there is nothing at {path:?}");
    let (above, name) = path.rsplit_once('/').ok_or_else(nothing)?;
    Ok((object.pointer_mut(above).ok_or_else(nothing)?, name.replace("~1", "/").replace("~0", "~")))
}

fn put(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let nothing = || format!("there is no place at {path:?}");
    match parent(object, path)? {
        (Value::Object(map), name) => drop(map.insert(name, value)),
        (Value::Array(list), name) => {
            let at = if name == "-" { list.len() } else { name.parse().map_err(|_| nothing())? };
            if at > list.len() {
                return Err(nothing());
            }
            list.insert(at, value);
        }
        _ => return Err(nothing()),
    }
    Ok(())
}

fn take(object: &mut Value, path: &str) -> Result<Value, String> {
    let nothing = || format!("there is nothing at {path:?}");
    match parent(object, path)? {
        (Value::Object(map), name) => map.remove(&name).ok_or_else(nothing),
        (Value::Array(list), name) => {
            let at = name.parse().ok().filter(|at| *at < list.len()).ok_or_else(nothing)?;
            Ok(list.remove(at))
        }
        _ => Err(nothing()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Form, patched};

    #[test]
    fn patches_of_every_form_are_carried_out() {
        let live = json!({"spec": {"a": 1, "containers": [
            {"name": "x", "image": "1", "env": [{"name": "A", "value": "1"}]}, {"name": "y", "image": "2"},
        ]}});
        let schema = kedge_kinds::builtin().schema_of("", "v1", "Pod");
        for (form, patch, place, value) in [
            (Form::Merge, json!({"spec": {"a": null, "b": 2}}), "/spec/b", json!(2)),
            (
                Form::Merge,
                json!({"spec": {"containers": [{"name": "z"}]}}),
                "/spec/containers",
                json!([{"name": "z"}]),
            ),
            (
                Form::Strategic,
                json!({"spec": {"containers": [{"name": "x", "image": "3"}, {"name": "z", "$patch": "delete"}]}}),
                "/spec/containers",
                json!([{"name": "x", "image": "3", "env": [{"name": "A", "value": "1"}]}, {"name": "y", "image": "2"}]),
            ),
            (
                Form::Strategic,
                json!({"spec": {"containers": [{"name": "x", "env": [{"$patch": "replace"}, {"name": "B"}]}, {"name": "y", "$patch": "delete"}]}}),
                "/spec/containers",
                json!([{"name": "x", "image": "1", "env": [{"name": "B"}]}]),
            ),
            (
                Form::Strategic,
                json!({"spec": {"$patch": "replace", "containers": []}}),
                "/spec",
                json!({"containers": []}),
            ),
            (
                Form::Json,
                json!([
                    {"op": "test", "path": "/spec/a", "value": 1},
                    {"op": "add", "path": "/spec/containers/-", "value": {"name": "z"}},
                    {"op": "remove", "path": "/spec/containers/0"},
                    {"op": "replace", "path": "/spec/containers/0/image", "value": "4"},
                    {"op": "copy", "from": "/spec/a", "path": "/spec/c~1d"},
                    {"op": "move", "from": "/spec/a", "path": "/spec/e"},
                ]),
                "/spec",
                json!({"containers": [{"name": "y", "image": "4"}, {"name": "z"}], "c/d": 1, "e": 1}),
            ),
        ] {
            let after = patched(&live, &patch, form, schema).unwrap();
            assert_eq!(after.pointer(place), Some(&value), "{patch}");
        }
        for wrong in [
            json!({"op": "add"}),
            json!([{"op": "test", "path": "/spec/a", "value": 2}]),
            json!([{"op": "remove", "path": "/none/at/all"}]),
            json!([{"op": "add", "path": "/spec/containers/9", "value": 1}]),
            json!([{"op": "turn", "path": "/spec"}]),
        ] {
            assert!(patched(&live, &wrong, Form::Json, schema).is_err(), "{wrong}");
        }
    }
}
