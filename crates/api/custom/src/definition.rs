//! Turns a definition into the kinds that it defines. Expects one that was checked: what cannot be read is left out here.

mod packed;
mod version;

use std::sync::{Arc, OnceLock};

use kedge_kinds::kind::{Column, Conversion};
use kedge_kinds::{GroupVersion, Kind, Subresource};
use serde_json::{Value, json};

use crate::read::{at, flag, has, list, schema_of, text, texts};
use crate::schema::{Names, Schema};
use crate::{openapi, priority, scale, shapes};
use packed::Packed;
use version::Version;

const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// Every served version of a definition, the preferred one first.
pub fn compile(definition: &Value) -> Vec<Arc<Kind>> {
    let mut names = Names::default();
    let spec = at(definition, "spec");
    let versions = list(spec, "versions");
    let group = names.get(text(spec, "group"));
    let stored = versions.iter().find(|version| flag(version, "storage"));
    let stored = stored.map_or(Value::Null, |version| at(version, "name").clone());
    let stored_as =
        GroupVersion { group: group.clone(), version: names.get(stored.as_str().unwrap_or_default()) };
    let conversion = Arc::new(conversion(spec));
    let mut served: Vec<&Value> = versions.iter().filter(|version| flag(version, "served")).collect();
    served.sort_by(|a, b| priority::compare(text(a, "name"), text(b, "name")));
    served
        .iter()
        .map(|version| {
            let gv = GroupVersion { group: group.clone(), version: names.get(text(version, "name")) };
            Arc::new(kind(definition, version, gv, stored_as.clone(), conversion.clone(), &mut names))
        })
        .collect()
}

fn kind(
    definition: &Value,
    version: &Value,
    gv: GroupVersion,
    stored_as: GroupVersion,
    conversion: Arc<Conversion>,
    names: &mut Names,
) -> Kind {
    let spec = at(definition, "spec");
    // A name that another definition has taken is not served; the accepted ones are. Before any is, those asked for count.
    let accepted = at(at(definition, "status"), "acceptedNames");
    let called = if text(accepted, "kind").is_empty() { at(spec, "names") } else { accepted };
    let source = schema_of(version);
    let schema = Schema::parse(source, names);
    let kind = names.get(text(called, "kind"));
    let published = openapi::name(&gv.group, &gv.version, &kind);
    let (shapes, root) = shapes::of(&published, &schema);
    let subresources = at(version, "subresources");
    let scale = has(subresources, "scale").then(|| scale::paths(at(subresources, "scale")));
    let mut verbs_of = |verbs: &[&str]| verbs.iter().map(|verb| names.get(verb)).collect::<Vec<_>>();
    let (verbs, part_verbs) = (verbs_of(VERBS), verbs_of(PART_VERBS));
    let mut parts = Vec::new();
    if has(subresources, "status") {
        parts.push(Subresource { name: "status".into(), verbs: part_verbs.clone(), speaks: None });
    }
    if scale.is_some() {
        let spoken = GroupVersion { group: "autoscaling".into(), version: "v1".into() };
        let speaks = Some((spoken, "Scale".into()));
        parts.push(Subresource { name: "scale".into(), verbs: part_verbs, speaks });
    }
    let rules = Version {
        gv: gv.clone(),
        kind: kind.clone(),
        source: Packed::new(source),
        loaded: OnceLock::new(),
        scale,
        selectable: list(version, "selectableFields")
            .iter()
            .map(|field| text(field, "jsonPath").trim_start_matches('.').into())
            .collect(),
        columns: columns(version),
        conversion,
        deprecation: deprecation(spec, version, &gv, &kind),
    };
    Kind {
        prefix: format!("{}/{}", gv.group, text(called, "plural")).into(),
        gv,
        kind,
        list_kind: names.get(text(called, "listKind")),
        plural: names.get(text(called, "plural")),
        singular: names.get(text(called, "singular")),
        short_names: texts(called, "shortNames").map(|name| names.get(name)).collect(),
        categories: texts(called, "categories").map(|name| names.get(name)).collect(),
        namespaced: text(spec, "scope") == "Namespaced",
        verbs,
        subresources: parts,
        stored_as,
        schemas: Arc::new(shapes),
        schema: root,
        rules: Some(Arc::new(rules)),
    }
}

fn conversion(spec: &Value) -> Conversion {
    let conversion = at(spec, "conversion");
    match text(conversion, "strategy") {
        "Webhook" => Conversion::Webhook(at(conversion, "webhook").clone()),
        _ => Conversion::Rename,
    }
}

/// Without columns of its own a version shows the age.
fn columns(version: &Value) -> Box<[Column]> {
    let given = list(version, "additionalPrinterColumns");
    let age = [json!({
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "CreationTimestamp is a timestamp representing the server time when this object was created. It \
            is not guaranteed to be set in happens-before order across separate operations. Clients may not set this \
            value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for \
            lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    })];
    let shown = if given.is_empty() { &age } else { given };
    shown
        .iter()
        .map(|column| Column {
            name: text(column, "name").to_owned(),
            type_: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: at(column, "priority").as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0),
            json_path: text(column, "jsonPath").to_owned(),
        })
        .collect()
}

fn deprecation(spec: &Value, version: &Value, gv: &GroupVersion, kind: &str) -> Option<Box<str>> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = at(version, "deprecationWarning").as_str() {
        return Some(warning.into());
    }
    let better = list(spec, "versions")
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| priority::compare(other, &gv.version).is_lt())
        .min_by(|a, b| priority::compare(a, b));
    let better = better.map(|version| format!("; use {}/{version} {kind}", gv.group)).unwrap_or_default();
    Some(format!("{gv} {kind} is deprecated{better}").into())
}

#[cfg(test)]
mod tests;
