//! What becomes of a volume: free, bound, or left behind by its claim and reclaimed. Ties nothing; that is a claim's turn.

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kedge_client::{Client, Objects};
use kedge_engine::{Action, Key, NotReady, Plan, Seen, Severity, World};
use kube::ResourceExt;

use crate::annotations::{self, BOUND_BY_CONTROLLER, PROVISIONED_BY};
use crate::bind::phase;
use crate::careful::{Decide, Verdict};
use crate::fit;

pub(crate) struct Volumes;

impl Decide for Volumes {
    type Root = PersistentVolume;
    /// The claim that the volume names, if there is one of that name.
    type Proof = Option<PersistentVolumeClaim>;
    const NAME: &'static str = "persistentvolume-controller";

    fn watch(&self, world: &World) {
        world.watch::<PersistentVolumeClaim>();
    }

    /// Itself, and the volumes that a changed claim names or is named by.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<PersistentVolume>() {
            return vec![seen.key.clone()];
        }
        if !seen.is::<PersistentVolumeClaim>() {
            return Vec::new();
        }
        let named = |claim: &PersistentVolumeClaim| claim.spec.as_ref()?.volume_name.clone();
        let before = seen.before::<PersistentVolumeClaim>().and_then(named);
        let now = seen.now::<PersistentVolumeClaim>().and_then(named);
        let mut keys: Vec<Key> = before.into_iter().chain(now).map(|name| Key::new("", name)).collect();
        // A volume may name a claim that names another or none; that matters when the claim is settled or gone.
        let volumes = world.cache::<PersistentVolume>().map(|cache| cache.all()).unwrap_or_default();
        let naming = volumes.iter().filter(|volume| fit::names(volume, seen.key));
        keys.extend(naming.map(|volume| Key::of(&**volume)));
        keys.dedup();
        keys
    }

    fn decide(
        &self,
        volume: &PersistentVolume,
        world: &World,
        proof: Option<&Self::Proof>,
        now: Timestamp,
    ) -> Result<Verdict, NotReady> {
        let uid = fit::claim_ref(volume).and_then(|reference| reference.uid.as_deref()).unwrap_or_default();
        let (Some(key), false) = (fit::claim_key(volume), uid.is_empty()) else {
            return Ok(Plan::from(phase(volume, "Available", "", now)).into());
        };
        let cached = world.get::<PersistentVolumeClaim>(&key)?;
        let it = |claim: &&PersistentVolumeClaim| claim.metadata.uid.as_deref() == Some(uid);
        let claim = match (cached.as_deref().filter(it), proof) {
            (Some(claim), _) => claim,
            (None, None) => return Ok(Verdict::Prove),
            (None, Some(found)) => match found.as_ref().filter(it) {
                Some(claim) => claim,
                None => return Ok(left_behind(volume, now).into()),
            },
        };
        Ok(with_claim(volume, claim, now).into())
    }

    fn prove<'a>(
        &'a self,
        volume: &'a PersistentVolume,
        client: &'a Client,
    ) -> BoxFuture<'a, Result<Self::Proof, kube::Error>> {
        async {
            let Some(key) = fit::claim_key(volume) else { return Ok(None) };
            Objects::within(client, &key.namespace).find(&key.name).await
        }
        .boxed()
    }
}

/// The claim is there, and whatever it says about the volume is final once it says something.
fn with_claim(volume: &PersistentVolume, claim: &PersistentVolumeClaim, now: Timestamp) -> Plan {
    let named = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default();
    if named == volume.name_any() {
        return phase(volume, "Bound", "", now).into();
    }
    if named.is_empty() {
        return if fit::has_mode(volume, claim) { Plan::default() } else { other_mode(volume, claim) };
    }
    if annotations::has(volume, PROVISIONED_BY) && policy(volume) == "Delete" {
        return left_behind(volume, now);
    }
    set_free(volume).into()
}

fn other_mode(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Plan {
    let (volume_name, claim_name) = (volume.name_any(), claim.name_any());
    let of_volume = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim {claim_name:?} due to incompatible volumeMode."
    );
    let of_claim = format!(
        "Cannot bind PersistentVolume {volume_name:?} to requested PersistentVolumeClaim due to incompatible volumeMode."
    );
    Plan::from([
        Action::tell(volume, Severity::Warning, "VolumeMismatch", of_volume),
        Action::tell(claim, Severity::Warning, "VolumeMismatch", of_claim),
    ])
}

/// Its claim went elsewhere. What a user reserved stays reserved.
fn set_free(volume: &PersistentVolume) -> Option<Action> {
    let mut free = volume.clone();
    let spec = free.spec.get_or_insert_default();
    if annotations::has(volume, BOUND_BY_CONTROLLER) {
        spec.claim_ref = None;
        annotations::remove(&mut free, BOUND_BY_CONTROLLER);
    } else if let Some(reference) = &mut spec.claim_ref {
        reference.uid = None;
        reference.resource_version = None;
    }
    Action::change(volume, &free)
}

/// Its claim is gone for good: first that is said, then the volume is dealt with as its policy says.
fn left_behind(volume: &PersistentVolume, now: Timestamp) -> Plan {
    match fit::phase(volume) {
        "Failed" => Plan::default(),
        "Released" => reclaim(volume, now),
        _ => phase(volume, "Released", "", now).into(),
    }
}

fn reclaim(volume: &PersistentVolume, now: Timestamp) -> Plan {
    let failed = |reason, message: String| {
        let told = Action::tell(volume, Severity::Warning, reason, message.clone());
        Plan::from(phase(volume, "Failed", &message, now)).then([told])
    };
    match policy(volume) {
        "Retain" => Plan::default(),
        "Recycle" => failed("VolumeFailedRecycle", "No recycler plugin found for the volume!".to_owned()),
        "Delete" if has_remover(volume) => Plan::default(),
        "Delete" => {
            let name = volume.name_any();
            let why = "no deletable volume plugin matched";
            failed(
                "VolumeFailedDelete",
                format!("error getting deleter volume plugin for volume {name:?}: {why}"),
            )
        }
        _ => failed(
            "VolumeUnknownReclaimPolicy",
            "Volume has unrecognized PersistentVolumeReclaimPolicy".to_owned(),
        ),
    }
}

/// Whoever made it sees to it that it goes.
fn has_remover(volume: &PersistentVolume) -> bool {
    let is_csi = volume.spec.as_ref().is_some_and(|spec| spec.csi.is_some());
    is_csi || annotations::get(volume, PROVISIONED_BY).is_some_and(|name| !name.starts_with("kubernetes.io/"))
}

pub(crate) fn policy(volume: &PersistentVolume) -> &str {
    let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    policy.unwrap_or("Retain")
}

#[cfg(test)]
mod tests;
