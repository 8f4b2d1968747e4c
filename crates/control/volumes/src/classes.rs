//! Which class a claim or a volume has, and what the class says. Knows no binding.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kedge_client::Cache;
use kedge_engine::Key;

use crate::annotations::{self, DEFAULT_CLASS, OLD_CLASS, OLD_DEFAULT_CLASS};

/// The class that a claim asks for; `None` if it leaves that to the default. The empty one is a choice: no class.
pub(crate) fn chosen(claim: &PersistentVolumeClaim) -> Option<&str> {
    annotations::get(claim, OLD_CLASS).or_else(|| claim.spec.as_ref()?.storage_class_name.as_deref())
}

pub(crate) fn of_claim(claim: &PersistentVolumeClaim) -> &str {
    chosen(claim).unwrap_or_default()
}

pub(crate) fn of_volume(volume: &PersistentVolume) -> &str {
    let field = || volume.spec.as_ref()?.storage_class_name.as_deref();
    annotations::get(volume, OLD_CLASS).or_else(field).unwrap_or_default()
}

pub(crate) fn find(classes: &Cache<StorageClass>, name: &str) -> Option<Arc<StorageClass>> {
    if name.is_empty() { None } else { classes.get(&Key::new("", name)) }
}

/// Volumes of this class are chosen or made where the first pod runs, not before.
pub(crate) fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

pub(crate) fn is_default(class: &StorageClass) -> bool {
    let says = |name| annotations::get(class, name) == Some("true");
    says(DEFAULT_CLASS) || says(OLD_DEFAULT_CLASS)
}

/// The class of claims that name none. The newest where several say so; the first by name where they are of one age.
pub(crate) fn default(classes: &Cache<StorageClass>) -> Option<Arc<StorageClass>> {
    let defaults = classes.all().into_iter().filter(|class| is_default(class));
    defaults.max_by_key(|class| {
        let meta = &class.metadata;
        (meta.creation_timestamp.as_ref().map(|time| time.0), Reverse(meta.name.clone()))
    })
}
