//! A pod's volumes: exactly one source each, and what each source needs.

mod disks;
mod files;

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

pub(in crate::strategies) use self::disks::disk;
use super::mounts;
use crate::strategies::amounts::amount;
use crate::strategies::claim;
use crate::strategies::fields::{at, has, list, text};
use crate::strategies::names;

/// The sources in the order in which they are looked at: the first one counts, the others are too many.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Checks all volumes and returns those without mistakes.
pub(super) fn all<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &'a Value,
    pod: &str,
) -> Vec<(&'a str, &'a Value)> {
    let volumes = list(spec, "volumes");
    let mut good: Vec<(&str, &Value)> = Vec::with_capacity(volumes.len());
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let name = text(volume, "name");
        let before = errors.len();
        source(errors, &path, volume, pod);
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            names::label(errors, &path.child("name"), name);
        }
        if good.iter().any(|(known, _)| *known == name) {
            errors.duplicate(&path.child("name"), &name.into());
        }
        if errors.len() == before {
            good.push((name, volume));
        }
    }
    good
}

fn source(errors: &mut Errors, path: &Path<'_>, volume: &Value, pod: &str) {
    let mut found = false;
    let Some(fields) = volume.as_object() else { return };
    // Most volumes have a name and one source: nothing else needs to be looked for.
    if fields.len() == 2 && fields.contains_key("name") {
        for (name, source) in fields {
            if name != "name" && SOURCES.contains(&name.as_str()) {
                return of_kind(errors, path, name, source, volume, pod);
            }
        }
    }
    for name in SOURCES.iter().copied().filter(|name| has(volume, name)) {
        if found {
            errors.forbidden(&path.child(name), "may not specify more than 1 volume type");
        } else {
            found = true;
            of_kind(errors, path, name, at(volume, name), volume, pod);
        }
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

fn of_kind(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Value, volume: &Value, pod: &str) {
    let volume_path = path;
    let path = path.child(kind);
    match kind {
        "emptyDir" => {
            if has(source, "sizeLimit") && amount(at(source, "sizeLimit")).is_negative() {
                errors
                    .forbidden(&path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => host_path(errors, &path, source),
        "secret" => files::of_keys(errors, &path, source, "secretName"),
        "configMap" => files::of_keys(errors, &path, source, "name"),
        "downwardAPI" => files::of_pod(errors, &path, source),
        "projected" => files::projected(errors, &path, source),
        "persistentVolumeClaim" => needs(errors, &path, source, &["claimName"]),
        "ephemeral" => ephemeral(errors, volume_path, &path, source, volume, pod),
        "csi" => {
            csi_driver(errors, &path.child("driver"), text(source, "driver"));
            if has(source, "nodePublishSecretRef")
                && text(at(source, "nodePublishSecretRef"), "name").is_empty()
            {
                errors.required(&path.child("nodePublishSecretRef").child("name"), "");
            }
        }
        "image" => needs(errors, &path, source, &["reference"]),
        "gitRepo" => {
            needs(errors, &path, source, &["repository"]);
            mounts::descending(errors, &path.child("directory"), text(source, "directory"));
        }
        _ => disk(errors, &path, kind, source),
    }
}

/// Strings that a source cannot do without.
fn needs(errors: &mut Errors, path: &Path<'_>, source: &Value, fields: &[&str]) {
    for field in fields {
        if text(source, field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
}

pub(in crate::strategies) fn no_backsteps(errors: &mut Errors, path: &Path<'_>, target: &str) {
    mounts::no_backsteps(errors, path, target);
}

pub(in crate::strategies) fn host_path(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let target = text(source, "path");
    if target.is_empty() {
        return errors.required(&path.child("path"), "");
    }
    mounts::no_backsteps(errors, &path.child("path"), target);
    names::one_of_if_set(errors, &path.child("type"), at(source, "type"), TYPES);
}

/// A CSI driver's name: a domain, in any case.
pub(in crate::strategies) fn csi_driver(errors: &mut Errors, path: &Path<'_>, driver: &str) {
    if driver.is_empty() {
        return errors.required(path, "");
    }
    if driver.len() > 63 {
        errors.too_long(path, 63);
    }
    if !names::is_subdomain(&driver.to_lowercase()) {
        names::subdomain(errors, path, driver);
    }
}

fn ephemeral(
    errors: &mut Errors,
    at_volume: &Path<'_>,
    path: &Path<'_>,
    source: &Value,
    volume: &Value,
    pod: &str,
) {
    let template = at(source, "volumeClaimTemplate");
    if template.is_null() {
        return errors.required(&path.child("volumeClaimTemplate"), "");
    }
    let path = path.child("volumeClaimTemplate");
    names::annotations(errors, &path.child("metadata").child("annotations"), at(template, "metadata"));
    names::labels(errors, &path.child("metadata").child("labels"), at(template, "metadata"), "labels");
    claim::spec(errors, &path.child("spec"), at(template, "spec"));
    let (name, volume_name) = (pod, text(volume, "name"));
    if !name.is_empty() && !volume_name.is_empty() && name.len() + volume_name.len() + 1 > 253 {
        let claim = format!("{name}-{volume_name}");
        let detail = format!("PVC name {claim:?}: must be no more than 253 characters");
        names::wrong(errors, &at_volume.child("name"), volume_name, &detail);
    }
}
