//! Ties a claim and a volume to each other, one side after the other: the volume names the claim, then the claim the volume.
//! Whatever of it is done already is left alone, so that whoever comes after a crash finishes what was begun.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use kedge_children::conditions;
use kedge_engine::Action;

use crate::annotations::{self, BIND_COMPLETED, BOUND_BY_CONTROLLER};
use crate::fit;

/// Everything that is missing to make them each other's, in the order in which it must happen.
pub(crate) fn bind(volume: &PersistentVolume, claim: &PersistentVolumeClaim, now: Timestamp) -> Vec<Action> {
    let tied = volume_to(volume, claim);
    let bound = bound_claim(volume, claim);
    [
        Action::change(volume, &tied),
        phase(volume, "Bound", "", now),
        Action::change(claim, &bound),
        claim_status(claim, "Bound", Some(volume)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn volume_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> PersistentVolume {
    let mut tied = volume.clone();
    // Who reserved a volume by hand gets it back reserved when the claim is gone; a tie of ours leaves nothing behind.
    if !fit::is_reserved(volume, claim) {
        annotations::set(&mut tied, BOUND_BY_CONTROLLER, "yes");
    }
    let known = fit::claim_ref(volume).and_then(|reference| reference.uid.as_ref());
    if known.is_none() || known != claim.metadata.uid.as_ref() {
        tied.spec.get_or_insert_default().claim_ref = Some(reference(claim));
    }
    tied
}

fn bound_claim(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> PersistentVolumeClaim {
    let mut bound = claim.clone();
    let spec = bound.spec.get_or_insert_default();
    if spec.volume_name.as_deref().unwrap_or_default().is_empty() {
        spec.volume_name.clone_from(&volume.metadata.name);
        annotations::set(&mut bound, BOUND_BY_CONTROLLER, "yes");
    }
    if !annotations::has(claim, BIND_COMPLETED) {
        annotations::set(&mut bound, BIND_COMPLETED, "yes");
    }
    bound
}

/// How a volume names its claim.
pub(crate) fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    let meta = &claim.metadata;
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// A volume's phase with what there is to say about it; nothing if that is what it is in already.
pub(crate) fn phase(volume: &PersistentVolume, phase: &str, message: &str, now: Timestamp) -> Option<Action> {
    if fit::phase(volume) == phase {
        return None;
    }
    let mut changed = volume.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some(phase.to_owned());
    status.message = Some(message.to_owned()).filter(|message| !message.is_empty());
    status.last_phase_transition_time = conditions::at(now);
    Action::status(volume, &changed)
}

/// A claim's phase, and what it has got of the volume.
pub(crate) fn claim_status(
    claim: &PersistentVolumeClaim,
    phase: &str,
    volume: Option<&PersistentVolume>,
) -> Option<Action> {
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    let becomes = status.phase.as_deref() != Some(phase);
    status.phase = Some(phase.to_owned());
    match volume.and_then(|volume| volume.spec.as_ref()) {
        None => {
            status.access_modes = None;
            status.capacity = None;
            status.current_volume_attributes_class_name = None;
        }
        Some(spec) => {
            status.access_modes.clone_from(&spec.access_modes);
            // Later the file system may be smaller than its volume, and whoever resizes it says so.
            if becomes {
                status.capacity.clone_from(&spec.capacity);
                status.current_volume_attributes_class_name.clone_from(&spec.volume_attributes_class_name);
            }
        }
    }
    Action::status(claim, &changed)
}
