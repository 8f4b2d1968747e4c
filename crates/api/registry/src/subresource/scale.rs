//! `scale`: the number of replicas of four kinds, and of the custom ones that say where theirs is, seen as one small
//! object.

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::kind::ScalePaths;
use kedge_kinds::{Details, Kind, Reason, Status};
use serde_json::{Value, json};

use crate::merge;
use crate::registry::{Registry, Written, parse_bytes};
use crate::request::{At, Patch, WriteOptions};
use crate::update::{Live, Outcome};
use crate::{encode, failure, object};

/// The Scale of an object.
pub(crate) fn of(at: &At, name: &str, object: &Value) -> Result<Value, Status> {
    if at.kind.subresource("scale").is_none() {
        return Err(Status::not_found(&at.kind, name));
    }
    let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: serde_json::Map<String, Value> = metadata
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), object::meta(object, field)?.clone())))
        .collect();
    let paths = paths(&at.kind);
    let count = |part: &str| match (paths, part) {
        (Some(paths), "spec") => object.pointer(&paths.spec_replicas).and_then(Value::as_i64),
        (Some(paths), _) => object.pointer(&paths.status_replicas).and_then(Value::as_i64),
        (None, part) => object::at(object, &[part, "replicas"]).and_then(Value::as_i64),
    };
    if let Some(paths) = paths.filter(|_| count("spec").is_none()) {
        let field = paths.spec_replicas.replace('/', ".");
        return Err(Status::internal(format!("the spec replicas field {field:?} does not exist")));
    }
    let mut status = json!({"replicas": count("status").unwrap_or(0)});
    let selector = selector(at, object);
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let mut spec = json!({});
    if let Some(replicas) = count("spec").filter(|replicas| *replicas != 0) {
        spec["replicas"] = replicas.into();
    }
    Ok(
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}),
    )
}

pub(crate) async fn update(
    registry: &Registry,
    at: &At,
    scale: Value,
    options: &WriteOptions,
) -> Result<Written, Status> {
    let name = at.name.as_deref().unwrap_or_default();
    let sent = object::meta_text(&scale, "name");
    if !sent.is_empty() && sent != name {
        let message = format!("the name of the object ({sent}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(message));
    }
    if let (Some(namespace), sent) = (at.namespace.as_deref(), object::meta_text(&scale, "namespace"))
        && !sent.is_empty()
        && sent != namespace
    {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let fixed = failure::parse_revision(object::meta_text(&scale, "resourceVersion"))?.is_some();
    let written =
        registry.change(at, options, fixed, |live, _| scaled(registry, at, live, &scale, options)).await?;
    answer(at, name, written)
}

pub(crate) async fn patch(
    registry: &Registry,
    at: &At,
    patch: &Patch,
    options: &WriteOptions,
) -> Result<Written, Status> {
    let name = at.name.as_deref().unwrap_or_default();
    let written = registry
        .change(at, options, false, |live, _| {
            let mut scale = of(at, name, &live.object)?;
            match patch {
                Patch::Json(operations) => scale = merge::json_patch(&scale, operations)?,
                // A Scale has no lists, so that a strategic patch of it is a merge patch.
                Patch::Merge(patch) | Patch::Strategic(patch) | Patch::Apply { config: patch, .. } => {
                    merge::merge_patch(&mut scale, patch);
                }
            }
            scaled(registry, at, live, &scale, options)
        })
        .await?;
    answer(at, name, written)
}

fn scaled(
    registry: &Registry,
    at: &At,
    live: &Live,
    scale: &Value,
    options: &WriteOptions,
) -> Result<Outcome, Status> {
    if at.kind.subresource("scale").is_none() {
        return Err(Status::not_found(&at.kind, at.name.as_deref().unwrap_or_default()));
    }
    registry.agree(at, live, scale)?;
    let replicas = object::at(scale, &["spec", "replicas"]).cloned().unwrap_or_else(|| 0.into());
    let Some(count) = replicas.as_i64().filter(|count| i32::try_from(*count).is_ok()) else {
        return Err(Status::bad_request(
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas is no number",
        ));
    };
    // What may stand at the place of a custom kind's number is for its definition to say.
    if count < 0 && paths(&at.kind).is_none() {
        return Err(below_nothing(at, &replicas));
    }
    let mut new = live.object.clone();
    put(&at.kind, &mut new, scale);
    registry.own(at, &mut new, Some(&live.object), options, Some("scale"));
    Ok(Outcome { object: new, warnings: Vec::new() })
}

/// Takes over into an object what somebody changed in its Scale.
pub(crate) fn put(kind: &Kind, object: &mut Value, scale: &Value) {
    let replicas = object::at(scale, &["spec", "replicas"]).cloned().unwrap_or_else(|| 0.into());
    match kind.rules.as_ref().and_then(|rules| rules.scale()) {
        Some(paths) => {
            let mut keys: Vec<&str> = paths.spec_replicas.split('/').skip(1).collect();
            let Some(last) = keys.pop() else { return };
            let parent = keys
                .iter()
                .fold(object, |value, key| object::as_map(value).entry(*key).or_insert_with(|| json!({})));
            object::as_map(parent).insert(last.to_owned(), replicas);
        }
        None => {
            object::map_mut(object, "spec").insert("replicas".to_owned(), replicas);
        }
    }
}

fn below_nothing(at: &At, replicas: &Value) -> Status {
    let mut errors = Errors::default();
    errors.invalid(&Path::root("spec").child("replicas"), replicas, "must be greater than or equal to 0");
    let causes = errors.into_causes();
    let name = at.name.as_deref().unwrap_or_default();
    let said = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect::<String>();
    Status::new(422, Reason::Invalid, format!("Scale.autoscaling \"{name}\" is invalid: {said}")).with(
        Details {
            name: name.to_owned(),
            group: "autoscaling".to_owned(),
            kind: "Scale".to_owned(),
            causes,
            ..Details::default()
        },
    )
}

fn answer(at: &At, name: &str, written: Written) -> Result<Written, Status> {
    let scale = of(at, name, &parse_bytes(&written.bytes)?)?;
    Ok(Written { bytes: encode::plain(&scale), ..written })
}

/// Where a custom kind has its numbers.
fn paths(kind: &Kind) -> Option<&ScalePaths> {
    kind.rules.as_ref().and_then(|rules| rules.scale())
}

/// The selector as text, as autoscalers and `kubectl` read it.
fn selector(at: &At, object: &Value) -> String {
    if let Some(paths) = paths(&at.kind) {
        let found = paths.selector.as_ref().and_then(|path| object.pointer(path));
        return found.and_then(Value::as_str).unwrap_or_default().to_owned();
    }
    let selector = object::at(object, &["spec", "selector"]);
    if &*at.kind.kind == "ReplicationController" {
        return equalities(selector).join(",");
    }
    let Some(selector) = selector else { return String::new() };
    let mut parts: Vec<(String, String)> = equalities(selector.get("matchLabels"))
        .into_iter()
        .map(|text| (text.split('=').next().unwrap_or_default().to_owned(), text))
        .collect();
    for term in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = object::text(term, &["key"]);
        let mut values: Vec<&str> = term
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let text = match object::text(term, &["operator"]) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), text));
    }
    parts.sort();
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn equalities(labels: Option<&Value>) -> Vec<String> {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect()
}
