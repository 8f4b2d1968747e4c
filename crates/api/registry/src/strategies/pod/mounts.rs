//! Where a container sees its volumes, and the paths that may be used for it.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::Around;
use crate::strategies::fields::{at, flag, has, list, text};
use crate::strategies::names;

pub(super) fn volumes(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    let mounts = list(container, "volumeMounts");
    let devices = list(container, "volumeDevices");
    for (i, mount) in mounts.iter().enumerate() {
        let one = path.index(i);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.required(&one.child("name"), "");
        }
        if around.volume(name).is_none() {
            errors.not_found(&one.child("name"), &name.into());
        }
        if place.is_empty() {
            errors.required(&one.child("mountPath"), "");
        }
        if mounts.iter().take(i).any(|other| text(other, "mountPath") == place) {
            names::wrong(errors, &one.child("mountPath"), place, "must be unique");
        }
        if devices.iter().any(|device| text(device, "name") == name) {
            names::wrong(errors, &one.child("name"), name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| text(device, "devicePath") == place) {
            let detail = "must not already exist as a path in volumeDevices";
            names::wrong(errors, &one.child("mountPath"), place, detail);
        }
        sub_paths(errors, path, &one, mount);
        propagation(errors, path, mount, container);
    }
}

fn sub_paths(errors: &mut Errors, path: &Path<'_>, one: &Path<'_>, mount: &Value) {
    let (plain, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !plain.is_empty() {
        descending(errors, &path.child("subPath"), plain);
    }
    if !expression.is_empty() {
        if !plain.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            names::wrong(errors, &one.child("subPathExpr"), expression, detail);
        }
        descending(errors, &path.child("subPathExpr"), expression);
    }
}

fn propagation(errors: &mut Errors, path: &Path<'_>, mount: &Value, container: &Value) {
    let how = at(mount, "mountPropagation");
    let at_path = path.child("mountPropagation");
    names::one_of_if_set(errors, &at_path, how, &["Bidirectional", "HostToContainer", "None"]);
    if how == "Bidirectional" && !flag(at(container, "securityContext"), "privileged") {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.forbidden(&at_path, detail);
    }
    let recursive = at(mount, "recursiveReadOnly");
    let at_path = path.child("recursiveReadOnly");
    names::one_of_if_set(errors, &at_path, recursive, &["Disabled", "Enabled", "IfPossible"]);
    if recursive == "Enabled" || recursive == "IfPossible" {
        if !flag(mount, "readOnly") {
            errors.forbidden(&at_path, "may only be specified when readOnly is true");
        }
        if !how.is_null() && how != "None" {
            errors
                .forbidden(&at_path, "may only be specified when mountPropagation is None or not specified");
        }
    }
}

/// Raw block devices come from claims alone.
pub(super) fn devices(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    let devices = list(container, "volumeDevices");
    let mounts = list(container, "volumeMounts");
    for (i, device) in devices.iter().enumerate() {
        let path = path.index(i);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        let (at_name, at_place) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            errors.required(&at_name, "");
        }
        let before = || devices.iter().take(i);
        if !name.is_empty() && before().any(|other| text(other, "name") == name) {
            names::wrong(errors, &at_name, name, "must be unique");
        }
        match around.volume(name) {
            None => errors.not_found(&at_name, &name.into()),
            Some(volume) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                names::wrong(errors, &at_name, name, detail);
            }
            Some(_) => {}
        }
        if place.is_empty() {
            errors.required(&at_place, "");
        }
        if before().any(|other| text(other, "devicePath") == place) {
            names::wrong(errors, &at_place, place, "must be unique");
        }
        if place.split('/').any(|part| part == "..") {
            names::wrong(errors, &at_place, place, "can not contain backsteps ('..')");
        }
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            names::wrong(errors, &at_name, name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == place) {
            names::wrong(errors, &at_place, place, "must not already exist as a path in volumeMounts");
        }
    }
}

pub(super) fn no_backsteps(errors: &mut Errors, path: &Path<'_>, target: &str) {
    if target.split('/').any(|part| part == "..") {
        names::wrong(errors, path, target, "must not contain '..'");
    }
}

/// A path below some folder.
pub(super) fn descending(errors: &mut Errors, path: &Path<'_>, target: &str) {
    if target.starts_with('/') {
        names::wrong(errors, path, target, "must be a relative path");
    }
    no_backsteps(errors, path, target);
}

/// A path below a volume that is written by us: names that start with two dots are ours.
pub(super) fn not_reserved(errors: &mut Errors, path: &Path<'_>, target: &str) {
    descending(errors, path, target);
    if target.starts_with("..") && !target.starts_with("../") {
        names::wrong(errors, path, target, "must not start with '..'");
    }
}
