//! PersistentVolumes.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, fill, fill_text, has, map, open, put, same, text};
use super::pod::defaults::network_disk;
use super::pod::{scheduling, volumes};
use super::{amounts, claim, names};
use crate::strategy::Strategy;

pub(super) struct Volumes;

impl Strategy for Volumes {
    fn default(&self, volume: &mut Value) {
        if let Some(status) = open(volume, "status") {
            fill_text(status, "phase", "Pending");
        }
        let Some(spec) = open(volume, "spec") else { return };
        fill_text(spec, "persistentVolumeReclaimPolicy", "Retain");
        fill(spec, "volumeMode", "Filesystem");
        let Value::Object(fields) = spec else { return };
        for (name, source) in fields {
            match name.as_str() {
                "hostPath" => fill(source, "type", ""),
                // A volume names its own secret's namespace and needs no default file system, unlike a pod's disk.
                _ => network_disk(name, source),
            }
        }
    }

    fn prepare_create(&self, volume: &mut Value) {
        // It enters its first phase when it is made.
        let since = at(at(volume, "metadata"), "creationTimestamp").clone();
        put(volume, "status", json!({"phase": "Pending", "lastPhaseTransitionTime": since}));
    }

    fn validate(&self, volume: &Value, errors: &mut Errors) {
        spec(errors, &Path::root("spec"), at(volume, "spec"), false);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let (now, before) = (at(new, "spec"), at(old, "spec"));
        let changed = SOURCES.iter().any(|source| !same(at(now, source), at(before, source)));
        if changed {
            let detail = "spec.persistentvolumesource is immutable after creation";
            errors.forbidden(&Path::root("spec").child("persistentvolumesource"), detail);
        }
        if !same(at(now, "volumeMode"), at(before, "volumeMode")) {
            errors.invalid(&Path::root("volumeMode"), at(now, "volumeMode"), "field is immutable");
        }
        if has(before, "nodeAffinity") && !same(at(now, "nodeAffinity"), at(before, "nodeAffinity")) {
            errors.invalid(&Path::root("nodeAffinity"), at(now, "nodeAffinity"), "field is immutable");
        }
    }
}

/// In the order in which they are looked at.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// A volume's spec; `inline` is one inside a VolumeAttachment, which has no size of its own.
pub(super) fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Value, inline: bool) {
    let modes = path.child("accessModes");
    if super::fields::list(spec, "accessModes").is_empty() {
        errors.required(&modes, "");
    }
    claim::access_modes(errors, &modes, spec);
    if !inline {
        capacity(errors, &path.child("capacity"), spec);
    }
    let policy = at(spec, "persistentVolumeReclaimPolicy");
    let policies = &["Delete", "Recycle", "Retain"];
    names::one_of_if_set(errors, &path.child("persistentVolumeReclaimPolicy"), policy, policies);
    if has(spec, "nodeAffinity") {
        let path = path.child("nodeAffinity");
        match at(at(spec, "nodeAffinity"), "required") {
            Value::Null => errors.required(&path.child("required"), "must specify required node constraints"),
            required => scheduling::node_selector(errors, &path.child("required"), required),
        }
    }
    source(errors, path, spec);
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        names::subdomain(errors, &path.child("storageClassName"), class);
    }
    names::one_of_if_set(errors, &path.child("volumeMode"), at(spec, "volumeMode"), &["Block", "Filesystem"]);
    if let Some(class) = at(spec, "volumeAttributesClassName").as_str() {
        let at_class = path.child("volumeAttributesClassName");
        if class.is_empty() {
            errors.required(&at_class, "an empty string is disallowed");
        } else {
            names::subdomain(errors, &at_class, class);
        }
        if !has(spec, "csi") {
            errors.required(&path.child("csi"), "has to be specified when using volumeAttributesClassName");
        }
    }
}

fn capacity(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let sizes = map(spec, "capacity");
    if sizes.is_empty() {
        errors.required(path, "");
    }
    if !sizes.contains_key("storage") || sizes.len() > 1 {
        errors.not_supported(path, at(spec, "capacity"), &["storage"]);
    }
    for (name, size) in sizes {
        let path = path.key(name);
        let amount = amounts::amount(size);
        if amount.is_negative() {
            errors.invalid(&path, &amount.value().into(), "must be a valid resource quantity");
        }
        amounts::positive(errors, &path, size);
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let mut found = false;
    for kind in SOURCES.iter().copied().filter(|kind| has(spec, kind)) {
        let (path_kind, source) = (path.child(kind), at(spec, kind));
        if found {
            errors.forbidden(&path_kind, "may not specify more than 1 volume type");
            continue;
        }
        found = true;
        match kind {
            "hostPath" => volumes::host_path(errors, &path_kind, source),
            "csi" => csi(errors, &path_kind, source),
            "local" => {
                match text(source, "path") {
                    "" => errors.required(&path_kind.child("path"), ""),
                    place => volumes::no_backsteps(errors, &path_kind.child("path"), place),
                }
                if !has(spec, "nodeAffinity") {
                    errors.required(&path.child("nodeAffinity"), "Local volume requires node affinity");
                }
            }
            _ => volumes::disk(errors, &path_kind, kind, source),
        }
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

fn csi(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    const SECRETS: &[&str] = &[
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    volumes::csi_driver(errors, &path.child("driver"), text(source, "driver"));
    if text(source, "volumeHandle").is_empty() {
        errors.required(&path.child("volumeHandle"), "");
    }
    for field in SECRETS.iter().copied().filter(|field| has(source, field)) {
        let (path, secret) = (path.child(field), at(source, field));
        match text(secret, "name") {
            "" => errors.required(&path.child("name"), ""),
            name => names::subdomain(errors, &path.child("name"), name),
        }
        match text(secret, "namespace") {
            "" => errors.required(&path.child("namespace"), ""),
            name => names::label(errors, &path.child("namespace"), name),
        }
    }
}
