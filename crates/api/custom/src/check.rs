//! What is wrong with a definition itself. Upstream holds definitions in an older form in which what all versions have in
//! common stands once, at the top; complaints name places of that form, and clients know them so.

mod approval;
mod conversion;
mod defaults;
mod names;
mod paths;
mod schema;
mod shown;
mod structural;
mod versions;

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::read::{at, flag, has, list, schema_of, text, texts};

/// Tells what is wrong with a definition, and with its change if there was one before.
pub fn check(definition: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = at(definition, "spec");
    // Names do not change, so an old one is not asked again.
    if old.is_none() {
        name(definition, errors);
    }
    specification(spec, old.map(|old| at(old, "spec")), established(old), errors);
    if let Some(old) = old {
        immutable(spec, at(old, "spec"), established(Some(old)), errors);
    }
    let status = Path::root("status");
    names::check(at(at(definition, "status"), "acceptedNames"), &status.child("acceptedNames"), errors);
    stored_versions(definition, errors);
    approval::check(definition, old, errors);
    let kept_before = old.is_some_and(|old| flag(at(old, "spec"), "preserveUnknownFields"));
    if flag(spec, "preserveUnknownFields") && !kept_before {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
             spec.versions[*].schema instead";
        errors.invalid(&Path::root("spec").child("preserveUnknownFields"), &true.into(), detail);
    }
}

fn established(definition: Option<&Value>) -> bool {
    let conditions = definition.map_or(&[][..], |definition| list(at(definition, "status"), "conditions"));
    conditions.iter().any(|one| text(one, "type") == "Established" && text(one, "status") == "True")
}

fn name(definition: &Value, errors: &mut Errors) {
    let spec = at(definition, "spec");
    let name = at(at(definition, "metadata"), "name");
    let wanted = format!("{}.{}", text(at(spec, "names"), "plural"), text(spec, "group"));
    if name.as_str() != Some(&wanted) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.invalid(&Path::root("metadata").child("name"), name, detail);
    }
}

fn specification(spec: &Value, old: Option<&Value>, established: bool, errors: &mut Errors) {
    let path = Path::root("spec");
    group(spec, &path, errors);
    one_of(at(spec, "scope"), &path.child("scope"), &["Cluster", "Namespaced"], errors);
    let all = list(spec, "versions");
    for (at, version) in all.iter().enumerate() {
        if !schema_of(version).is_object() {
            let versions = path.child("versions");
            errors.required(&versions.index(at).child("schema").child("openAPIV3Schema"), "");
        }
    }
    if flag(spec, "preserveUnknownFields") && all.iter().any(|one| has_defaults(schema_of(one))) {
        let detail = "must be false in order to use defaults in the schema";
        errors.invalid(&path.child("preserveUnknownFields"), &true.into(), detail);
    }
    let common = versions::Common::of(all);
    versions::each(all, &common, old, &path.child("versions"), errors);
    versions::together(all, &common, &path, errors);
    names::required(at(spec, "names"), &path.child("names"), errors);
    names::check(at(spec, "names"), &path.child("names"), errors);
    versions::at_the_top(all, &common, old, &path, errors);
    let strategy = at(at(spec, "conversion"), "strategy");
    if flag(spec, "preserveUnknownFields") && has(spec, "conversion") && strategy != "None" {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.invalid(&path.child("conversion").child("strategy"), strategy, detail);
    }
    conversion::check(spec, old.filter(|_| established), &path.child("conversion"), errors);
}

fn has_defaults(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            has(schema, "default")
                || fields.iter().any(|(name, below)| name != "default" && has_defaults(below))
        }
        Value::Array(items) => items.iter().any(has_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn group(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let group = text(spec, "group");
    let path = path.child("group");
    let wrong = kedge_kinds::names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.required(&path, "");
    } else if !wrong.is_empty() {
        errors.invalid(&path, &group.into(), &wrong.join(","));
    } else if !group.contains('.') {
        errors.invalid(&path, &group.into(), "should be a domain with at least one dot");
    }
}

fn one_of(value: &Value, path: &Path<'_>, known: &[&str], errors: &mut Errors) {
    match value.as_str().unwrap_or_default() {
        "" => errors.required(path, ""),
        text if known.contains(&text) => {}
        _ => errors.not_supported(path, value, known),
    }
}

/// What is served is found under these names and nowhere else.
fn immutable(spec: &Value, old: &Value, established: bool, errors: &mut Errors) {
    let path = Path::root("spec");
    let mut same = |new: &Value, old: &Value, path: &Path<'_>| {
        if new != old {
            errors.invalid(path, new, "field is immutable");
        }
    };
    let (names, old_names, names_path) = (at(spec, "names"), at(old, "names"), path.child("names"));
    if established {
        same(at(spec, "scope"), at(old, "scope"), &path.child("scope"));
        same(at(names, "kind"), at(old_names, "kind"), &names_path.child("kind"));
    }
    same(at(spec, "group"), at(old, "group"), &path.child("group"));
    same(at(names, "plural"), at(old_names, "plural"), &names_path.child("plural"));
}

/// A version that objects may still be stored in stays defined.
fn stored_versions(definition: &Value, errors: &mut Errors) {
    let status = Path::root("status");
    let path = status.child("storedVersions");
    let shown = at(at(definition, "status"), "storedVersions");
    let stored: Vec<&str> = texts(at(definition, "status"), "storedVersions").collect();
    if stored.is_empty() {
        return errors.invalid(&path, shown, "must have at least one stored version");
    }
    let versions = list(at(definition, "spec"), "versions");
    let mut seen: Vec<&str> = Vec::new();
    for version in versions {
        let name = text(version, "name");
        let found = stored.contains(&name) && !seen.contains(&name);
        if flag(version, "storage") && !found {
            errors.invalid(&path, shown, &format!("must have the storage version {name}"));
        }
        seen.push(name);
    }
    for (at, name) in stored.iter().enumerate().filter(|(_, name)| !seen.contains(name)) {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.invalid(&path.index(at), &(*name).into(), &detail);
    }
}

#[cfg(test)]
mod tests;
