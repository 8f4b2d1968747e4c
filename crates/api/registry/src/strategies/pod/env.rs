//! Environment variables of a container, and the fields of a pod that they and downward volumes may read.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::Around;
use super::mounts;
use crate::strategies::fields::{at, has, list, text};
use crate::strategies::names;

/// Fields of the pod that a variable may show.
const VARIABLE_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of the pod that a file may show.
pub(super) const FILE_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// Every field that can be named at all.
const KNOWN_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "spec.host",
];
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn variables(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    for (i, variable) in list(container, "env").iter().enumerate() {
        let path = path.index(i);
        match text(variable, "name") {
            "" => errors.required(&path.child("name"), ""),
            name => names::variable(errors, &path.child("name"), name),
        }
        if has(variable, "valueFrom") {
            value_from(errors, &path.child("valueFrom"), variable, around);
        }
    }
}

fn value_from(errors: &mut Errors, path: &Path<'_>, variable: &Value, around: &Around<'_>) {
    let source = at(variable, "valueFrom");
    let mut sources = 0;
    if has(source, "fieldRef") {
        sources += 1;
        field_ref(errors, &path.child("fieldRef"), at(source, "fieldRef"), VARIABLE_FIELDS);
    }
    if has(source, "resourceFieldRef") {
        sources += 1;
        resource_ref(errors, &path.child("resourceFieldRef"), at(source, "resourceFieldRef"), false);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if has(source, field) {
            sources += 1;
            key_ref(errors, &path.child(field), at(source, field));
        }
    }
    if has(source, "fileKeyRef") {
        sources += 1;
        file_ref(errors, &path.child("fileKeyRef"), at(source, "fileKeyRef"), around);
    }
    let detail = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !text(variable, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    names::wrong(errors, path, "", detail);
}

/// A field of the pod, with a subscript for one label or annotation: `metadata.labels['app']`.
pub(super) fn field_ref(errors: &mut Errors, path: &Path<'_>, reference: &Value, allowed: &[&str]) {
    let field = text(reference, "fieldPath");
    if text(reference, "apiVersion").is_empty() {
        return errors.required(&path.child("apiVersion"), "");
    }
    if field.is_empty() {
        return errors.required(&path.child("fieldPath"), "");
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    let name = subscript.map_or(field, |(name, _)| name);
    let at_path = path.child("fieldPath");
    if !KNOWN_FIELDS.contains(&name) {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        return names::wrong(errors, &at_path, field, &detail);
    }
    match (name, subscript) {
        ("metadata.annotations", Some((_, key))) => names::qualified(errors, path, &key.to_lowercase()),
        ("metadata.labels", Some((_, key))) => names::qualified(errors, path, key),
        (_, Some(_)) => names::wrong(errors, path, name, "does not support subscript"),
        (_, None) if !allowed.contains(&name) => errors.not_supported(&at_path, &name.into(), allowed),
        _ => {}
    }
}

/// A container's own request or limit.
pub(super) fn resource_ref(errors: &mut Errors, path: &Path<'_>, reference: &Value, in_volume: bool) {
    let resource = text(reference, "resource");
    if in_volume && text(reference, "containerName").is_empty() {
        errors.required(&path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !RESOURCES.contains(&resource)
        && !resource.starts_with("requests.hugepages-")
        && !resource.starts_with("limits.hugepages-")
    {
        errors.not_supported(&path.child("resource"), &resource.into(), RESOURCES);
    }
    divisor(errors, path, reference);
}

fn divisor(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    const BYTES: &[&str] =
        &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    const CPUS: &[&str] = &["1m", "1"];
    let divisor = match at(reference, "divisor") {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if divisor == "0" || divisor.is_empty() {
        return;
    }
    let resource = text(reference, "resource");
    let (allowed, called) = match resource.split_once('.').map_or(resource, |(_, name)| name) {
        "cpu" => (CPUS, "cpu"),
        "memory" => (BYTES, "memory"),
        "ephemeral-storage" => (BYTES, "local ephemeral storage"),
        name if name.starts_with("hugepages-") => (BYTES, "hugepages"),
        _ => return,
    };
    if !allowed.contains(&divisor.as_str()) {
        let values = if called == "cpu" { "1m and 1".to_owned() } else { BYTES.join(", ") };
        let detail = format!("only divisor's values {values} are supported with the {called} resource");
        names::wrong(errors, &path.child("divisor"), resource, &detail);
    }
}

fn key_ref(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    names::subdomain(errors, &path.child("name"), text(reference, "name"));
    match text(reference, "key") {
        "" => errors.required(&path.child("key"), ""),
        key => names::config_key(errors, &path.child("key"), key),
    }
}

fn file_ref(errors: &mut Errors, path: &Path<'_>, reference: &Value, around: &Around<'_>) {
    match text(reference, "key") {
        "" => errors.required(&path.child("key"), ""),
        key => names::variable(errors, &path.child("key"), key),
    }
    match text(reference, "volumeName") {
        "" => errors.required(&path.child("volumeName"), ""),
        name => {
            names::label(errors, &path.child("volumeName"), name);
            let path = path.child("volumeName");
            match list(around.spec, "volumes").iter().find(|volume| text(volume, "name") == name) {
                None => errors.not_found(&path, &name.into()),
                Some(volume) if !has(volume, "emptyDir") => {
                    names::wrong(errors, &path, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
    match text(reference, "path") {
        "" => errors.required(&path.child("path"), ""),
        inside => mounts::no_backsteps(errors, &path.child("path"), inside),
    }
}

pub(super) fn sources(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    for (i, source) in list(container, "envFrom").iter().enumerate() {
        let one = path.index(i);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            names::variable(errors, &one.child("prefix"), prefix);
        }
        let mut found = 0;
        for field in ["configMapRef", "secretRef"] {
            if has(source, field) {
                found += 1;
                let path = one.child(field);
                match text(at(source, field), "name") {
                    "" => errors.required(&path.child("name"), ""),
                    // The name may be the prefix of a generated one, which ends in a dash.
                    name => {
                        names::subdomain(errors, &path.child("name"), name.strip_suffix('-').unwrap_or(name))
                    }
                }
            }
        }
        match found {
            0 => names::wrong(errors, path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => names::wrong(errors, path, "", "may not have more than one field specified at a time"),
        }
    }
}
