//! Whether a definition of a kind makes sense: its names, its versions, the outline of its schemas.
//! What the schemas say in detail is checked where custom kinds are served.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::strategies::fields::{at, flag, has, list, map, text, texts};
use crate::strategies::names;

pub(super) fn definition(errors: &mut Errors, definition: &Value) {
    let (path, spec) = (Path::root("spec"), at(definition, "spec"));
    let (group, plural) = (text(spec, "group"), text(at(spec, "names"), "plural"));
    let name = text(at(definition, "metadata"), "name");
    if name.strip_suffix(group).and_then(|rest| rest.strip_suffix('.')) != Some(plural) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        names::wrong(errors, &Path::root("metadata").child("name"), name, detail);
    }
    if group.is_empty() {
        errors.required(&path.child("group"), "");
    } else if !names::is_subdomain(group) {
        names::subdomain(errors, &path.child("group"), group);
    } else if !group.contains('.') {
        names::wrong(errors, &path.child("group"), group, "should be a domain with at least one dot");
    }
    names::one_of(errors, &path.child("scope"), text(spec, "scope"), &["Cluster", "Namespaced"]);
    versions(errors, &path.child("versions"), spec);
    called(errors, &path.child("names"), at(spec, "names"));
    conversion(errors, &path.child("conversion"), at(spec, "conversion"));
    if flag(spec, "preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
             spec.versions[*].schema instead";
        errors.invalid(&path.child("preserveUnknownFields"), &true.into(), detail);
    }
    stored_versions(errors, definition);
}

