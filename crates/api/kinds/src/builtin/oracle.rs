//! Compares the table with upstream's published description of the API where that lies beside the project: every struct, field,
//! type, merge fact, path and verb.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{builtin, openapi_name};
use crate::schema::{Field, ListType, Shape};

fn reference() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../../shared/reference/kubernetes-v1.36.4-openapi.json");
    match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(error) => {
            eprintln!("nothing to compare with: {}: {error}", path.display());
            None
        }
    }
}

#[test]
fn every_struct_is_as_upstream_describes_it() {
    let Some(reference) = reference() else { return };
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (_, object) in builtin().schemas.types() {
        let Some(known) = reference["definitions"].get(&*object.name) else {
            let ours_alone = ["CreateOptions", "UpdateOptions", "PatchOptions", "PartialObjectMetadata"];
            let list_of_no_path = object.name.ends_with("List");
            if !list_of_no_path && !ours_alone.iter().any(|name| object.name.ends_with(name)) {
                wrong.push(format!("{} is not upstream's", object.name));
            }
            continue;
        };
        if object.atomic != (known["x-kubernetes-map-type"] == "atomic") {
            wrong.push(format!("{}: atomic", object.name));
        }
        let empty = serde_json::Map::new();
        let properties = known["properties"].as_object().unwrap_or(&empty);
        let ours: BTreeSet<&str> = object.fields.iter().map(|field| &*field.name).collect();
        let theirs: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        for name in ours.symmetric_difference(&theirs) {
            wrong.push(format!("{}.{name}: one side lacks it", object.name));
        }
        let required: BTreeSet<&str> =
            known["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for field in &object.fields {
            let Some(property) = properties.get(&*field.name) else { continue };
            compared += 1;
            let facts = [
                ("type", described(&field.shape) == type_of(property)),
                ("required", field.required == required.contains(&*field.name)),
                ("list type", list_agrees(field, property)),
                ("atomic", field.atomic == (property["x-kubernetes-map-type"] == "atomic")),
                ("granular", field.granular == (property["x-kubernetes-map-type"] == "granular")),
                (
                    "patch strategy",
                    strategy(field) == property["x-kubernetes-patch-strategy"].as_str().unwrap_or_default(),
                ),
                (
                    "merge key",
                    field.patch.merge_key.as_deref() == property["x-kubernetes-patch-merge-key"].as_str(),
                ),
            ];
            wrong.extend(
                facts
                    .iter()
                    .filter(|(_, agrees)| !agrees)
                    .map(|(fact, _)| format!("{}.{}: {fact}", object.name, field.name)),
            );
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} fields differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 2000, "only {compared} fields were compared");
}

fn strategy(field: &Field) -> &'static str {
    match (field.patch.merge, field.patch.retain_keys) {
        (true, true) => "merge,retainKeys",
        (true, false) => "merge",
        (false, true) => "retainKeys",
        (false, false) if field.patch.replace => "replace",
        (false, false) => "",
    }
}

