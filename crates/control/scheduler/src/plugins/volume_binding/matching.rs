//! Which of the volumes that are there a claim could have, and how one is set aside for it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use kedge_engine::{Action, NotReady, World};
use kedge_kinds::quantity::Quantity;

use super::storage::{self, BOUND_BY_CONTROLLER, Reach};
use crate::select::{Labels, Selector};

pub(super) struct Candidate {
    pub(super) volume: Arc<PersistentVolume>,
    size: Quantity,
    reach: Reach,
    /// It has been set aside for the claim.
    reserved: bool,
}

impl Candidate {
    /// Those that could serve the claim on some node.
    pub(super) fn all_for(claim: &PersistentVolumeClaim, world: &World) -> Result<Vec<Self>, NotReady> {
        let class = storage::class_of(claim);
        let volumes = world.cache::<PersistentVolume>()?.all();
        let of_class = volumes.into_iter().filter(|volume| storage::class_of_volume(volume) == class);
        let mut fitting: Vec<_> = of_class.filter_map(|volume| Self::new(volume, claim)).collect();
        // Whatever the order in which they were seen, the same one is chosen.
        fitting.sort_by(|one, other| one.volume.metadata.name.cmp(&other.volume.metadata.name));
        Ok(fitting)
    }

    fn new(volume: Arc<PersistentVolume>, claim: &PersistentVolumeClaim) -> Option<Self> {
        let (has, wants) = (volume.spec.as_ref()?, claim.spec.as_ref()?);
        let reserved = has.claim_ref.as_ref().map(|reference| is_for(reference, claim));
        if reserved == Some(false) || volume.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let size: Quantity = has.capacity.as_ref()?.get("storage")?.0.parse().ok()?;
        if storage::asked_size(claim).is_some_and(|asked| size < asked) {
            return None;
        }
        let mode = |mode: &Option<String>| mode.clone().unwrap_or_else(|| "Filesystem".to_owned());
        let attributes = |class: &Option<String>| class.clone().unwrap_or_default();
        if mode(&has.volume_mode) != mode(&wants.volume_mode)
            || attributes(&has.volume_attributes_class_name)
                != attributes(&wants.volume_attributes_class_name)
        {
            return None;
        }
        if reserved.is_none() {
            let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
            let labels = volume.metadata.labels.clone().unwrap_or_default();
            let selected = wants.selector.is_none() || Selector::of(wants.selector.as_ref()).matches(&labels);
            let modes = has.access_modes.as_deref().unwrap_or_default();
            let allowed = wants.access_modes.iter().flatten().all(|mode| modes.contains(mode));
            if phase != Some("Available") || !selected || !allowed {
                return None;
            }
        }
        let reach = Reach::of(&volume);
        Some(Self { volume, size, reach, reserved: reserved.is_some() })
    }

    /// The one that was set aside for the claim, or the smallest that will do and isn't taken.
    pub(super) fn best(
        all: &[Self],
        node: &Labels,
        taken: impl Fn(&Self) -> bool,
    ) -> Option<Arc<PersistentVolume>> {
        let free = || all.iter().filter(|candidate| !taken(candidate));
        if let Some(reserved) = free().find(|candidate| candidate.reserved) {
            return reserved.reach.includes(node).then(|| reserved.volume.clone());
        }
        let mut smallest: Option<&Self> = None;
        for candidate in free().filter(|candidate| candidate.reach.includes(node)) {
            if smallest.is_none_or(|smallest| candidate.size < smallest.size) {
                smallest = Some(candidate);
            }
        }
        smallest.map(|candidate| candidate.volume.clone())
    }
}

/// A reference without a uid was made by a person, who knows names only.
fn is_for(reference: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    let uid = reference.uid.as_deref().filter(|uid| !uid.is_empty());
    reference.name == claim.metadata.name
        && reference.namespace == claim.metadata.namespace
        && uid.is_none_or(|uid| Some(uid) == claim.metadata.uid.as_deref())
}

/// Sets the volume aside for the claim; nothing if that has been done.
pub(super) fn reserve(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<Action> {
    let mut reserved = volume.clone();
    let spec = reserved.spec.as_mut()?;
    let by_person = spec.claim_ref.is_some();
    let known = spec.claim_ref.as_ref().and_then(|reference| reference.uid.as_ref());
    if known == claim.metadata.uid.as_ref() {
        return None;
    }
    spec.claim_ref = Some(ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        name: claim.metadata.name.clone(),
        namespace: claim.metadata.namespace.clone(),
        uid: claim.metadata.uid.clone(),
        resource_version: claim.metadata.resource_version.clone(),
        ..ObjectReference::default()
    });
    if !by_person {
        let annotations = reserved.metadata.annotations.get_or_insert_default();
        annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    }
    Action::change(volume, &reserved)
}
