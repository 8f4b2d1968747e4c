//! Claims and volumes are made with a finalizer that keeps them while they are used; who takes it off is a controller.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::{Plugin, View};
use crate::object;

pub(super) struct StorageObjectInUseProtection;

fn finalizer(view: &View<'_>) -> Option<&'static str> {
    if view.creates("", "PersistentVolumeClaim") {
        Some("kubernetes.io/pvc-protection")
    } else if view.creates("", "PersistentVolume") {
        Some("kubernetes.io/pv-protection")
    } else {
        None
    }
}

impl Plugin for StorageObjectInUseProtection {
    fn concerns(&self, view: &View<'_>) -> bool {
        finalizer(view).is_some()
    }

    fn mutate(
        &self,
        view: &View<'_>,
        object: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let Some(finalizer) = finalizer(view) else { return Ok(()) };
        let known = object::meta_mut(object).entry("finalizers").or_insert_with(|| json!([]));
        if let Some(known) = known.as_array_mut()
            && !known.iter().any(|name| name == finalizer)
        {
            known.push(finalizer.into());
        }
        Ok(())
    }
}