fn list_agrees(field: &Field, property: &Value) -> bool {
    match &field.list {
        ListType::Atomic => matches!(property["x-kubernetes-list-type"].as_str(), None | Some("atomic")),
        ListType::Set => property["x-kubernetes-list-type"] == "set",
        ListType::Map(keys) => {
            let theirs = property["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            property["x-kubernetes-list-type"] == "map" && theirs.eq(keys.iter().map(|key| &**key))
        }
    }
}

fn described(shape: &Shape) -> String {
    match shape {
        Shape::Object(id) => builtin()
            .schemas
            .types()
            .find(|(found, _)| found == id)
            .map_or_else(String::new, |(_, object)| object.name.to_string()),
        Shape::Map(value) => format!("map of {}", described(value)),
        Shape::List(item) => format!("list of {}", described(item)),
        Shape::String => "string".into(),
        Shape::Bytes => "string byte".into(),
        Shape::Bool => "boolean".into(),
        Shape::Int32 => "integer int32".into(),
        Shape::Int64 => "integer int64".into(),
        Shape::Double => "number double".into(),
        Shape::IntOrString => "IntOrString".into(),
        Shape::Quantity => "Quantity".into(),
        Shape::Time => "Time".into(),
        Shape::MicroTime => "MicroTime".into(),
        Shape::Duration => "Duration".into(),
        Shape::Any => "any".into(),
    }
}

fn type_of(property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        let name = reference.trim_start_matches("#/definitions/");
        return match name.rsplit('.').next().unwrap_or_default() {
            short @ ("IntOrString" | "Quantity" | "Time" | "MicroTime") => short.into(),
            "RawExtension"
            | "FieldsV1"
            | "JSON"
            | "JSONSchemaPropsOrArray"
            | "JSONSchemaPropsOrBool"
            | "JSONSchemaPropsOrStringArray" => "any".into(),
            _ => name.into(),
        };
    }
    match (property["type"].as_str(), property["format"].as_str()) {
        (Some("array"), _) => format!("list of {}", type_of(&property["items"])),
        (Some("object"), _) => format!("map of {}", type_of(&property["additionalProperties"])),
        (Some(kind), Some(format)) => format!("{kind} {format}"),
        (Some(kind), None) => kind.into(),
        (None, _) => "any".into(),
    }
}

#[test]
fn every_path_and_verb_of_upstream_is_ours() {
    let Some(reference) = reference() else { return };
    let mut theirs = BTreeSet::new();
    for (path, methods) in reference["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Some(verb) = operation["x-kubernetes-action"].as_str() else { continue };
            let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
            let (group, version, rest) = match parts.as_slice() {
                ["api", version, rest @ ..] => ("", *version, rest),
                ["apis", group, version, rest @ ..] => (*group, *version, rest),
                _ => continue,
            };
            // Only versions that a stock server serves without being asked; watch paths repeat the others.
            if version.contains("alpha") || version.contains("beta") || rest.first() == Some(&"watch") {
                continue;
            }
            let rest = match rest {
                ["namespaces", "{namespace}", plural, rest @ ..] => [&[*plural], rest].concat(),
                other => other.to_vec(),
            };
            let resource = match rest.as_slice() {
                [plural] | [plural, "{name}"] => (*plural).to_owned(),
                [plural, "{name}", sub, ..] => format!("{plural}/{sub}"),
                _ => continue,
            };
            let verb = match verb {
                "post" => "create",
                "put" => "update",
                "connect" => match method.as_str() {
                    "post" => "create",
                    "put" => "update",
                    "get" | "patch" | "delete" => method,
                    _ => continue,
                },
                "watchlist" => "watch",
                other => other,
            };
            theirs.insert(format!("{group}/{version} {resource} {verb}"));
        }
    }
    let mut ours = BTreeSet::new();
    for kind in &builtin().kinds {
        let place = format!("{}/{} {}", kind.gv.group, kind.gv.version, kind.plural);
        // Watching is a parameter of list in upstream's paths.
        ours.extend(
            kind.verbs.iter().filter(|verb| &***verb != "watch").map(|verb| format!("{place} {verb}")),
        );
        for sub in &kind.subresources {
            ours.extend(sub.verbs.iter().map(|verb| format!("{place}/{} {verb}", sub.name)));
            if let Some((gv, spoken)) = &sub.speaks {
                let options = spoken.ends_with("Options");
                assert!(
                    options || builtin().schema(&openapi_name(&gv.group, &gv.version, spoken)).is_some(),
                    "{spoken}"
                );
            }
        }
    }
    let missing: Vec<_> = theirs.difference(&ours).collect();
    // Upstream's description leaves out what it marks as long-running in another way.
    let extra: Vec<_> = ours.difference(&theirs).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:#?}\nextra {extra:#?}");
}
