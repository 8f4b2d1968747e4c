//! Storage classes and what CSI drivers tell about themselves.

mod driver;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use super::fields::{at, fill, has, list, map, number, open, same, text, texts};
use super::pod::volumes::csi_driver;
use super::{amounts, names, volume, workload};
use crate::strategy::Strategy;

struct StorageClasses;
struct Nodes;
struct Capacities;
struct Attachments;
struct AttributesClasses;

pub(super) fn strategy(kind: &str) -> &'static dyn Strategy {
    match kind {
        "StorageClass" => &StorageClasses,
        "CSIDriver" => &driver::Drivers,
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

    fn validate(&self, class: &Value, errors: &mut Errors) {
        driver_name(errors, &Path::root("provisioner"), text(class, "provisioner"));
        parameters(errors, class);
        let policy = at(class, "reclaimPolicy");
        names::one_of_if_set(errors, &Path::root("reclaimPolicy"), policy, &["Delete", "Retain"]);
        let mode = at(class, "volumeBindingMode");
        let modes = &["Immediate", "WaitForFirstConsumer"];
        names::one_of_if_set(errors, &Path::root("volumeBindingMode"), mode, modes);
        for (i, term) in list(class, "allowedTopologies").iter().enumerate() {
            topology(errors, &Path::root("allowedTopologies").index(i), term);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            if !same(at(new, field), at(old, field)) {
                errors.invalid(&Path::root(field), at(new, field), workload::IMMUTABLE);
            }
        }
    }
}

impl Strategy for Nodes {
    fn default(&self, node: &mut Value) {
        if let Some(spec) = open(node, "spec") {
            fill(spec, "drivers", Value::Null);
        }
    }

    fn validate(&self, node: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let path = path.child("drivers");
        let drivers = list(at(node, "spec"), "drivers");
        for (i, driver) in drivers.iter().enumerate() {
            let path = path.index(i);
            let name = text(driver, "name");
            csi_driver(errors, &path.child("name"), name);
            match text(driver, "nodeID") {
                "" => errors.required(&path.child("nodeID"), ""),
                id if id.len() > 256 => {
                    names::wrong(errors, &path.child("nodeID"), id, "must be 256 characters or less");
                }
                _ => {}
            }
            let count = number(at(driver, "allocatable"), "count");
            names::not_negative(errors, &path.child("allocatable").child("count"), count);
            if drivers.iter().take(i).any(|other| text(other, "name") == name) {
                errors.duplicate(&path.child("name"), &name.into());
            }
            for key in texts(driver, "topologyKeys") {
                names::qualified(errors, &path, key);
            }
        }
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Capacities {
    fn validate(&self, capacity: &Value, errors: &mut Errors) {
        names::selector(errors, &Path::root("nodeTopology"), at(capacity, "nodeTopology"));
        names::subdomain(errors, &Path::root("storageClassName"), text(capacity, "storageClassName"));
        let size = at(capacity, "capacity");
        if !size.is_null() && amounts::amount(size).is_negative() {
            let detail = "must be greater than or equal to 0";
            errors.invalid(&Path::root("capacity"), &amounts::shown(size), detail);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        for field in ["nodeTopology", "storageClassName"] {
            if !same(at(new, field), at(old, field)) {
                errors.invalid(&Path::root(field), at(new, field), workload::IMMUTABLE);
            }
        }
    }

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

    fn validate(&self, attachment: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(attachment, "spec"));
        csi_driver(errors, &path.child("attacher"), text(spec, "attacher"));
        let (at_source, source) = (path.child("source"), at(spec, "source"));
        let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        match (has(source, "inlineVolumeSpec"), has(source, "persistentVolumeName")) {
            (false, false) => errors.required(&at_source, detail),
            (true, true) => errors.forbidden(&at_source, detail),
            (true, false) => {
                volume::spec(
                    errors,
                    &at_source.child("inlineVolumeSpec"),
                    at(source, "inlineVolumeSpec"),
                    true,
                );
            }
            (false, true) => match text(source, "persistentVolumeName") {
                "" => {
                    let detail = "must specify non empty persistentVolumeName";
                    errors.required(&at_source.child("persistentVolumeName"), detail);
                }
                name => names::subdomain(errors, &Path::root("spec.source.persistentVolumeName"), name),
            },
        }
        names::subdomain(errors, &path.child("nodeName"), text(spec, "nodeName"));
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if !same(at(new, "spec"), at(old, "spec")) {
            errors.invalid(&Path::root("spec"), at(new, "spec"), workload::IMMUTABLE);
        }
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for AttributesClasses {
    fn validate(&self, class: &Value, errors: &mut Errors) {
        driver_name(errors, &Path::root("driverName"), text(class, "driverName"));
        parameters(errors, class);
        if map(class, "parameters").is_empty() {
            errors.required(&Path::root("parameters"), "must contain at least one key/value pair");
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        for field in ["driverName", "parameters"] {
            if !same(at(new, field), at(old, field)) {
                errors.forbidden(&Path::root(field), &format!("updates to {field} are forbidden."));
            }
        }
    }
}

fn driver_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
    } else {
        names::qualified(errors, path, &name.to_lowercase());
    }
}

fn parameters(errors: &mut Errors, class: &Value) {
    const MOST: usize = 512;
    const MOST_BYTES: usize = 256 * 1024;
    let path = Path::root("parameters");
    let parameters = map(class, "parameters");
    if parameters.len() > MOST {
        errors.too_long(&path, MOST);
    }
    let mut size = 0;
    for (key, value) in parameters {
        if key.is_empty() {
            names::wrong(errors, &path, key, "field can not be empty.");
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MOST_BYTES {
        errors.too_long(&path, MOST_BYTES);
    }
}

fn topology(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    let expressions = list(term, "matchLabelExpressions");
    for (i, expression) in expressions.iter().enumerate() {
        let path = path.child("matchLabelExpressions");
        let path = path.index(i);
        let (key, values) = (text(expression, "key"), list(expression, "values"));
        if values.is_empty() {
            errors.required(&path.child("values"), "");
        }
        for (j, value) in values.iter().enumerate() {
            if values.iter().take(j).any(|other| other == value) {
                errors.duplicate(&path.child("values").index(j), value);
            }
        }
        names::qualified(errors, &path.child("key"), key);
        if expressions.iter().take(i).any(|other| text(other, "key") == key) {
            errors.duplicate(&path.child("key"), &key.into());
        }
    }
}
