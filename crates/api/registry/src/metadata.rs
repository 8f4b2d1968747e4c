//! The rules of `metadata` that hold for every kind: what the server fills in, what nobody may change, what is wrong.

mod rules;

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_kinds::field::{Errors, Path};
use kedge_kinds::{Kind, Meta};
use rand::Rng as _;
use serde_json::{Map, Value};

use crate::object;

pub(crate) use rules::validate;

/// Kubernetes' times have whole seconds and years of four digits.
pub(crate) fn time(now: Timestamp) -> String {
    /// 0001-01-01T00:00:00Z; the last that there is lies in the year 9999.
    const FIRST: i64 = -62_135_596_800;
    Timestamp::from_second(now.as_second().max(FIRST)).unwrap_or(now).to_string()
}

/// Fills in a new object's metadata and returns the base that its name was generated from, if it was.
pub(crate) fn fill(object: &mut Value, clock: &Clock) -> Option<String> {
    let metadata = object::meta_mut(object);
    for field in
        ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"]
    {
        metadata.remove(field);
    }
    let uid = uuid::Builder::from_random_bytes(clock.chance().to_be_bytes()).into_uuid();
    metadata.insert("uid".to_owned(), uid.to_string().into());
    metadata.insert("creationTimestamp".to_owned(), time(clock.now()).into());
    tidy(metadata);
    let base =
        metadata.get("generateName").and_then(Value::as_str).filter(|base| !base.is_empty())?.to_owned();
    let named = metadata.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if named {
        return None;
    }
    metadata.insert("name".to_owned(), generate(&base).into());
    Some(base)
}

/// Conditions that a new object is born with began with it.
pub(crate) fn date_conditions(object: &mut Value) {
    let born = object::meta(object, "creationTimestamp").cloned();
    let is_pod = object::text(object, &["kind"]) == "Pod";
    let conditions = object.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten() {
        let condition = object::as_map(condition);
        if condition.get("lastTransitionTime").is_none_or(Value::is_null) {
            object::carry(condition, born.as_ref(), "lastTransitionTime");
        }
        if is_pod {
            condition.entry("lastProbeTime").or_insert(Value::Null);
        }
    }
}

pub(crate) fn uid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A name that nobody is likely to have: the base, shortened to leave room, and five characters without vowels.
pub(crate) fn generate(base: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const ROOM: usize = 63 - 5;
    let mut name: String = base.chars().take(ROOM).collect();
    let mut random = rand::rng();
    name.extend(
        (0..5).filter_map(|_| {
            ALPHABET.get(random.random_range(0..ALPHABET.len())).map(|&byte| char::from(byte))
        }),
    );
    name
}

/// Empty maps and lists are the same as none.
fn tidy(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "generateName", "name"] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

/// What an update can leave out or never change is the old object's.
pub(crate) fn carry_over(new: &mut Value, old: &Value) {
    let metadata = object::meta_mut(new);
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let missing = metadata.get(field).is_none_or(|value| value.is_null() || value == "");
        if missing
            || field == "creationTimestamp"
            || (field == "deletionTimestamp" && Meta::of(old).is_leaving())
        {
            object::carry(metadata, object::meta(old, field), field);
        }
    }
    metadata.remove("selfLink");
    object::carry(metadata, object::meta(old, "generation"), "generation");
    tidy(metadata);
}

/// Raises the generation if anything but metadata and status changed. A custom kind has a status only if its definition
/// says so; else that is a field like any other.
pub(crate) fn count_generation(kind: &Kind, new: &mut Value, old: &Value) {
    let has_status = kind.rules.is_none() || kind.subresource("status").is_some();
    let matters =
        |key: &str| !(matches!(key, "apiVersion" | "kind" | "metadata") || has_status && key == "status");
    let changed = match (new.as_object(), old.as_object()) {
        (Some(new), Some(old)) => {
            new.iter().any(|(key, value)| matters(key) && old.get(key) != Some(value))
                || old.keys().any(|key| matters(key) && !new.contains_key(key))
        }
        _ => false,
    };
    if changed {
        raise_generation(new, old);
    }
}

pub(crate) fn raise_generation(new: &mut Value, old: &Value) {
    let generation = object::meta(old, "generation").and_then(Value::as_i64).unwrap_or(0);
    object::set_meta(new, "generation", generation + 1);
}

/// A deleted object that waits for nothing any more.
pub(crate) fn is_finished(object: &Value) -> bool {
    let grace = object::meta(object, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    Meta::of(object).is_leaving() && grace == 0 && Meta::of(object).finalizers().next().is_none()
}

/// What no update may change, and what an object that is being deleted may not get.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::root("metadata");
    for field in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        let (now, before) = (object::meta(new, field), object::meta(old, field));
        if now != before {
            errors.invalid(&path.child(field), now.unwrap_or(&Value::Null), "field is immutable");
        }
    }
    if Meta::of(old).is_leaving() {
        let known: Vec<&str> = Meta::of(old).finalizers().collect();
        let added: Vec<String> = Meta::of(new)
            .finalizers()
            .filter(|name| !known.contains(name))
            .map(|name| format!("{name:?}"))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            errors.forbidden(&path.child("finalizers"), &detail);
        }
    }
}

#[cfg(test)]
mod tests;
