//! Volumes, claims, storage classes and drivers as rows.

use serde_json::Value;

use super::networking::marked;
use super::{Column, Printer, age, count, flag, is_leaving, items, joined, name, text, text_or};

pub(super) fn core(kind: &str) -> Option<Printer> {
    match kind {
        "PersistentVolume" => Some(VOLUME),
        "PersistentVolumeClaim" => Some(CLAIM),
        _ => None,
    }
}

pub(super) fn printer(kind: &str) -> Option<Printer> {
    Some(match kind {
        "StorageClass" => CLASS,
        "VolumeAttributesClass" => ATTRIBUTES_CLASS,
        "VolumeAttachment" => ATTACHMENT,
        "CSINode" => CSI_NODE,
        "CSIDriver" => CSI_DRIVER,
        _ => return None,
    })
}

const VOLUME: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Capacity"),
        Column::text("Access Modes"),
        Column::text("Reclaim Policy"),
        Column::text("Status"),
        Column::text("Claim"),
        Column::text("StorageClass"),
        Column::text("VolumeAttributesClass"),
        Column::text("Reason"),
        Column::age(),
        Column::text("VolumeMode").wide(),
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let claim = &spec["claimRef"];
        let part = |field: &str| claim[field].as_str().unwrap_or_default();
        let claim =
            if claim.is_object() { format!("{}/{}", part("namespace"), part("name")) } else { String::new() };
        vec![
            name(object),
            quantity(&spec["capacity"]["storage"]),
            modes(&spec["accessModes"]).into(),
            text(&spec["persistentVolumeReclaimPolicy"]),
            phase(object),
            claim.into(),
            class(object).into(),
            text_or(&spec["volumeAttributesClassName"], "<unset>"),
            text(&status["reason"]),
            age(object, now),
            text_or(&spec["volumeMode"], "<unset>"),
        ]
    },
);

const CLAIM: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Status"),
        Column::text("Volume"),
        Column::text("Capacity"),
        Column::text("Access Modes"),
        Column::text("StorageClass"),
        Column::text("VolumeAttributesClass"),
        Column::age(),
        Column::text("VolumeMode").wide(),
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        // What a claim got is only known once it has a volume.
        let bound = spec["volumeName"].as_str().is_some_and(|volume| !volume.is_empty());
        vec![
            name(object),
            phase(object),
            text(&spec["volumeName"]),
            if bound { quantity(&status["capacity"]["storage"]) } else { "".into() },
            if bound { modes(&status["accessModes"]).into() } else { "".into() },
            class(object).into(),
            text_or(&spec["volumeAttributesClassName"], "<unset>"),
            age(object, now),
            text_or(&spec["volumeMode"], "<unset>"),
        ]
    },
);

const CLASS: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Provisioner"),
        Column::text("ReclaimPolicy"),
        Column::text("VolumeBindingMode"),
        Column::text("AllowVolumeExpansion"),
        Column::age(),
    ],
    |object, now| {
        let default = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        vec![
            marked(object, &default).into(),
            text(&object["provisioner"]),
            text_or(&object["reclaimPolicy"], "Delete"),
            text_or(&object["volumeBindingMode"], "Immediate"),
            flag(&object["allowVolumeExpansion"]).into(),
            age(object, now),
        ]
    },
);

const ATTRIBUTES_CLASS: Printer =
    Printer::new(&[Column::name(), Column::text("DriverName"), Column::age()], |object, now| {
        let name = marked(object, &["volumeattributesclass.kubernetes.io/is-default-class"]);
        vec![name.into(), text(&object["driverName"]), age(object, now)]
    });

const ATTACHMENT: Printer = Printer::new(
    &[
        Column::name(),
        Column { name: "Attacher", ..Column::name() },
        Column::text("PV"),
        Column::text("Node"),
        Column::bool("Attached"),
        Column::age(),
    ],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            text(&spec["attacher"]),
            text(&spec["source"]["persistentVolumeName"]),
            text(&spec["nodeName"]),
            flag(&object["status"]["attached"]).into(),
            age(object, now),
        ]
    },
);

const CSI_NODE: Printer =
    Printer::new(&[Column::name(), Column::int("Drivers"), Column::age()], |object, now| {
        vec![name(object), count(&object["spec"]["drivers"]).into(), age(object, now)]
    });

const CSI_DRIVER: Printer = Printer::new(
    &[
        Column::name(),
        Column::bool("AttachRequired"),
        Column::bool("PodInfoOnMount"),
        Column::bool("StorageCapacity"),
        Column::text("TokenRequests"),
        Column::bool("RequiresRepublish"),
        Column::text("Modes"),
        Column::age(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let audiences =
            items(&spec["tokenRequests"]).iter().map(|one| one["audience"].as_str().unwrap_or_default());
        let tokens =
            if spec["tokenRequests"].is_array() { joined(audiences, ",") } else { "<unset>".to_owned() };
        let modes = joined(items(&spec["volumeLifecycleModes"]).iter().filter_map(Value::as_str), ",");
        vec![
            name(object),
            spec["attachRequired"].as_bool().unwrap_or(true).into(),
            flag(&spec["podInfoOnMount"]).into(),
            flag(&spec["storageCapacity"]).into(),
            tokens.into(),
            flag(&spec["requiresRepublish"]).into(),
            if modes.is_empty() { "<none>".into() } else { modes.into() },
            age(object, now),
        ]
    },
);

fn phase(object: &Value) -> Value {
    if is_leaving(object) { "Terminating".into() } else { text(&object["status"]["phase"]) }
}

fn quantity(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.to_string().into(),
        other => text_or(other, "0"),
    }
}

/// The class by name; an annotation is how it was named before there was a field.
fn class(object: &Value) -> String {
    let old = object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    old.or(object["spec"]["storageClassName"].as_str()).unwrap_or_default().to_owned()
}

/// Access modes in their short form and fixed order, each once.
fn modes(modes: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| items(modes).iter().any(|one| one == mode);
    joined(known.into_iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short), ",")
}
