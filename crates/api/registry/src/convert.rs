//! One kind in two versions: the served form to the stored one and back. Knows the two kinds that need it,
//! `HorizontalPodAutoscaler` (v1 and v2) and `Event` (core and events.k8s.io). Custom kinds have their own way, `custom`.

mod autoscaler;

use std::borrow::Cow;
use std::sync::Arc;

use kedge_kinds::check::{Mode, check};
use kedge_kinds::{Kind, builtin};
use serde_json::{Map, Value};

/// Objects of this kind have another form on disk than the one that it serves.
pub(crate) fn is_needed(kind: &Kind) -> bool {
    kind.rules.is_none() && kind.gv != kind.stored_as
}

/// The same kind in its other version.
pub(crate) fn counterpart(kind: &Kind) -> Option<&'static Kind> {
    let same = |other: &&Arc<Kind>| other.kind == kind.kind && other.stored_as == kind.stored_as;
    builtin().kinds.iter().filter(same).find(|other| other.gv != kind.gv).map(|other| &**other)
}

/// From the version that `kind` serves to the one that is stored.
pub(crate) fn to_stored(kind: &Kind, object: Value) -> Value {
    convert(kind, object, Direction::ToStored)
}

/// From the stored version to the one that `kind` serves.
pub(crate) fn to_served(kind: &Kind, object: Value) -> Value {
    convert(kind, object, Direction::ToServed)
}

/// The same of an object that stays: copied only where the two differ.
pub(crate) fn served<'o>(kind: &Kind, object: &'o Value) -> Cow<'o, Value> {
    if is_needed(kind) { Cow::Owned(to_served(kind, object.clone())) } else { Cow::Borrowed(object) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToStored,
    ToServed,
}

fn convert(kind: &Kind, mut object: Value, direction: Direction) -> Value {
    if !is_needed(kind) {
        return object;
    }
    let (from, to) = match direction {
        Direction::ToStored => (&kind.gv, &kind.stored_as),
        Direction::ToServed => (&kind.stored_as, &kind.gv),
    };
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), to.to_string().into());
        match (&*kind.kind, &*from.group, &*from.version) {
            ("Event", "", _) => rename(fields, EVENT_FIELDS.iter().map(|&(core, new)| (core, new))),
            ("Event", ..) => rename(fields, EVENT_FIELDS.iter().map(|&(core, new)| (new, core))),
            ("HorizontalPodAutoscaler", _, "v1") => autoscaler::from_v1(fields),
            ("HorizontalPodAutoscaler", ..) => autoscaler::to_v1(fields),
            _ => {}
        }
    }
    // What one version always writes and the other never does follows from their schemas.
    let target = builtin().by_kind(&to.group, &to.version, &kind.kind);
    if let Some(node) = target.and_then(|target| target.node()) {
        check(node, &mut object, Mode::Whole);
    }
    object
}

/// Core's name of an Event's field and that of events.k8s.io.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The name that a selector's field of the served version has in the stored one; none if the served one has no such field.
pub(crate) fn stored_field<'f>(kind: &Kind, field: &'f str) -> Option<Cow<'f, str>> {
    if &*kind.gv.group != "events.k8s.io" {
        return Some(field.into());
    }
    match field {
        "reportingController" => Some("reportingComponent".into()),
        "reason" | "type" => Some(field.into()),
        _ => field.strip_prefix("regarding.").map(|part| format!("involvedObject.{part}").into()),
    }
}

fn rename<'n>(fields: &mut Map<String, Value>, names: impl Iterator<Item = (&'n str, &'n str)>) {
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
