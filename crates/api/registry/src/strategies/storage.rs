//! Storage classes and what CSI drivers tell about themselves.

use serde_json::{Map, Value, json};

use super::fields::{fill, list, open, put};
use crate::strategy::Strategy;

struct StorageClasses;
struct Drivers;
struct Nodes;
struct Capacities;
struct Attachments;
struct AttributesClasses;

pub(super) fn strategy(kind: &str) -> &'static dyn Strategy {
    match kind {
        "StorageClass" => &StorageClasses,
        "CSIDriver" => &Drivers,
        "CSINode" => &Nodes,
        "CSIStorageCapacity" => &Capacities,
        "VolumeAttachment" => &Attachments,
        _ => &AttributesClasses,
    }
}

impl Strategy for StorageClasses {
    fn default(&self, class: &mut Value) {
        fill(class, "reclaimPolicy", "Delete");
        fill(class, "volumeBindingMode", "Immediate");
    }
}

impl Strategy for Drivers {
    fn default(&self, driver: &mut Value) {
        let Some(spec) = open(driver, "spec") else { return };
        fill(spec, "attachRequired", true);
        for off in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            fill(spec, off, false);
        }
        fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        if list(spec, "volumeLifecycleModes").is_empty() {
            put(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Nodes {
    fn default(&self, node: &mut Value) {
        if let Some(spec) = open(node, "spec") {
            fill(spec, "drivers", Value::Null);
        }
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Capacities {
    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Attachments {
    fn default(&self, attachment: &mut Value) {
        fill(attachment, "spec", Map::new());
        fill(attachment, "status", json!({"attached": false}));
    }

    fn prepare_create(&self, attachment: &mut Value) {
        fill(attachment, "status", json!({"attached": false}));
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for AttributesClasses {}
