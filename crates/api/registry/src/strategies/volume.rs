//! PersistentVolumes.

use serde_json::{Value, json};

use super::fields::{fill, fill_text, open, put};
use super::pod::defaults::network_disk;
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
        put(volume, "status", json!({"phase": "Pending"}));
    }
}
