//! Disks that somebody else provides: over the network, or by a cloud.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::needs;
use crate::strategies::fields::{at, has, int, list, number, text};
use crate::strategies::names;

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
