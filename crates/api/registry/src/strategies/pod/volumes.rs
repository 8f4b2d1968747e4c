//! A pod's volumes: exactly one source each, and what each source needs.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{env, mounts};
use crate::strategies::amounts::amount;
use crate::strategies::claim;
use crate::strategies::fields::{at, has, int, list, number, text};
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
        "secret" => files(errors, &path, source, "secretName"),
        "configMap" => files(errors, &path, source, "name"),
        "downwardAPI" => {
            mode(errors, &path, source, "defaultMode");
            list(source, "items").iter().for_each(|file| downward_file(errors, &path, file));
        }
        "projected" => projected(errors, &path, source),
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

/// Disks that pods and PersistentVolumes both know.
pub(in crate::strategies) fn disk(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Value) {
    match kind {
        "nfs" => {
            needs(errors, path, source, &["server", "path"]);
            if !text(source, "path").starts_with('/') {
                names::wrong(errors, &path.child("path"), text(source, "path"), "must be an absolute path");
            }
        }
        "iscsi" => iscsi(errors, path, source),
        "fc" => fibre_channel(errors, path, source),
        "gcePersistentDisk" => partitioned(errors, path, source, "pdName"),
        "awsElasticBlockStore" => partitioned(errors, path, source, "volumeID"),
        "glusterfs" => needs(errors, path, source, &["endpoints", "path"]),
        "cinder" | "portworxVolume" => needs(errors, path, source, &["volumeID"]),
        "quobyte" => needs(errors, path, source, &["registry", "volume"]),
        "flexVolume" => needs(errors, path, source, &["driver"]),
        "azureFile" => needs(errors, path, source, &["secretName", "shareName"]),
        "azureDisk" => needs(errors, path, source, &["diskName", "diskURI"]),
        "vsphereVolume" => needs(errors, path, source, &["volumePath"]),
        "photonPersistentDisk" => needs(errors, path, source, &["pdID"]),
        "scaleIO" => needs(errors, path, source, &["gateway", "system", "volumeName"]),
        "storageos" => needs(errors, path, source, &["volumeName"]),
        "cephfs" | "rbd" => {
            if list(source, "monitors").is_empty() {
                errors.required(&path.child("monitors"), "");
            }
            if kind == "rbd" {
                needs(errors, path, source, &["image"]);
            }
        }
        "flocker" => {
            let (name, uuid) = (text(source, "datasetName"), text(source, "datasetUUID"));
            if name.is_empty() && uuid.is_empty() {
                errors.required(path, "one of datasetName and datasetUUID is required");
            }
        }
        _ => {}
    }
}

fn partitioned(errors: &mut Errors, path: &Path<'_>, source: &Value, name: &str) {
    needs(errors, path, source, &[name]);
    let partition = number(source, "partition");
    if !(0..=255).contains(&partition) {
        errors.invalid(&path.child("partition"), &partition.into(), "must be between 0 and 255, inclusive");
    }
}

fn iscsi(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    needs(errors, path, source, &["targetPortal", "iqn"]);
    let name = text(source, "iqn");
    if !name.is_empty() && !["iqn", "eui", "naa"].iter().any(|start| name.starts_with(start)) {
        names::wrong(errors, &path.child("iqn"), name, "must be valid format starting with iqn, eui, or naa");
    }
    names::between(errors, &path.child("lun"), number(source, "lun"), 0, 255);
    let secured =
        ["chapAuthDiscovery", "chapAuthSession"].iter().any(|field| at(source, field) == &Value::Bool(true));
    if secured && !has(source, "secretRef") {
        errors.required(&path.child("secretRef"), "");
    }
}

fn fibre_channel(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    let (targets, ids) = (list(source, "targetWWNs"), list(source, "wwids"));
    let at_targets = path.child("targetWWNs");
    if targets.is_empty() && ids.is_empty() {
        errors.required(&at_targets, "must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() && !ids.is_empty() {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        errors.invalid(&at_targets, at(source, "targetWWNs"), detail);
    }
    if !targets.is_empty() {
        match int(source, "lun") {
            None => errors.required(&path.child("lun"), "lun is required if targetWWNs is specified"),
            Some(lun) => names::between(errors, &path.child("lun"), lun, 0, 255),
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

fn mode(errors: &mut Errors, path: &Path<'_>, source: &Value, field: &str) {
    if let Some(bits) = int(source, field)
        && !(0..=0o777).contains(&bits)
    {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&path.child(field), &bits.into(), detail);
    }
}

/// Files made of a Secret's or ConfigMap's keys.
fn files(errors: &mut Errors, path: &Path<'_>, source: &Value, name: &str) {
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
fn projected(errors: &mut Errors, path: &Path<'_>, source: &Value) {
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
                files(errors, &at_kind, found, "name");
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
