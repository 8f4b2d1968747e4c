//! With whom a pod's volumes go: with the set, with a pod that is no longer wanted, or with nobody. Said by owner references,
//! so that the garbage collector does it.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kedge_children::claim::reference;
use kedge_client::Watched;
use kedge_engine::Action;

use super::spelling::{drops_when_deleted, drops_when_scaled};

/// The owners of a claim whose pod is wanted.
pub(super) fn of_new(set: &StatefulSet) -> Option<Vec<OwnerReference>> {
    drops_when_deleted(set).then(|| vec![reference(set)])
}

/// Names the right owners of a claim of an existing pod; nothing if they are.
pub(super) fn settled(
    set: &StatefulSet,
    pod: &Pod,
    is_wanted: bool,
    claim: &PersistentVolumeClaim,
) -> Option<Action> {
    // A set or a pod of the same name is gone, and the claim is about to follow it.
    if names_former(claim, set) || names_former(claim, pod) {
        return None;
    }
    let owners = claim.metadata.owner_references.iter().flatten();
    let is_ours = |owner: &&OwnerReference| names(owner, set) || names(owner, pod);
    let (ours, others): (Vec<&OwnerReference>, Vec<&OwnerReference>) = owners.partition(is_ours);
    let keeps = !drops_when_scaled(set) && !drops_when_deleted(set);
    // Somebody else looks after it; two would fight over it.
    let is_others = !keeps && others.iter().any(|owner| owner.controller == Some(true));
    let wanted: Vec<OwnerReference> = match is_others {
        true => Vec::new(),
        false if is_wanted || !drops_when_scaled(set) => of_new(set).unwrap_or_default(),
        false => vec![reference(pod)],
    };
    let is_right = ours.len() == wanted.len()
        && ours.iter().zip(&wanted).all(|(has, wants)| has.uid == wants.uid && has.controller == Some(true));
    if is_right {
        return None;
    }
    let mut settled = claim.clone();
    let all: Vec<OwnerReference> = others.into_iter().cloned().chain(wanted).collect();
    settled.metadata.owner_references = Some(all).filter(|owners| !owners.is_empty());
    Action::change(claim, &settled)
}

/// Whether a claim belongs to a pod of this name that is no more: it must go before a new pod can have a new one.
pub(super) fn is_of_former_pod(set: &StatefulSet, pod: &str, claim: &PersistentVolumeClaim) -> bool {
    let mut owners = claim.metadata.owner_references.iter().flatten();
    drops_when_scaled(set) && owners.any(|owner| owner.kind == "Pod" && owner.name == pod)
}

fn names<O: Watched>(owner: &OwnerReference, object: &O) -> bool {
    owner.api_version == O::api_version(&())
        && owner.kind == O::kind(&())
        && Some(&owner.name) == object.meta().name.as_ref()
}

fn names_former<O: Watched>(claim: &PersistentVolumeClaim, object: &O) -> bool {
    let mut owners = claim.metadata.owner_references.iter().flatten();
    owners.any(|owner| names(owner, object) && Some(&owner.uid) != object.meta().uid.as_ref())
}
