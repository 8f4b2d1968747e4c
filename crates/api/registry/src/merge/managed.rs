//! Who owns which field (`metadata.managedFields`), and server-side apply. Knows no storage and no defaulting: the
//! caller defaults what `apply` returns, and calls `update` with the object as the client sent it after defaulting but
//! before admission and the kind's own preparation, whose changes belong to nobody.

pub(super) mod entry;

use jiff::Timestamp;
use kedge_kinds::schema::Node;
use kedge_kinds::{Kind, Status};
use serde_json::{Value, json};

use self::entry::{Entries, Entry};
use super::compare::{self, Difference};
use super::fields::FieldSet;
use super::{check, combine, conflict, owned, prune, reset};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

/// Who writes, through which endpoint, and when.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    pub manager: &'a str,
    pub operation: Operation,
    pub api_version: &'a str,
    pub subresource: &'a str,
    pub now: Timestamp,
}

/// Owner of what was there before the first apply to an object that nobody had managed.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Rewrites `metadata.managedFields` of `new` after a create, update or patch: the writer owns what changed, everybody
/// else loses it. `old` is the stored object, `None` for a create.
pub fn update(node: Node<'_>, old: Option<&Value>, new: &mut Value, who: &Who<'_>) {
    let sent = take_managed_fields(new);
    let mut entries = Entries::of_write(sent, old, !who.subresource.is_empty());
    // An object that nobody manages stays so until someone applies to it.
    if entries.is_empty() && old.is_some() {
        return;
    }
    give_changes(node, old, new, who, &mut entries);
    entries.cap();
    put_managed_fields(new, entries);
}

/// Whether somebody's fields are those of `version`.
pub fn has_owner_in(object: &Value, version: &str) -> bool {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| entry.get("apiVersion").is_some_and(|used| used == version))
}

/// After [`update`] in one version of a kind: whoever wrote another `version` loses what changed there. `before` and
/// `after` are in that version, `node` is its schema, and `object` has the `managedFields`.
pub fn lose_in(node: Node<'_>, version: &str, before: &Value, after: &Value, object: &mut Value) {
    let Some(mut entries) = Entries::decode(take_managed_fields(object)) else { return };
    entries.lose_in(version, &compare::compare(node, Some(before), after));
    put_managed_fields(object, entries);
}

/// Merges an applied configuration into the live object. Gives the merged object with its `managedFields`, or 409 with
/// one cause for each field that another manager owns with another value.
pub fn apply(
    kind: &Kind,
    node: Node<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
    who: &Who<'_>,
) -> Result<Value, Status> {
    check::object_type(kind, config)?;
    check::typed(node, config)?;

    let merged = match attempt(node, live, config, force, who) {
        Err(Refused::Conflicts(conflicts)) if who.manager == "kubectl" => {
            // An object that kubectl made by client-side apply passes to server-side apply without a conflict
            // where it still has the values that kubectl last applied.
            let allowed = live.and_then(|live| last_applied(node, live, who)).unwrap_or_default();
            let left: Vec<_> =
                conflicts.into_iter().filter(|conflict| !allowed.has(&conflict.steps())).collect();
            if left.is_empty() {
                attempt(node, live, config, true, who)
            } else {
                Err(Refused::Conflicts(left))
            }
        }
        other => other,
    };
    let mut merged = merged.map_err(|Refused::Conflicts(conflicts)| conflict::status(&conflicts))?;
    if who.manager == "kubectl" {
        renew_last_applied(&mut merged, config);
    }
    Ok(merged)
}

enum Refused {
    Conflicts(Vec<conflict::Conflict>),
}

