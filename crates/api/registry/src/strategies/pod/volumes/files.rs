//! Volumes whose files come from the API: secrets, config maps, tokens and facts about the pod.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::needs;
use crate::strategies::fields::{at, has, int, list, number, text};
use crate::strategies::names;
use crate::strategies::pod::{env, mounts};

fn mode(errors: &mut Errors, path: &Path<'_>, source: &Value, field: &str) {
    if let Some(bits) = int(source, field)
        && !(0..=0o777).contains(&bits)
    {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&path.child(field), &bits.into(), detail);
    }
}

/// Files made of a Secret's or ConfigMap's keys.
pub(super) fn of_keys(errors: &mut Errors, path: &Path<'_>, source: &Value, name: &str) {
    needs(errors, path, source, &[name]);
    mode(errors, path, source, "defaultMode");
    for (i, item) in list(source, "items").iter().enumerate() {
        key_to_path(errors, &path.child("items").index(i), item);
    }
}

fn key_to_path(errors: &mut Errors, path: &Path<'_>, item: &Value) {
    needs(errors, path, item, &["key", "path"]);
    mounts::not_reserved(errors, &path.child("path"), text(item, "path"));
    mode(errors, path, item, "mode");
}

/// Files made of what the pod's own fields say.
pub(super) fn of_pod(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    mode(errors, path, source, "defaultMode");
    list(source, "items").iter().for_each(|file| downward_file(errors, path, file));
}

fn downward_file(errors: &mut Errors, path: &Path<'_>, file: &Value) {
    needs(errors, path, file, &["path"]);
    mounts::not_reserved(errors, &path.child("path"), text(file, "path"));
    let (field, resource) = (at(file, "fieldRef"), at(file, "resourceFieldRef"));
    if !field.is_null() {
        env::field_ref(errors, &path.child("fieldRef"), field, env::FILE_FIELDS);
        if !resource.is_null() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            names::wrong(errors, path, "resource", detail);
        }
    } else if !resource.is_null() {
        env::resource_ref(errors, &path.child("resourceFieldRef"), resource, true);
    } else {
        errors.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    mode(errors, path, file, "mode");
}

/// One folder made of several sources, which must not write the same file.
pub(super) fn projected(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    mode(errors, path, source, "defaultMode");
    let mut taken: Vec<&str> = Vec::new();
    for (i, part) in list(source, "sources").iter().enumerate() {
        let at_sources = path.child("sources");
        let part_path = at_sources.index(i);
        let mut kinds = 0;
        for kind in ["secret", "configMap", "downwardAPI"] {
            let found = at(part, kind);
            if found.is_null() {
                continue;
            }
            kinds += 1;
            let at_kind = part_path.child(kind);
            if kind == "downwardAPI" {
                list(found, "items").iter().for_each(|file| downward_file(errors, &at_kind, file));
            } else {
                of_keys(errors, &at_kind, found, "name");
            }
            for item in list(found, "items") {
                let file = text(item, "path");
                if !file.is_empty() && taken.contains(&file) {
                    let shown = if kind == "downwardAPI" { file } else { text(found, "name") };
                    names::wrong(errors, path, shown, "conflicting duplicate paths");
                }
                taken.push(file);
            }
        }
        if has(part, "serviceAccountToken") {
            kinds += 1;
            token(errors, path, &part_path.child("serviceAccountToken"), at(part, "serviceAccountToken"));
        }
        kinds += ["clusterTrustBundle", "podCertificate"].iter().filter(|kind| has(part, kind)).count();
        if kinds > 1 {
            errors.forbidden(&part_path, "may not specify more than 1 volume type per source");
        }
    }
}

fn token(errors: &mut Errors, volume: &Path<'_>, path: &Path<'_>, token: &Value) {
    let seconds = number(token, "expirationSeconds");
    if seconds < 600 {
        let detail = "may not specify a duration less than 10 minutes";
        errors.invalid(&path.child("expirationSeconds"), &seconds.into(), detail);
    }
    if seconds > 1 << 32 {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(&path.child("expirationSeconds"), &seconds.into(), detail);
    }
    match text(token, "path") {
        "" => errors.required(&volume.child("path"), ""),
        file => mounts::not_reserved(errors, &volume.child("path"), file),
    }
}
