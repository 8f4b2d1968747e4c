//! Whether a volume is what a claim asks for, and which of many is the best. Pure, and blind to who binds whom.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kedge_children::names::Hash;
use kedge_engine::Key;
use kedge_kinds::quantity::Quantity;
use kube::core::{Selector, SelectorExt};

use crate::classes;

const FILESYSTEM: &str = "Filesystem";
const STORAGE: &str = "storage";

/// Why a volume that a claim names is not for it, in the words of its event.
pub(crate) fn misfit(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    if volume.metadata.deletion_timestamp.is_some() {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        return Some(format!("the volume is marked for deletion {name:?}"));
    }
    let why = if !is_large_enough(volume, claim) {
        "requested PV is too small"
    } else if classes::of_volume(volume) != classes::of_claim(claim) {
        "storageClassName does not match"
    } else if attributes_of_volume(volume) != attributes_of_claim(claim) {
        "volumeAttributesClassName does not match"
    } else if !has_mode(volume, claim) {
        "incompatible volumeMode"
    } else if !has_access(volume, claim) {
        "incompatible accessMode"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// The volume to bind a claim to: one that is reserved for it, else the smallest of those that allow the fewest uses beyond
/// what is asked. Where a consumer is waited for, choosing among the others is the scheduler's business.
pub(crate) fn best(
    claim: &PersistentVolumeClaim,
    volumes: Vec<Arc<PersistentVolume>>,
    waits_for_consumer: bool,
) -> Option<Arc<PersistentVolume>> {
    let selector = selector(claim.spec.as_ref().and_then(|spec| spec.selector.as_ref()))?;
    let fitting: Vec<_> = volumes
        .into_iter()
        .filter(|volume| {
            volume.metadata.deletion_timestamp.is_none()
                && is_large_enough(volume, claim)
                && has_mode(volume, claim)
                && has_access(volume, claim)
                && attributes_of_volume(volume) == attributes_of_claim(claim)
        })
        .collect();
    if let Some(reserved) = fitting.iter().find(|volume| is_reserved(volume, claim)) {
        return Some(reserved.clone());
    }
    if waits_for_consumer {
        return None;
    }
    let free = fitting.into_iter().filter(|volume| {
        let labels = volume.metadata.labels.clone().unwrap_or_default();
        claim_ref(volume).is_none()
            && phase(volume) == "Available"
            && selector.matches(&labels)
            && classes::of_volume(volume) == classes::of_claim(claim)
    });
    // Claims that come together would all take the first of many equal volumes, and all but one in vain.
    free.min_by_key(|volume| (access(volume).len(), size(volume), lot(claim, volume)))
}

/// Where a volume stands among its equals, for this claim.
fn lot(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> u64 {
    let mut hash = Hash::new();
    [&claim.metadata.uid, &volume.metadata.name]
        .into_iter()
        .flatten()
        .for_each(|part| hash.add(part.as_bytes()));
    hash.value()
}

/// The volume names the claim, by its uid where it knows it.
pub(crate) fn is_reserved(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let Some(reference) = claim_ref(volume) else { return false };
    let uid = reference.uid.as_deref().unwrap_or_default();
    reference.name == claim.metadata.name
        && reference.namespace == claim.metadata.namespace
        && (uid.is_empty() || Some(uid) == claim.metadata.uid.as_deref())
}

pub(crate) fn claim_ref(volume: &PersistentVolume) -> Option<&k8s_openapi::api::core::v1::ObjectReference> {
    volume.spec.as_ref()?.claim_ref.as_ref()
}

/// The volume names the claim of this place, whichever it is.
pub(crate) fn names(volume: &PersistentVolume, key: &Key) -> bool {
    claim_ref(volume).is_some_and(|reference| {
        reference.name.as_ref() == Some(&key.name) && reference.namespace.as_ref() == Some(&key.namespace)
    })
}

/// The claim that a volume names.
pub(crate) fn claim_key(volume: &PersistentVolume) -> Option<Key> {
    let reference = claim_ref(volume)?;
    Some(Key::new(reference.namespace.clone()?, reference.name.clone()?))
}

pub(crate) fn phase(volume: &PersistentVolume) -> &str {
    volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(crate) fn requested(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    requests.get(STORAGE)?.0.parse().ok()
}

fn size(volume: &PersistentVolume) -> Option<Quantity> {
    volume.spec.as_ref()?.capacity.as_ref()?.get(STORAGE)?.0.parse().ok()
}

fn is_large_enough(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    size(volume).unwrap_or_default() >= requested(claim).unwrap_or_default()
}

pub(crate) fn has_mode(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let of_volume = volume.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    let of_claim = claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    of_volume.unwrap_or(FILESYSTEM) == of_claim.unwrap_or(FILESYSTEM)
}

fn access(volume: &PersistentVolume) -> &[String] {
    volume.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default()
}

fn has_access(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let asked = claim.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
    asked.iter().all(|mode| access(volume).contains(mode))
}

fn attributes_of_volume(volume: &PersistentVolume) -> &str {
    volume.spec.as_ref().and_then(|spec| spec.volume_attributes_class_name.as_deref()).unwrap_or_default()
}

fn attributes_of_claim(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.as_ref().and_then(|spec| spec.volume_attributes_class_name.as_deref()).unwrap_or_default()
}

/// Nothing if it can't be read: what nobody understands fits nothing.
fn selector(selector: Option<&LabelSelector>) -> Option<Selector> {
    match selector {
        None => Some(Selector::default()),
        Some(selector) => selector.clone().try_into().ok(),
    }
}

#[cfg(test)]
mod tests;