fn versions(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let versions = list(spec, "versions");
    for (i, version) in versions.iter().enumerate() {
        if !has(at(version, "schema"), "openAPIV3Schema") {
            let path = path.index(i);
            errors.required(&path.child("schema").child("openAPIV3Schema"), "");
        }
    }
    for (i, version) in versions.iter().enumerate() {
        let path = path.index(i);
        names::label_1035(errors, &path.child("name"), text(version, "name"));
        if !flag(version, "deprecated") && has(version, "deprecationWarning") {
            let warning = at(version, "deprecationWarning");
            errors.invalid(
                &path.child("deprecationWarning"),
                warning,
                "can only be set for deprecated versions",
            );
        }
        let schema = at(at(version, "schema"), "openAPIV3Schema");
        if !schema.is_null() {
            let path = path.child("schema");
            root_schema(errors, &path.child("openAPIV3Schema"), schema);
        }
        for (j, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
            let path = path.child("additionalPrinterColumns");
            printed(errors, &path.index(j), column);
        }
    }
    let unique = versions.iter().enumerate().all(|(i, version)| {
        !versions.iter().take(i).any(|other| text(other, "name") == text(version, "name"))
    });
    if !unique {
        errors.invalid(path, at(spec, "versions"), "must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.invalid(path, at(spec, "versions"), detail);
    }
}

fn root_schema(errors: &mut Errors, path: &Path<'_>, schema: &Value) {
    match text(schema, "type") {
        "object" => {}
        "" => errors.required(&path.child("type"), "must not be empty at the root"),
        other => names::wrong(errors, &path.child("type"), other, "must be object at the root"),
    }
    properties(errors, path, schema);
}

/// Every property says what it is, or that it may be anything.
fn properties(errors: &mut Errors, path: &Path<'_>, schema: &Value) {
    for (name, property) in map(schema, "properties") {
        let path = path.child("properties");
        property_schema(errors, &path.key(name), property);
    }
    for field in ["items", "additionalProperties"] {
        let inner = at(schema, field);
        if inner.is_object() {
            property_schema(errors, &path.child(field), inner);
        }
    }
}

fn property_schema(errors: &mut Errors, path: &Path<'_>, schema: &Value) {
    const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
    let free = ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"];
    match text(schema, "type") {
        "" if free.iter().any(|field| flag(schema, field)) => {}
        "" => errors.required(&path.child("type"), "must not be empty for specified object fields"),
        kind => names::one_of(errors, &path.child("type"), kind, TYPES),
    }
    properties(errors, path, schema);
}

fn printed(errors: &mut Errors, path: &Path<'_>, column: &Value) {
    const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
    if text(column, "name").is_empty() {
        errors.required(&path.child("name"), "");
    }
    names::one_of(errors, &path.child("type"), text(column, "type"), TYPES);
    if text(column, "jsonPath").is_empty() {
        errors.required(&path.child("JSONPath"), "");
    }
}

fn called(errors: &mut Errors, path: &Path<'_>, called: &Value) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(called, field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
    for field in ["plural", "singular"] {
        let value = text(called, field);
        if !value.is_empty() {
            names::label_1035(errors, &path.child(field), value);
        }
    }
    for (i, short) in texts(called, "shortNames").enumerate() {
        names::label_1035(errors, &path.child("shortNames").index(i), short);
    }
    for field in ["kind", "listKind"] {
        let value = text(called, field);
        if !value.is_empty() {
            mixed_case(errors, &path.child(field), value);
        }
    }
    if text(called, "kind") == text(called, "listKind") && !text(called, "kind").is_empty() {
        let detail = "kind and listKind may not be the same";
        errors.invalid(&path.child("listKind"), at(called, "listKind"), detail);
    }
    for (i, category) in texts(called, "categories").enumerate() {
        names::label_1035(errors, &path.child("categories").index(i), category);
    }
}

/// A kind is a label that may have capitals.
fn mixed_case(errors: &mut Errors, path: &Path<'_>, kind: &str) {
    let mut found = Errors::default();
    names::label_1035(&mut found, path, &kind.to_lowercase());
    if let Some(problem) = found.into_causes().into_iter().next() {
        let detail =
            problem.message.split_once(": ").and_then(|(_, rest)| rest.split_once(": ")).map(|(_, why)| why);
        let detail =
            format!("may have mixed case, but should otherwise match: {}", detail.unwrap_or_default());
        names::wrong(errors, path, kind, &detail);
    }
}

fn conversion(errors: &mut Errors, path: &Path<'_>, conversion: &Value) {
    if conversion.is_null() {
        return;
    }
    names::one_of(errors, &path.child("strategy"), text(conversion, "strategy"), &["None", "Webhook"]);
    let webhook = has(at(conversion, "webhook"), "clientConfig");
    match text(conversion, "strategy") {
        "Webhook" if !webhook => {
            let path = path.child("webhookClientConfig");
            errors.required(&path, "required when strategy is set to Webhook");
        }
        "None" if webhook => {
            let detail = "should not be set when strategy is not set to Webhook";
            errors.forbidden(&path.child("webhookClientConfig"), detail);
        }
        _ => {}
    }
}

/// A version that objects may still be stored in stays defined.
fn stored_versions(errors: &mut Errors, definition: &Value) {
    let path = Path::root("status");
    let path = path.child("storedVersions");
    let stored: Vec<&str> = texts(at(definition, "status"), "storedVersions").collect();
    let versions = list(at(definition, "spec"), "versions");
    let shown = at(at(definition, "status"), "storedVersions");
    if stored.is_empty() {
        return errors.invalid(&path, shown, "must have at least one stored version");
    }
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.contains(&name) {
            errors.invalid(&path, shown, &format!("must have the storage version {name}"));
        }
    }
    for (i, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            names::wrong(errors, &path.index(i), name, &detail);
        }
    }
}

/// What is served is found under these names and nowhere else.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::root("spec");
    let (now, before) = (at(new, "spec"), at(old, "spec"));
    let established = list(at(old, "status"), "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    if established {
        if text(now, "scope") != text(before, "scope") {
            errors.invalid(&path.child("scope"), at(now, "scope"), "field is immutable");
        }
        if text(at(now, "names"), "kind") != text(at(before, "names"), "kind") {
            errors.invalid(
                &path.child("names").child("kind"),
                at(at(now, "names"), "kind"),
                "field is immutable",
            );
        }
    }
    if text(now, "group") != text(before, "group") {
        errors.invalid(&path.child("group"), at(now, "group"), "field is immutable");
    }
    let plural = at(at(now, "names"), "plural");
    if plural != at(at(before, "names"), "plural") {
        errors.invalid(&path.child("names").child("plural"), plural, "field is immutable");
    }
}
