//! Compares the table with upstream's published description of the API where that lies beside the project: every struct, field,
//! type, merge fact, path and verb. What it says is kept here as digests, so that a clone without it finds out too that something
//! differs, if not what. `UPDATE_DIGEST=1 cargo test -p kedge-kinds oracle` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
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

const DIGEST: &str = include_str!("digest.txt");

fn kept() -> BTreeMap<&'static str, &'static str> {
    DIGEST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' ')).collect()
}

/// FNV-1a: it only has to be the same everywhere.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn hashed(facts: &BTreeSet<String>) -> String {
    hash(&facts.iter().map(|fact| format!("{fact}\n")).collect::<String>())
}

/// What our table says, by struct and by resource.
fn own_digest() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (_, object) in builtin().schemas.types() {
        let mut facts: BTreeSet<String> = object
            .fields
            .iter()
            .map(|field| {
                let list = match &field.list {
                    ListType::Atomic => "atomic".to_owned(),
                    ListType::Set => "set".to_owned(),
                    ListType::Map(keys) => format!("map of {}", keys.join(",")),
                };
                let key = field.patch.merge_key.as_deref().unwrap_or_default();
                let (shape, strategy) = (described(&field.shape), strategy(field));
                let flags = [field.required, field.atomic, field.granular];
                format!("{} {shape} {flags:?} {list} {strategy} {key}", field.name)
            })
            .collect();
        facts.insert(format!("atomic {}", object.atomic));
        all.insert(object.name.to_string(), hashed(&facts));
    }
    all.extend(by_resource(own_verbs()));
    all
}

/// The same of upstream's description.
fn upstreams_digest(reference: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, known) in reference["definitions"].as_object().unwrap() {
        let required: BTreeSet<&str> =
            known["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut facts = BTreeSet::new();
        for (field, property) in known["properties"].as_object().into_iter().flatten() {
            let text = |key: &str| property[key].as_str().unwrap_or_default();
            let keys = property["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
            let list = match text("x-kubernetes-list-type") {
                "" | "atomic" => "atomic".to_owned(),
                "map" => format!("map of {}", keys.join(",")),
                other => other.to_owned(),
            };
            let map = text("x-kubernetes-map-type");
            let flags = [required.contains(field.as_str()), map == "atomic", map == "granular"];
            let (strategy, key) = (text("x-kubernetes-patch-strategy"), text("x-kubernetes-patch-merge-key"));
            facts.insert(format!("{field} {} {flags:?} {list} {strategy} {key}", type_of(property)));
        }
        facts.insert(format!("atomic {}", known["x-kubernetes-map-type"] == "atomic"));
        all.insert(name.clone(), hashed(&facts));
    }
    all.extend(by_resource(upstreams_verbs(reference)));
    all
}

/// `apps/v1 deployments get` and so on, as one line for each resource.
fn by_resource(verbs: BTreeSet<String>) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in verbs {
        let (resource, verb) = line.rsplit_once(' ').unwrap();
        facts.entry(resource.to_owned()).or_default().insert(verb.to_owned());
    }
    facts.into_iter().map(|(resource, verbs)| (resource, hashed(&verbs))).collect()
}

#[test]
fn the_table_is_what_upstreams_description_was_digested_to() {
    let (own, kept) = (own_digest(), kept());
    let wrong: Vec<&str> = kept
        .iter()
        .filter(|(name, hash)| own.get(**name).is_none_or(|own| own != **hash))
        .map(|(name, _)| *name)
        .collect();
    assert!(wrong.is_empty(), "these are not as upstream describes them: {wrong:#?}");
    let new: Vec<&String> =
        own.keys().filter(|name| !kept.contains_key(name.as_str()) && !is_ours_alone(name)).collect();
    assert!(new.is_empty(), "upstream has none of these: {new:#?}");
    assert!(kept.len() > 500, "only {} structs and resources were compared", kept.len());
}

#[test]
fn the_digest_is_of_upstreams_description() {
    let Some(reference) = reference() else { return };
    let (own, theirs) = (own_digest(), upstreams_digest(&reference));
    let mut digest = "# What upstream's description of v1.36 says of each struct and resource that is served here, hashed.\n".to_owned();
    for (name, hash) in theirs.iter().filter(|(name, _)| own.contains_key(*name)) {
        digest.push_str(&format!("{name} {hash}\n"));
    }
    if std::env::var_os("UPDATE_DIGEST").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/builtin/digest.txt"), &digest).unwrap();
        return;
    }
    assert!(digest == DIGEST, "the digest is not of this description");
}

fn is_ours_alone(name: &str) -> bool {
    let ours_alone = ["CreateOptions", "UpdateOptions", "PatchOptions", "PartialObjectMetadata"];
    // Lists of what no path gives are in nobody's description.
    name.ends_with("List") || ours_alone.iter().any(|own| name.ends_with(own))
}

#[test]
fn every_struct_is_as_upstream_describes_it() {
    let Some(reference) = reference() else { return };
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (_, object) in builtin().schemas.types() {
        let Some(known) = reference["definitions"].get(&*object.name) else {
            if !is_ours_alone(&object.name) {
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

/// `apps/v1 deployments get`, for every verb of every path.
fn upstreams_verbs(reference: &Value) -> BTreeSet<String> {
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
    theirs
}

fn own_verbs() -> BTreeSet<String> {
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
    ours
}

#[test]
fn every_path_and_verb_of_upstream_is_ours() {
    let Some(reference) = reference() else { return };
    let (ours, theirs) = (own_verbs(), upstreams_verbs(&reference));
    let missing: Vec<_> = theirs.difference(&ours).collect();
    // Upstream's description leaves out what it marks as long-running in another way.
    let extra: Vec<_> = ours.difference(&theirs).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:#?}\nextra {extra:#?}");
}
