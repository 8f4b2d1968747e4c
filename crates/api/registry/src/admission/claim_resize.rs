//! A claim grows only where its class says that volumes can. That it must be bound is a rule of the kind itself.

use kedge_kinds::Status;
use kedge_kinds::quantity::Quantity;
use serde_json::Value;

use super::{Operation, Plugin, View, forbidden};
use crate::object;

const OLD_NAME: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) struct PersistentVolumeClaimResize;

impl Plugin for PersistentVolumeClaimResize {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.operation == Operation::Update && view.is("", "PersistentVolumeClaim")
    }

    fn validate(&self, view: &View<'_>, claim: &Value, old: Option<&Value>) -> Result<(), Status> {
        let Some(old) = old.filter(|old| size(claim) > size(old)) else { return Ok(()) };
        let name = class(claim);
        let class =
            if name.is_empty() || name != class(old) { None } else { view.other("storageclasses", name)? };
        match class.and_then(|class| class.get("allowVolumeExpansion")?.as_bool()) {
            Some(true) => Ok(()),
            _ => {
                let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc \
                           must support resize";
                Err(forbidden(&view.at.kind, claim, why))
            }
        }
    }
}

fn size(claim: &Value) -> Quantity {
    let size = object::at(claim, &["spec", "resources", "requests", "storage"]).and_then(Value::as_str);
    size.and_then(|size| size.parse().ok()).unwrap_or_default()
}

fn class(claim: &Value) -> &str {
    let annotated = object::meta(claim, "annotations").and_then(|all| all.get(OLD_NAME));
    let class = annotated.or_else(|| object::at(claim, &["spec", "storageClassName"]));
    class.and_then(Value::as_str).unwrap_or_default()
}