fn attempt(
    node: Node<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
    who: &Who<'_>,
) -> Result<Value, Refused> {
    let mut current = live.cloned().unwrap_or_else(|| json!({}));
    let stored = take_managed_fields(&mut current);
    let mut entries = Entries::decode(stored).unwrap_or_default();
    if entries.is_empty() && live.is_some() {
        let before = Who { manager: BEFORE_FIRST_APPLY, operation: Operation::Update, ..*who };
        give_changes(node, None, &current, &before, &mut entries);
        entries.cap();
    }

    let mut fields = owned::fields(node, config);
    reset::exclude(node, who.subresource, &mut fields);
    let last = entries.take(who);
    let last_time = last.as_ref().map(|entry| entry.time.clone());
    let mut object = combine::combine(node, current, config);
    if let Some(last) = &last {
        let others = entries.iter().map(|entry| &entry.fields);
        object = prune::prune(node, object, &last.fields, &fields, others);
    }

    let mut difference = compare::compare(node, live, &object);
    difference.removed.cut(&MANAGED_FIELDS);
    let changed_anything = !difference.is_empty() || live.is_none();
    reset::exclude(node, who.subresource, &mut difference.changed);
    reset::exclude(node, who.subresource, &mut difference.removed);
    if !force {
        let conflicts = conflict::find(&entries, &difference.changed);
        if !conflicts.is_empty() {
            return Err(Refused::Conflicts(conflicts));
        }
    }
    entries.lose(&difference);
    strip(&mut fields);
    if !fields.is_empty() {
        let time = if changed_anything { Some(entry::stamp(who.now)) } else { last_time.flatten() };
        entries.add(Entry::of(who, fields, time));
    }
    // Only now may empty values go: until here an emptied list still had its owners. Types were checked before.
    let _ = kedge_kinds::check::check(node, &mut object, kedge_kinds::check::Mode::Whole);
    put_managed_fields(&mut object, entries);
    Ok(object)
}

/// Moves what differs to one manager's `Update` entry.
fn give_changes(node: Node<'_>, old: Option<&Value>, new: &Value, who: &Who<'_>, entries: &mut Entries) {
    let Difference { mut changed, mut removed } = compare::compare(node, old, new);
    strip(&mut changed);
    removed.cut(&MANAGED_FIELDS);
    reset::exclude(node, who.subresource, &mut changed);
    reset::exclude(node, who.subresource, &mut removed);
    let difference = Difference { changed, removed };
    entries.lose(&difference);
    if !difference.changed.is_empty() {
        // Kubernetes notes no time for what came through `scale`.
        let time = (who.subresource != "scale").then(|| entry::stamp(who.now));
        entries.join(Entry::of(who, difference.changed, time));
    }
}

const MANAGED_FIELDS: [&str; 2] = ["f:metadata", "f:managedFields"];

/// Fields that the server sets or that name the object; nobody owns them.
fn strip(fields: &mut FieldSet) {
    for path in [
        &["f:apiVersion"][..],
        &["f:kind"],
        &["f:metadata", "f:name"],
        &["f:metadata", "f:namespace"],
        &["f:metadata", "f:creationTimestamp"],
        &["f:metadata", "f:selfLink"],
        &["f:metadata", "f:uid"],
        &["f:metadata", "f:clusterName"],
        &["f:metadata", "f:generation"],
        &["f:metadata", "f:resourceVersion"],
        &MANAGED_FIELDS,
    ] {
        fields.cut(path);
    }
    fields.disown("f:metadata");
}

fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

fn put_managed_fields(object: &mut Value, entries: Entries) {
    let Some(fields) = object.as_object_mut() else { return };
    let entries = entries.encode();
    if entries.is_empty() {
        return;
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// The fields that kubectl's client-side apply set and that still have those values.
fn last_applied(node: Node<'_>, live: &Value, who: &Who<'_>) -> Option<FieldSet> {
    let text = live.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    if config.get("apiVersion")?.as_str()? != who.api_version {
        return None;
    }
    let mut fields = owned::fields(node, &config);
    let difference = compare::compare(node, Some(&config), live);
    fields.subtract(&difference.changed);
    fields.subtract(&difference.removed);
    Some(fields)
}

/// Keeps the annotation of client-side apply true where it is there, so that both ways of applying can be mixed.
fn renew_last_applied(object: &mut Value, config: &Value) {
    let annotation = object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED));
    let Some(annotation) = annotation.filter(|text| text.as_str().is_some_and(|text| !text.is_empty()))
    else {
        return;
    };
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    *annotation = Value::String(format!("{config}\n"));
}

#[cfg(test)]
mod tests;
